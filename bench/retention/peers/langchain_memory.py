"""LangChain's agent with its `SummarizationMiddleware`; run in the peer's own environment.

Trigger and what is kept are shares of the window that its documentation uses in examples; with `whole`, the summariser
is given all that leaves, else the last 4,000 tokens of it, which is the middleware's default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool

from bench.retention.peers.summarisers import summed_up
from bench.retention.peers.watching import Watched, main

WINDOW = 8_000
_TRIGGER, _KEEP = 0.75, 0.3
_WHO = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


class Scripted(BaseChatModel):
    """Makes the calls of the session's script."""

    watched: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Take any tools."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        calls = self.watched.next_calls(str(one.text) for one in messages)
        numbered = [
            {"name": name, "args": args, "id": f"c{self.watched.requests}-{at}"}
            for at, (name, args) in enumerate(calls)
        ]
        reply = AIMessage(content="" if calls else "Done as far as it may be done.", tool_calls=numbered)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def played(watched: Watched, summariser: str) -> None:
    """Play the session."""
    name, _, how = summariser.partition("/")

    def summarise(messages: list[AnyMessage]) -> str:
        return summed_up(name, [(_WHO.get(one.type, one.type), str(one.text)) for one in messages])

    model = Scripted(watched=watched)
    memory = SummarizationMiddleware(
        model,
        trigger=("tokens", int(WINDOW * _TRIGGER)),
        keep=("tokens", int(WINDOW * _KEEP)),
        summarizer=summarise,
        **({"trim_tokens_to_summarize": None} if how == "whole" else {}),
    )
    agent = create_agent(model, tools=_tools(watched), middleware=[memory])
    messages: list[AnyMessage] = []
    for turn in watched.session["turns"]:
        messages.append(HumanMessage(watched.begin(turn)))
        messages = agent.invoke({"messages": messages}, {"recursion_limit": 100})["messages"]
        watched.end()


def _tools(watched: Watched) -> list[BaseTool]:
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return [
        StructuredTool(name=name, description=name, func=function, args_schema=schema)
        for name, function in watched.tools().items()
    ]


if __name__ == "__main__":
    main(played)
