"""`backstay grants ls | show | make | revoke`: standing grants, and what is used up of them.

Only `make` needs the app: there the rules are read and bound to the tool. Source: SPEC B12, C1.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from backstay.agents import Agent
from backstay.boundary.grants import Grant
from backstay.cli.apps import find_app
from backstay.cli.caps import Used, caps, used_in, used_today
from backstay.cli.exits import DONE
from backstay.cli.options import (
    DEFAULT_STORE,
    AppOption,
    AsOption,
    JsonOption,
    StoreOption,
    absolute,
    local_user,
    opened,
    principal_asked,
    principal_of,
    seconds_of,
    usage,
)
from backstay.cli.printing import Printer, away, one_line, when
from backstay.cli.sessions import folded
from backstay.core.context import Principal
from backstay.core.errors import NotFoundError
from backstay.store.access import may_see
from backstay.store.protocol import RunStore

app = typer.Typer(help="What may run without a question, until when.", no_args_is_help=True, rich_markup_mode=None)

GrantArgument = Annotated[str, typer.Argument(metavar="GRANT", help="Its id, as `grants ls` lists it.")]
ByOption = Annotated[str | None, typer.Option("--by", metavar="WHO", help="Who says so. Default: you.")]


@app.command("ls")
def list_(as_: AsOption = None, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> int:
    """List grants that were not revoked: for whom, by whom, until when, what is used up of them today."""
    return asyncio.run(_list(principal_asked(as_), store, Printer(as_json=as_json)))


@app.command()
def show(
    grant: GrantArgument,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="With what this session has used up.")
    ] = None,
    as_: AsOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Show one grant: how its rules are understood, and who has used up how much of its caps."""
    return asyncio.run(_show(grant, session, principal_asked(as_), store, Printer(as_json=as_json)))


