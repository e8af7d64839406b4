"""`backstay halt`: stop an agent, a tool, a tenant or everything, in every process that uses the store; and lift it.

Source: SPEC B25.
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated

import typer

from backstay.boundary.halts import Halt, HaltScope
from backstay.cli.exits import DONE
from backstay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, local_user, opened, usage
from backstay.cli.printing import Printer, one_line, when
from backstay.core.errors import NotFoundError
from backstay.store.protocol import RunStore


def halt(
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Stop every run of this agent.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Stop every call of this tool.")] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="ID", help="Stop every run of this tenant.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop every run.")] = False,
    lift: Annotated[bool, typer.Option("--lift", help="Let it go on; the runs that were parked are due.")] = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Kept, and shown with every run.")] = "",
    by: Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who halts. Default: you.")] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Stop before the next model request or tool call, in every process; without options, list what is halted."""
    given: list[tuple[HaltScope, str]] = []
    for scope, name in (("agent", agent), ("tool", tool), ("tenant", tenant)):
        if name is not None:
            given.append((scope, name))  # type: ignore[arg-type]  # the three scopes that have a name
    if everything:
        given.append(("all", ""))
    if len(given) > 1:
        raise usage("say one of --agent, --tool, --tenant and --all at a time")
    if lift and not given:
        raise usage("--lift needs what to lift: --agent, --tool, --tenant or --all")
    said = (given[0], lift, reason, by or local_user()) if given else None
    return asyncio.run(_halt(said, store, Printer(as_json=as_json)))


async def _halt(said: tuple[tuple[HaltScope, str], bool, str, str] | None, place: str, out: Printer) -> int:
    async with opened(place) as store:
        if said is not None:
            (scope, name), is_lift, reason, by = said
            out.line(await _changed(store, Halt(scope=scope, name=name, by=by, at=time.time(), reason=reason), is_lift))
        halts = await store.standing.halts()
    for one in () if said else halts:
        out.line(
            f"{one.what} since {when(one.at)}, by {one_line(one.by)}" + (one.reason and f": {one_line(one.reason)}")
        )
    if said is None and not halts:
        out.line("nothing is halted")
    listed = [{"scope": one.scope, "name": one.name, "by": one.by, "at": one.at, "reason": one.reason} for one in halts]
    out.document({"halts": listed, "exit_code": DONE})
    return DONE


async def _changed(store: RunStore, halt: Halt, is_lift: bool) -> str:
    if not is_lift:
        return f"{halt.what} is halted" if await store.standing.halt(halt) else f"{halt.what} is halted already"
    if not await store.standing.lift(halt.scope, halt.name, by=halt.by, at=halt.at):
        raise NotFoundError(f"{halt.what} is not halted", code="halt.unknown")
    return f"{halt.what} may go on; what was parked is driven by: backstay resume --due"
