"""An agent that looks an order up in every turn, and everything that it was seen to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backstay import Agent, Boundary, Limits, tool
from backstay.core.events import Event
from backstay.core.messages import ModelRequest
from backstay.models import FunctionModel, call
from backstay.models.model import ModelProfile
from backstay.store.protocol import RunStore

LONG = Boundary(limits=Limits(steps=300, calls=300, tokens=10_000_000, usd=None))


class Watched:
    """The agent, with every request it makes and every event.

    Args:
        profile: of its model.
        constraints: its rules.
        size: of a result, in repetitions of a few words.
        **more: for the agent.
    """

    def __init__(
        self, *, profile: ModelProfile, constraints: tuple[str, ...] = (), size: int = 40, **more: Any
    ) -> None:
        @tool(risk="read")
        async def find_order(order_id: str) -> dict[str, str]:
            """Look up one order. Use it when the user names an order."""
            return {"order_id": order_id, "text": f"parcel of {order_id} " * size}

        self.requests: list[ModelRequest] = []
        self.events: list[Event] = []
        model = FunctionModel(self._reply, profile=profile)
        boundary = replace(LONG, constraints=constraints)
        self.agent: Agent[Any] = Agent(model, tools=[find_order], boundary=boundary, name="a", **more)
        self.agent.on("*", self.events.append)

    def _reply(self, request: ModelRequest, ctx: Any) -> Any:
        if request.messages[0].id == "task":
            return "- notes of the model"
        self.requests.append(request)
        return call("find_order", order_id=f"O-{len(self.requests)}") if ctx.step == 1 else "It is on its way. " * 4

    async def turns(self, count: int, store: RunStore, session: str = "s", *, at: int = 1, stressed: str = "") -> None:
        """So many turns, each with an end; in turn `at` (from 0) the user says what is stressed instead."""
        for number in range(count):
            text = stressed if number == at and stressed else f"turn {number}: where is it?"
            result = await self.agent.run(text, session=session, store=store)
            assert result.status == "done", result.reason
