"""LangGraph doing the same work; prints JSON. Run by `python -m bench`, in the peer's own environment:
`.venv-peer-langgraph/bin/python -m bench.peer.langgraph [NAME ...]` from the repository's root.

The agent is LangChain's `create_agent`, the graph that took the place of LangGraph's deprecated `create_react_agent`.
There is no checkpointer, and tracing is switched off whatever the environment says. `guarded` has a middleware around
the tool that checks the two rules, and a callback handler that listens.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import langsmith
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolCallRequest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from bench.peer.work import PROMPT, Framework, Line, Once, Outcome, is_forbidden, main


@tool
async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


class Scripted(BaseChatModel):
    """Says its lines in order, one a step. Stateless: the step is read off the request, as a real model would."""

    lines: tuple[Any, ...]
    seconds: float

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Send no schemas: a script does not read them."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if self.seconds:
            await asyncio.sleep(self.seconds)
        step = (len(messages) - 1) // 2
        return ChatResult(generations=[ChatGeneration(message=_said(self.lines[step], step))])


def _said(line: Line, step: int) -> AIMessage:
    if isinstance(line, str):
        return AIMessage(line)
    return AIMessage("", tool_calls=[{"name": line[0], "args": line[1], "id": f"call-{step}", "type": "tool_call"}])


class Check(AgentMiddleware):
    """The two rules of our side."""

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Answer in the tool's place where a rule is broken."""
        if is_forbidden(request.tool_call["args"]):
            return ToolMessage("a rule is broken", tool_call_id=request.tool_call["id"], status="error")
        return await handler(request)


class Listener(AsyncCallbackHandler):
    """The listener of our side."""

    async def on_chain_start(self, *args: Any, **kwargs: Any) -> None: ...

    async def on_chain_end(self, *args: Any, **kwargs: Any) -> None: ...

    async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None: ...

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None: ...

    async def on_tool_start(self, *args: Any, **kwargs: Any) -> None: ...

    async def on_tool_end(self, *args: Any, **kwargs: Any) -> None: ...


def lean(lines: Sequence[Line], seconds: float) -> Once:
    """The peer's fastest."""
    agent = create_agent(Scripted(lines=tuple(lines), seconds=seconds), tools=[add])
    return lambda: agent.ainvoke({"messages": [("user", PROMPT)]})


def guarded(lines: Sequence[Line], seconds: float) -> Once:
    """With a middleware around the tool and a handler that listens."""
    agent = create_agent(Scripted(lines=tuple(lines), seconds=seconds), tools=[add], middleware=[Check()])
    listener = Listener()
    return lambda: agent.ainvoke({"messages": [("user", PROMPT)]}, {"callbacks": [listener]})


def outcome(state: dict[str, Any]) -> Outcome:
    """Read a run off the state that it ended with."""
    messages = state["messages"][1:]
    returned = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
    return Outcome(answer=str(messages[-1].content), messages=len(messages), returned=tuple(returned))


PEER = Framework(
    packages=("langgraph", "langchain"),
    front="from langchain.agents import create_agent; from langchain.tools import tool",
    lean=lean,
    guarded=guarded,
    outcome=outcome,
)

if __name__ == "__main__":
    langsmith.configure(enabled=False)
    main(PEER, sys.argv[1:])
