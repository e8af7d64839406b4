"""A session as its records say it is, for commands that show one."""

from __future__ import annotations

from backstay.agents.state import SessionState
from backstay.core.context import Principal
from backstay.core.errors import NotFoundError
from backstay.store.protocol import RunStore
from backstay.store.records import RunRow


async def folded(store: RunStore, session: str, who: Principal | None) -> tuple[SessionState, RunRow]:
    """The session's state, and the row of its last run.

    Args:
        store: where it is.
        session: its id.
        who: for whom; None is whoever may read the file.

    Raises:
        NotFoundError: when there is none, or none that they may see.
    """
    if not await store.read(session, principal=who, limit=1):
        raise NotFoundError(f"there is no session {session!r}; `backstay trace ls --json` names those of the runs")
    records = await store.load(session)
    state = SessionState(session)
    state.load(records)
    return state, await store.run(records[-1].run_id)
