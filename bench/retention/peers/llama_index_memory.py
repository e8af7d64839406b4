"""LlamaIndex's `FunctionAgent` with its `ChatSummaryMemoryBuffer`; run in the peer's own environment.

Its summariser is a model that gets a transcript; the scripted one reads who said what out of it. The share of the
window that stays word for word is the class's default.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, TextBlock, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatSummaryMemoryBuffer
from llama_index.core.tools import FunctionTool, ToolMetadata
from pydantic import BaseModel, ConfigDict, PrivateAttr

from bench.retention.peers.summarisers import summed_up
from bench.retention.peers.watching import Watched, main

WINDOW = 8_000
_SPOKEN = re.compile(r"(?:^|\n\n)(user|assistant|tool|system): ")


class AnyArguments(BaseModel):
    """Whatever the script names."""

    model_config = ConfigDict(extra="allow")


class Summariser(MockLLM):
    """Sums a transcript up as it is told."""

    _behaviour: str = PrivateAttr()

    def __init__(self, behaviour: str) -> None:
        super().__init__()
        self._behaviour = behaviour

    @property
    def metadata(self) -> LLMMetadata:
        """A window of the session's size."""
        return LLMMetadata(context_window=WINDOW)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Read the transcript in the last message."""
        text = (messages[-1].content or "").removeprefix('"Transcript so far: ')
        _, *parts = _SPOKEN.split(text)
        said = list(zip(parts[::2], parts[1::2], strict=True))
        return ChatResponse(message=ChatMessage(role="assistant", content=summed_up(self._behaviour, said)))


class Scripted(MockFunctionCallingLLM):
    """Makes the calls of the session's script."""

    _watched: Watched = PrivateAttr()

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self._watched = watched

    async def achat_with_tools(self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any) -> Any:
        """One reply."""
        calls = self._watched.next_calls(str(one.content) for one in chat_history)
        blocks = [
            ToolCallBlock(tool_call_id=f"c{self._watched.requests}-{at}", tool_name=name, tool_kwargs=args)
            for at, (name, args) in enumerate(calls)
        ]
        message = ChatMessage(role="assistant", blocks=blocks or [TextBlock(text="Done as far as it may be done.")])
        return ChatResponse(message=message)


def played(watched: Watched, summariser: str) -> None:
    """Play the session."""
    asyncio.run(_played(watched, summariser.partition("/")[0]))


async def _played(watched: Watched, summariser: str) -> None:
    memory = ChatSummaryMemoryBuffer.from_defaults(llm=Summariser(summariser))
    agent = FunctionAgent(tools=_tools(watched), llm=Scripted(watched), streaming=False)
    for turn in watched.session["turns"]:
        await agent.run(user_msg=watched.begin(turn), memory=memory)
        watched.end()


def _tools(watched: Watched) -> list[FunctionTool]:
    return [
        FunctionTool(fn=function, metadata=ToolMetadata(name=name, description=name, fn_schema=AnyArguments))
        for name, function in watched.tools().items()
    ]


if __name__ == "__main__":
    main(played)
