"""The OpenAI Agents SDK doing the same work; prints JSON. Run by `python -m bench`, in the peer's own environment:
`.venv-peer-openai-agents/bin/python -m bench.peer.openai_agents [NAME ...]` from the repository's root.

Tracing, which would send the runs away, is switched off in both compositions, as the SDK's pages say. `guarded` has a
tool input guardrail that checks the two rules and run hooks that listen.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelResponse,
    RunConfig,
    RunHooks,
    Runner,
    RunResult,
    ToolCallOutputItem,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    Usage,
    function_tool,
    set_tracing_disabled,
    tool_input_guardrail,
)
from bench.peer.work import PROMPT, Framework, Line, Once, Outcome, is_forbidden, main

TURNS = 20
"""More than the work needs; the SDK's own limit is 10."""
UNTRACED = RunConfig(tracing_disabled=True)


async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


class Scripted(Model):
    """Says its lines in order, one a step. Stateless: the step is read off the request, as a real model would."""

    def __init__(self, lines: Sequence[Line], seconds: float) -> None:
        self._lines = lines
        self._seconds = seconds

    async def get_response(
        self, system_instructions: str | None, input: str | list[Any], *args: Any, **kwargs: Any
    ) -> ModelResponse:
        """Give the next line."""
        if self._seconds:
            await asyncio.sleep(self._seconds)
        step = (len(input) - 1) // 2 if isinstance(input, list) else 0
        return ModelResponse(output=[_said(self._lines[step], step)], usage=Usage(requests=1), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Nothing here streams."""
        raise NotImplementedError


def _said(line: Line, step: int) -> ResponseOutputMessage | ResponseFunctionToolCall:
    if isinstance(line, str):
        text = ResponseOutputText(text=line, type="output_text", annotations=[])
        return ResponseOutputMessage(
            id=f"m{step}", type="message", role="assistant", status="completed", content=[text]
        )
    return ResponseFunctionToolCall(
        call_id=f"call-{step}", type="function_call", name=line[0], arguments=json.dumps(line[1])
    )


@tool_input_guardrail
async def check(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
    """The two rules of our side."""
    if is_forbidden(json.loads(data.context.tool_arguments)):
        return ToolGuardrailFunctionOutput.reject_content("a rule is broken")
    return ToolGuardrailFunctionOutput.allow()


class Listener(RunHooks[None]):
    """The listener of our side."""

    async def on_agent_start(self, context: Any, agent: Any) -> None: ...

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None: ...

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None: ...

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None: ...

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None: ...

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None: ...


def _agent(lines: Sequence[Line], seconds: float, tool: FunctionTool) -> Agent[None]:
    return Agent(name="agent", model=Scripted(lines, seconds), tools=[tool])


def lean(lines: Sequence[Line], seconds: float) -> Once:
    """The peer's fastest."""
    agent = _agent(lines, seconds, function_tool(add))
    return lambda: Runner.run(agent, PROMPT, max_turns=TURNS, run_config=UNTRACED)


def guarded(lines: Sequence[Line], seconds: float) -> Once:
    """With a guardrail before the tool and hooks that listen."""
    agent = _agent(lines, seconds, function_tool(add, tool_input_guardrails=[check]))
    listener = Listener()
    return lambda: Runner.run(agent, PROMPT, max_turns=TURNS, run_config=UNTRACED, hooks=listener)


def outcome(result: RunResult) -> Outcome:
    """Read a run off its result."""
    returned = [str(item.output) for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    return Outcome(answer=str(result.final_output), messages=len(result.new_items), returned=tuple(returned))


PEER = Framework(
    packages=("openai-agents",),
    front="from agents import Agent, Runner, function_tool",
    lean=lean,
    guarded=guarded,
    outcome=outcome,
)

if __name__ == "__main__":
    set_tracing_disabled(True)
    main(PEER, sys.argv[1:])
