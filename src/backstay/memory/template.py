"""A memory as an agent takes it: a template that says how, while the sessions' logs hold what was said.

Source: SPEC M1, G1.
"""

from __future__ import annotations

from typing import TypeAlias

from backstay.core.errors import MemoryConfigError
from backstay.memory.buffers import BaseMemory
from backstay.memory.policies import WindowPolicy

Template: TypeAlias = "BaseMemory | type[BaseMemory] | WindowPolicy"


def policy_of(given: Template | None) -> WindowPolicy | None:
    """The policy that a memory, a class of one with its defaults, or a policy itself stands for.

    Raises:
        MemoryConfigError: for a memory that holds messages, or that says nothing of a session's log.
    """
    memory = given() if isinstance(given, type) else given
    if memory is None or not isinstance(memory, BaseMemory):
        if memory is not None and not callable(getattr(memory, "first", None)):
            raise MemoryConfigError(f"memory={memory!r}: expected a memory such as SlidingMemory(max_units=20)")
        return memory
    if len(memory):
        raise MemoryConfigError(
            f"the memory holds {len(memory)} messages, and an agent takes one as a template for all of its sessions."
            " Give an empty one, and the messages to run(history=...)"
        )
    return memory.as_policy()
