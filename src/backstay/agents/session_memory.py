"""A look at a conversation as its last request showed it, with what has come since: a memory that nobody can write to.

Source: SPEC M1, B22.
"""

from __future__ import annotations

from backstay.agents.state import SessionState
from backstay.core.context import Principal
from backstay.core.errors import NotFoundError
from backstay.memory.buffers import ReadOnlyMemory, UnconstrainedMemory
from backstay.memory.window import summary_message
from backstay.memory.working import memory_message
from backstay.store.protocol import RunStore


async def memory_of(store: RunStore, session: str, principal: Principal | None) -> ReadOnlyMemory:
    """What is shown of a session now: summary, history and working memory, oldest first.

    Raises:
        NotFoundError: where there is no such session, or it is somebody else's.
    """
    if not await store.read(session, principal=principal, limit=1):
        raise NotFoundError(f"there is no session {session[:80]!r}, or it is somebody else's")
    state = SessionState(session)
    state.load(await store.load(session))
    before, last = state.log.shown()
    shown = [summary_message(state.log), *before, memory_message(state.memory, state.retrieved), *last]
    memory = UnconstrainedMemory()
    await memory.add_many(one for one in shown if one is not None)
    return memory.as_read_only()
