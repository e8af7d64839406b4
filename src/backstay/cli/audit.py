"""`backstay audit`: list and export the audit chains, and prove that they are as they were written.

An export ends with the head of each chain. Kept where the store's owner cannot write, it is an anchor:
`verify --against` finds a chain that was written anew, even by somebody who has the key. Source: SPEC B16.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from backstay.cli.exits import DONE, STORE
from backstay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, opened, usage
from backstay.cli.printing import Printer, one_line
from backstay.core.canon import canonical
from backstay.store.protocol import RunStore

Anchor: TypeAlias = "tuple[str, int, str]"
"""Session, number of rows, hash of the last."""
SessionOption: TypeAlias = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Only this session's chain.")
]
app = typer.Typer(help="The audit chain.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """The audit chain: who did and decided what, hash-chained per session."""


@app.command("verify")
def verify(
    session: SessionOption = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="FILE", help="An export whose heads have to be in the chains.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Check every row of every chain; exit code 5 if one does not hold."""
    anchors = _anchors(against) if against is not None else ()
    return asyncio.run(_verify(session, anchors, store, Printer(as_json=as_json)))


@app.command("ls")
def ls(store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> int:
    """List the chains: session, number of rows, last hash."""
    return asyncio.run(_ls(store, Printer(as_json=as_json)))


@app.command("export")
def export(
    session: SessionOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; else standard output.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> int:
    """Write every row as a line of JSON, and after each chain its head; persons stand in it as pseudonyms."""
    lines = asyncio.run(_export(session, store))
    if output is None:
        for line in lines:
            typer.echo(line)
        return DONE
    try:
        output.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    except OSError as error:
        raise usage(f"{output} cannot be written ({error.strerror})") from error
    return DONE


async def _ls(place: str, out: Printer) -> int:
    async with opened(place) as store:
        heads = await store.audit_heads()
    out.table(["SESSION", "ROWS", "HEAD"], [[one_line(session), str(n), last] for session, n, last in heads])
    listed = [{"session": session, "rows": n, "head": last} for session, n, last in heads]
    out.document({"chains": listed, "exit_code": DONE})
    return DONE


async def _export(session: str | None, place: str) -> list[str]:
    lines: list[str] = []
    async with opened(place) as store:
        for name, n, last in await store.audit_heads():
            if session in (None, name):
                for number, (row, mark) in enumerate(await store.audit(name), 1):
                    values = {field.name: getattr(row, field.name) for field in fields(row)}
                    lines.append(canonical({"session": name, "n": number, **values, "hash": mark}))
                lines.append(canonical({"session": name, "head": last, "rows": n}))
    return lines


def _anchors(path: Path) -> tuple[Anchor, ...]:
    """The heads that an export holds.

    Raises:
        SetupError: code `cli.usage`, for a file that is none.
    """
    try:
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return tuple((one["session"], int(one["rows"]), str(one["head"])) for one in found if "head" in one)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise usage(f"--against {path}: not an export of `backstay audit export` ({type(error).__name__})") from error


async def _not_held(store: RunStore, anchors: Sequence[Anchor]) -> list[str]:
    """Anchored heads that are not in their chains."""
    wrong: list[str] = []
    for session, n, head in anchors:
        rows = await store.audit(session)
        if len(rows) < n or (n and rows[n - 1][1] != head):
            wrong.append(f"session {session!r}: row {n} of the audit chain is not the head that was exported")
    return wrong


async def _verify(session: str | None, anchors: Sequence[Anchor], place: str, out: Printer) -> int:
    async with opened(place) as store:
        chosen = [one for one in anchors if session in (None, one[0])]
        problems = [*await store.verify_audit(session), *await _not_held(store, chosen)]
        chains = sum([session in (None, name) for name, _, _ in await store.audit_heads()])
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
