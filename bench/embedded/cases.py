"""The two prompt sets and their tools.

A case: `text`, `lang`, `kind` (single, multi, list, follow_up, ask, out), `tool` (null: nothing may be called), `args`,
`history`. An expected value may be `{"any": [...]}`. All sets take 2026-11-30, a Monday, as today.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backstay.core.canon import freeze
from backstay.core.messages import Message, Text, ToolCall, ToolResult, ToolReturn, ToolSpec
from backstay.models.embedded.proposals import Menu, wrap
from backstay.tools.toolset import Toolset

HERE = Path(__file__).parent
TODAY = 1_796_036_400.0
"""2026-11-30 11:00 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One prompt and what should come of it."""

    id: str
    lang: str
    kind: str
    text: str
    tool: str | None
    args: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def messages(self, menu: Menu) -> tuple[Message, ...]:
        """The conversation up to and with the prompt."""
        made: list[Message] = []
        for number, turn in enumerate(self.history):
            made += _turn(f"{self.id}-{number}", turn, menu)
        return (*made, _said(f"{self.id}-u", "user", self.text))


def _said(id_: str, role: Any, text: str) -> Message:
    return Message(id=id_, role=role, parts=(Text(text=text),))


def _turn(id_: str, turn: dict[str, Any], menu: Menu) -> list[Message]:
    made = [_said(f"{id_}-u", "user", turn["text"])]
    if turn.get("tool"):
        name, args = turn["tool"], turn["args"]
        shown, given = ("propose_action", wrap(name, args, "")) if name in menu.proposed else (name, args)
        call = ToolCall(id=f"{id_}-c", name=shown, args=freeze(given))  # type: ignore[arg-type]  # an object
        result = ToolResult(ok=True, summary=turn["answer"])
        made.append(Message(id=f"{id_}-a", role="assistant", parts=(call,)))
        made.append(
            Message(id=f"{id_}-t", role="tool", parts=(ToolReturn(call_id=call.id, name=shown, result=result),))
        )
    return [*made, _said(f"{id_}-w", "assistant", turn["answer"])]


def load_cases(name: str) -> list[Case]:
    """The cases of `develop` or `held_out`."""
    lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines if line.strip()]


def load_tools(name: str) -> tuple[ToolSpec, ...]:
    """The tools of that set; the developing set has the order desk's own besides."""
    rows = json.loads((HERE / f"{name}_tools.json").read_text(encoding="utf-8"))
    own = tuple(_spec(row) for row in rows)
    return (*_desk(), *own) if name == "develop" else own


def _spec(row: dict[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=row["name"],
        description=row["description"],
        schema=freeze(row["schema"]),  # type: ignore[arg-type]  # an object
        examples=tuple((text, freeze(args)) for text, args in row.get("examples", [])),  # type: ignore[misc]
    )


def _desk() -> tuple[ToolSpec, ...]:
    from examples.order_desk import app

    tools = (app.find_order, app.list_orders, app.track_parcel, app.add_note, app.refund, app.cancel_order)
    toolset = Toolset(tools)
    return toolset.offered(toolset.names)
