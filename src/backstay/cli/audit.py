"""`backstay audit verify`: prove that the audit chains are as they were written. Source: SPEC B16."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from backstay.cli.exits import DONE, STORE
from backstay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, opened
from backstay.cli.printing import Printer
from backstay.store.protocol import RunStore

app = typer.Typer(help="The audit chain.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """The audit chain: who did and decided what, hash-chained per session."""


@app.command("verify")
def verify(
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Only this session's chain.")] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Check every row of every chain; exit code 5 if one does not hold."""
    return asyncio.run(_verify(session, store, Printer(as_json=as_json)))


async def _verify(session: str | None, place: str, out: Printer) -> int:
    async with opened(place) as store:
        problems = await store.verify_audit(session)
        chains = await _count(store, session)
    code = STORE if problems else DONE
    out.document({"chains": chains, "problems": list(problems), "exit_code": code})
    if not problems:
        out.line(f"{chains} chain{' holds' if chains == 1 else 's hold'}", "green")
        return code
    for problem in problems:
        out.line(problem, "red")
    out.note(
        f"error: {len(problems)} thing(s) wrong with the audit chain\ncode: audit.broken; backstay explain audit.broken"
    )
    return code


async def _count(store: RunStore, session: str | None) -> int:
    """How many sessions have a chain."""
    if session is not None:
        return int(bool(await store.audit(session)))
    roots: set[str] = set()
    after = ""
    while page := await store.runs(after=after, limit=500):
        roots.update(row.root_id for row in page)
        after = page[-1].run_id
    return sum([bool(await store.audit(root)) for root in roots])
