"""`backstay pending`: what waits for a person, and what was decided and waits for whoever brings the app.

Source: SPEC B4; DESIGN 8.1.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from backstay.boundary.actions import ActionState, PendingAction
from backstay.cli.actions import Where, action_document, what
from backstay.cli.apps import ENV, find_app
from backstay.cli.exits import DONE
from backstay.cli.options import (
    DEFAULT_STORE,
    AppOption,
    AsOption,
    JsonOption,
    StoreOption,
    absolute,
    opened,
    principal_asked,
    usage,
)
from backstay.cli.printing import Printer, away, when
from backstay.core.context import Principal

STATES = get_args(ActionState)
PLACEHOLDER = "APP"
"""What stands in a command where nobody has named the app."""


def where_of(app: str | None, store: str) -> Where:
    """How commands are to be written: with the app's absolute path where one is named, else with a placeholder."""
    return Where(app=find_app(app).path if app else os.environ.get(ENV) or PLACEHOLDER, store=absolute(store))


def pending(
    store: StoreOption = DEFAULT_STORE,
    state: Annotated[str, typer.Option("--state", help=f"One of {', '.join(STATES)}, or all.")] = "open",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Rows of a page.")] = 50,
    after: Annotated[str, typer.Option("--after", metavar="ID", help="Go on after this id.")] = "",
    as_: AsOption = None,
    app: AppOption = None,
    as_json: JsonOption = False,
) -> int:
    """List what waits for a person; with --state approved, what was decided and nobody has executed yet."""
    if state not in ("all", *STATES):
        raise usage(f"--state {state!r}: expected one of {', '.join(STATES)} or all")
    who = principal_asked(as_)
    return asyncio.run(_pending(where_of(app, store), who, state, limit, after, Printer(as_json=as_json)))


async def _pending(where: Where, who: Principal | None, state: str, limit: int, after: str, out: Printer) -> int:
    async with opened(where.store) as store:
        rows = await store.pending(principal=who, state="" if state == "all" else state, after=after, limit=limit)
    following = rows[-1].id if len(rows) == limit else None
    out.document({"pending": [action_document(one, where) for one in rows], "after": following})
    if rows:
        _show_table(out, rows)
        _show_next(out, rows, where)
    else:
        out.line({"open": "nothing waits", "all": "there are no actions"}.get(state, f"no action is {state}"))
    if following:
        out.line(f"more: --after {following}")
    return DONE


def _show_table(out: Printer, rows: Sequence[PendingAction]) -> None:
    now = time.time()
    head = ["ID", "STATE", "KIND", "ACTION", "FOR", "ASKED", "EXPIRES"]
    out.table(
        head,
        [
            [
                one.id,
                one.state,
                one.kind,
                what(one),
                one.principal.id,
                when(one.asked_at),
                away(one.expires_at - now) if one.state == "open" else "",
            ]
            for one in rows
        ],
    )


def _show_next(out: Printer, rows: Sequence[PendingAction], where: Where) -> None:
    out.line()
    for one in rows:
        if one.state == "approved":
            out.line(f"{one.id} is approved and has NOT happened; whoever brings the app executes it:")
            out.line(f"  {where.resume(one.run_id)}")
    if any(one.state == "open" for one in rows):
        out.line(f"decide one: backstay decide ID --approve | --deny --store {where.store}")
