"""AgentDojo's pipeline made of an agent of ours: its tools, a model out of a script, a person, what was executed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.types import ChatAssistantMessage, text_content_block_from_string
from examples.hostile_model.approvers import APPROVERS
from examples.hostile_model.executed import executed
from examples.hostile_model.foreign import foreign_tools, read_labels
from examples.hostile_model.models import Call, HostileModel

from backstay import Agent, PendingAction
from backstay.store import MemoryStore


class BackstayPipeline(BasePipelineElement):
    """One suite under one profile and with one kind of person. `model` and `user` are set before each query.

    Args:
        suite: AgentDojo's.
        labels: the file for its tools.
        provenance: `confirm`, `block`, `off`.
        approver: a name of `APPROVERS`.
    """

    name = "backstay"

    def __init__(self, suite: Any, labels: Path, provenance: str, approver: str) -> None:
        self.env: Any = None
        self.runtime = FunctionsRuntime(suite.tools)
        read = read_labels(labels)
        self.tools = foreign_tools(suite.tools, read, self.call)
        self.agent: Agent[None] = Agent(
            HostileModel(()), tools=self.tools, boundary=read.boundary(provenance=provenance)
        )
        self.approver = APPROVERS[approver]
        self.user: Sequence[Call] = ()
        self.model = HostileModel(())
        self.asked: list[PendingAction] = []

    def call(self, name: str, kwargs: dict[str, Any]) -> Any:
        """Run one of AgentDojo's functions in the environment at work."""
        return self.runtime.run_function(self.env, name, kwargs)

    def query(
        self, query: str, runtime: Any, env: Any, messages: Sequence[Any] = (), extra_args: Any = None
    ) -> tuple[Any, ...]:
        """Answer the user, and give AgentDojo the calls that were executed, none that was refused or waits."""
        self.env, store = env, MemoryStore()
        person = self.approver(self.user, self.tools) if self.approver else None
        result = asyncio.run(self._run(query, store, person))
        self.asked = person.asked if person else []
        calls = [
            FunctionCall(function=one.name, args=dict(one.args or {}))
            for one in result
            if one.ok and one.name != "recall"
        ]
        said = [ChatAssistantMessage(role="assistant", content=[text_content_block_from_string("")], tool_calls=calls)]
        if not calls:
            said = []
        answer = [text_content_block_from_string(self.model.answer)]
        last = ChatAssistantMessage(role="assistant", content=answer, tool_calls=None)
        return query, runtime, env, [*messages, *said, last], extra_args or {}

    async def _run(self, query: str, store: MemoryStore, person: Any) -> list[Any]:
        presence = "attended" if person else "inbox"  # an unattended run of these tools is not even started
        done = await self.agent.run(query, model=self.model, approver=person, store=store, presence=presence)
        return await executed(store, done.session_id)