@app.command()
def make(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The action that may run.")],
    rules: Annotated[
        list[str], typer.Argument(metavar="RULE...", help="What a call must be like; one caps a sum or a count.")
    ],
    until: Annotated[
        str, typer.Option("--until", metavar="WHEN", help="In 7d, 12h, 30m, 4w, or an ISO date (its end, UTC) or time.")
    ],
    whom: Annotated[
        str | None, typer.Option("--for", metavar="[TENANT/]ID[:kind]", help="For whose runs it holds.")
    ] = None,
    everybody: Annotated[bool, typer.Option("--everybody", help="For everybody's runs.")] = False,
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="With --everybody: of this tenant.")] = "",
    by: ByOption = None,
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="A role you grant in; may be repeated.")
    ] = None,
    app: AppOption = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Let an action run without a question while it breaks none of the rules."""
    if (whom is not None) == everybody:
        raise usage("say for whose runs it holds: --for [TENANT/]ID, or --everybody, one of both")
    if tenant and not everybody:
        raise usage("--tenant goes with --everybody; write --for TENANT/ID")
    agent, end = find_app(app).one(), _end(until)
    principal = principal_of(whom) if whom is not None else None
    where = principal.tenant if principal else tenant
    who = Principal(id=by or local_user(), tenant=where, kind="developer", roles=frozenset(role or ()))
    options = {"by": who, "until": end, "principal": principal, "tenant": tenant}
    return asyncio.run(_make(agent, tool, rules, options, store, Printer(as_json=as_json)))


@app.command()
def revoke(
    grant: GrantArgument, by: ByOption = None, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False
) -> int:
    """Take a grant back, at once for every process that uses the store."""
    return asyncio.run(_revoke(grant, by or local_user(), store, Printer(as_json=as_json)))


def _end(text: str) -> float:
    """When a grant ends, as seconds since 1970: a date means to the end of that day; without a zone it is UTC's."""
    seconds = seconds_of(text)
    if seconds is not None:
        return time.time() + seconds
    try:
        at = datetime.fromisoformat(text)
        if len(text) <= 10:
            at += timedelta(days=1)
        return at.replace(tzinfo=at.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise usage(f"--until {text!r}: expected a length such as 7d, a date such as 2027-01-31 or a time") from error


async def _list(who: Principal | None, place: str, out: Printer) -> int:
    now = time.time()
    async with opened(place) as store:
        found = await _seen(store, who)
        used = await used_today(store, found, now, who)
    out.document({"grants": [_document(one, now, used.get(one.id, ())) for one in found], "exit_code": DONE})
    if not found:
        out.line("nothing is granted")
        return DONE
    rows = [
        [one.id, one.tool, one.agent, _whose(one), _ends(one, now), one.by, _most_used(one, used.get(one.id, ()))]
        for one in found
    ]
    out.table(["GRANT", "TOOL", "AGENT", "FOR", "UNTIL", "BY", "USED UP"], rows)
    return DONE


async def _show(grant_id: str, session: str | None, who: Principal | None, place: str, out: Printer) -> int:
    now = time.time()
    async with opened(place) as store:
        grant = next((one for one in await _seen(store, who) if one.id == grant_id), None)
        if grant is None:
            raise _unknown(grant_id)
        used = (await used_today(store, [grant], now, who)).get(grant_id, ())
        if session is not None:
            state, _ = await folded(store, session, who)
            used = [*used, *used_in(session, state.spent, grant)]
    _tell(out, grant, now, used, place)
    return DONE


async def _make(
    agent: Agent[Any], tool: str, rules: Sequence[str], options: dict[str, Any], place: str, out: Printer
) -> int:
    async with opened(place, must_exist=False) as store:
        grant = await agent.grant(tool, rules, store=store, **options)
        now = time.time()
        used = (await used_today(store, [grant], now)).get(grant.id, ())
    _tell(out, grant, now, used, place)
    return DONE


async def _revoke(grant_id: str, by: str, place: str, out: Printer) -> int:
    async with opened(place) as store:
        if not await store.standing.revoke(grant_id, by=by, at=time.time()):
            raise _unknown(grant_id)
    out.document({"revoked": grant_id, "by": by, "exit_code": DONE})
    out.line(f"{grant_id} is revoked; what it let run is asked about again")
    return DONE


async def _seen(store: RunStore, who: Principal | None) -> list[Grant]:
    """The grants that somebody may see: those for their own runs, staff those of their tenant."""
    found = await store.standing.grants()
    return [one for one in found if may_see(who, (one.tenant, one.person or (who.id if who else "")))]


def _unknown(grant_id: str) -> NotFoundError:
    return NotFoundError(f"there is no grant {grant_id!r}, or it was revoked; `backstay grants ls` lists them")


def _tell(out: Printer, grant: Grant, now: float, used: Sequence[Used], place: str) -> None:
    revoke = f"backstay grants revoke {grant.id} --store {absolute(place)}"
    out.document({**_document(grant, now, used), "commands": {"revoke": revoke}, "exit_code": DONE})
    out.line(f"Grant {grant.id}", "bold")
    out.fields(
        [
            ("lets run", f"{grant.tool} of {grant.agent}, without a question"),
            ("for", _whose(grant)),
            ("while", "\n".join(f"{one_line(rule.text)} → {one_line(rule.render)}" for rule in grant.rules)),
            ("by", f"{one_line(grant.by)}, {when(grant.at)}"),
            ("until", f"{when(grant.until)} ({_ends(grant, now)})"),
            ("used up", "\n".join(_used_lines(grant, used))),
            ("revoke", revoke),
        ]
    )


def _used_lines(grant: Grant, used: Sequence[Used]) -> list[str]:
    """One line for each cap and whoever has used of it."""
    lines = []
    for rule in caps(grant):
        own = [one for one in used if one.rule == rule.id]
        lines += [f"{one.text}, {one_line(one.who)}" for one in own]
        if not own:
            is_daily = (rule.check or {}).get("per") == "day"
            nobody = "nobody has used anything today" if is_daily else "counted in each session; see --session ID"
            lines.append(f"{one_line(rule.render)}: {nobody}")
    return lines


def _most_used(grant: Grant, used: Sequence[Used]) -> str:
    """The fullest of each cap on one line."""
    said = []
    for rule in caps(grant):
        own = [one for one in used if one.rule == rule.id]
        if own:
            more = f", {own[0].who}" + (f" and {len(own) - 1} more" if len(own) > 1 else "")
            said.append(f"{own[0].text}{'' if grant.person else more}")
        elif (rule.check or {}).get("per") == "day":
            said.append("nothing today")
        else:
            said.append("by session")
    return "; ".join(said)


def _whose(grant: Grant) -> str:
    who = grant.person or "(all)"
    return one_line(f"{grant.tenant}/{who}" if grant.tenant else who)


def _ends(grant: Grant, now: float) -> str:
    return away(grant.until - now) if grant.until > now else f"ended {away(grant.until - now)}"


def _document(grant: Grant, now: float, used: Sequence[Used]) -> dict[str, Any]:
    return {
        "id": grant.id,
        "agent": grant.agent,
        "tool": grant.tool,
        "tenant": grant.tenant,
        "person": grant.person,
        "by": grant.by,
        "at": grant.at,
        "until": grant.until,
        "is_over": grant.until <= now,
        "rules": [{"id": one.id, "text": one.text, "render": one.render} for one in grant.rules],
        "used": [_used_document(one) for one in used],
    }


def _used_document(used: Used) -> dict[str, str]:
    return {
        "rule": used.rule,
        "who": used.who,
        "used": f"{used.used:f}",
        "most": f"{used.most:f}",
        "unit": used.unit,
        "per": used.per,
    }
