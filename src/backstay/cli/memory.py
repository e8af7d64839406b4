"""`backstay memory ls | show | add | search | forget`: what outlives the conversations, beside the store.

The memory of `--store .backstay/store.db` is `.backstay/store.memory.db`. Source: SPEC C1, M3.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from backstay.cli.exits import DONE
from backstay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, principal_of, usage
from backstay.cli.printing import Printer, one_line, when
from backstay.core.context import Principal
from backstay.core.errors import StoreError
from backstay.core.messages import Label
from backstay.memory.longterm import Entry, LongTermMemory, beside, open_long_term

app = typer.Typer(help="What outlives the conversations.", no_args_is_help=True, rich_markup_mode=None)
_DAY = 86_400.0

AsOption = Annotated[
    str | None, typer.Option("--as", metavar="ID[:kind]", help="Whose memory. Default for add and search: you.")
]


@app.command("ls")
def list_(
    who: AsOption = None,
    after: Annotated[str, typer.Option("--after", metavar="ID", help="Go on after this entry.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many at most.")] = 50,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """List entries; everybody's unless --as names somebody."""
    return asyncio.run(_list(principal_of(who) if who else None, after, limit, store, Printer(as_json=as_json)))


@app.command()
def show(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="Its id, as `memory ls` lists it.")],
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Show one entry: its text, whose it is, where it is from, how far it may be believed."""
    return asyncio.run(_show(entry, store, Printer(as_json=as_json)))


@app.command()
def add(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="[PATH]...", help="UTF-8 files to keep.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="A text to keep in place of files.")] = None,
    who: AsOption = None,
    shared: Annotated[bool, typer.Option("--shared", help="For everybody of the tenant.")] = False,
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="Other people's text: never believed, wherever it is found.")
    ] = False,
    days: Annotated[float | None, typer.Option("--days", min=0, help="How long it is kept. Default: for ever.")] = None,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Keep documents, or a text. A long one is cut into pieces; what is there already is kept once."""
    if bool(paths) == (text is not None):
        raise usage("name files, or give --text, one of both")
    what: list[str | Path] = [text] if text is not None else [one.expanduser().absolute() for one in paths or ()]
    options: dict[str, Any] = {
        "principal": principal_of(who),
        "shared": shared,
        "label": Label(trusted=not untrusted),
        "expires_at": None if days is None else time.time() + days * _DAY,
    }
    return asyncio.run(_add(what, options, store, Printer(as_json=as_json)))


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    who: AsOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="How many at most.")] = 5,
    meaning: Annotated[bool, typer.Option("--meaning", help="By meaning too, with the embedded encoder.")] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Search what a person's agents would find."""
    return asyncio.run(_search(query, principal_of(who), limit, meaning, store, Printer(as_json=as_json)))


@app.command()
def forget(
    entry: Annotated[str | None, typer.Argument(metavar="[ENTRY]", help="One entry's id.")] = None,
    source: Annotated[str, typer.Option("--source", help="All that is from this document or call alone.")] = "",
    who: Annotated[str | None, typer.Option("--as", metavar="ID", help="All of this person's.")] = None,
    expired: Annotated[bool, typer.Option("--expired", help="All that has expired.")] = False,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> int:
    """Delete entries for good, out of the index too."""
    if not (entry or source or who or expired):
        raise usage("say what is to go: an entry's id, --source, --as or --expired")
    principal = principal_of(who) if who else None
    return asyncio.run(_forget(entry or "", source, principal, expired, store, Printer(as_json=as_json)))


@asynccontextmanager
async def _opened(store: str, *, must_exist: bool, encoder: Any = None) -> AsyncIterator[LongTermMemory]:
    path = beside(store)
    if must_exist and not path.is_file():
        raise StoreError(
            f"there is no long-term memory at {path}; `backstay memory add` makes one", code="store.missing"
        )
    memory = open_long_term(path, encoder=encoder)
    try:
        yield memory
    finally:
        await memory.close()


async def _list(who: Principal | None, after: str, limit: int, store: str, out: Printer) -> int:
    async with _opened(store, must_exist=True) as memory:
        found = await memory.entries(principal=who, after=after, limit=limit)
    out.document({"entries": [_plain(one) for one in found], "exit_code": DONE})
    if not found:
        out.line("nothing is remembered")
    else:
        rows = [(one.id, _whose(one), when(one.created_at), _trust(one), one_line(one.text, 80)) for one in found]
        out.table(("ENTRY", "WHOSE", "SINCE", "TRUST", "TEXT"), rows)
    return DONE


async def _show(entry_id: str, store: str, out: Printer) -> int:
    async with _opened(store, must_exist=True) as memory:
        one = await memory.entry(entry_id)
    out.document(_plain(one) | {"exit_code": DONE})
    out.line(one.id)
    out.fields(
        [
            ("text", one.text),
            ("whose", _whose(one)),
            ("words of", one.author),
            ("trust", _trust(one)),
            ("secrecy", one.label.secrecy),
            ("since", when(one.created_at)),
            ("until", "for ever" if one.expires_at is None else when(one.expires_at)),
            ("from", "\n".join(one.sources)),
        ]
    )
    return DONE


async def _add(what: list[str | Path], options: dict[str, Any], store: str, out: Printer) -> int:
    kept: list[Entry] = []
    async with _opened(store, must_exist=False) as memory:
        for one in what:
            some = await memory.add(one, source="" if isinstance(one, Path) else "command line", **options)
            kept += some
            out.line(f"{len(some)} {'entry' if len(some) == 1 else 'entries'} of {one_line(str(one), 80)}")
    out.document({"entries": [_plain(one) for one in kept], "exit_code": DONE})
    return DONE


async def _search(query: str, who: Principal, limit: int, meaning: bool, store: str, out: Printer) -> int:
    async with _opened(store, must_exist=True, encoder=_encoder() if meaning else None) as memory:
        found = await memory.search(query, principal=who, limit=limit)
    out.document({"found": [_plain(one.entry) | {"score": one.score} for one in found], "exit_code": DONE})
    for one in found:
        out.line(f"{one.entry.id}  {_trust(one.entry)}  {one_line(one.entry.text)}")
    if not found:
        out.line("nothing is remembered of this")
    return DONE


async def _forget(entry: str, source: str, who: Principal | None, expired: bool, store: str, out: Printer) -> int:
    async with _opened(store, must_exist=True) as memory:
        if entry:
            await memory.entry(entry, principal=who)
        gone = await memory.forget(principal=who, entry_id=entry, source=source) if entry or source or who else 0
        gone += await memory.expire(time.time()) if expired else 0
    out.document({"forgotten": gone, "exit_code": DONE})
    out.line(f"{gone} {'entry' if gone == 1 else 'entries'} forgotten")
    return DONE


def _encoder() -> Any:
    from backstay.models.embedded.encoder import shared_encoder  # numpy and 70 MB, for --meaning alone

    return shared_encoder()


def _whose(entry: Entry) -> str:
    return f"{entry.tenant}/{entry.person or '(all)'}" if entry.tenant else entry.person or "(all)"


def _trust(entry: Entry) -> str:
    if not entry.label.trusted:
        return "untrusted"
    return "believed" if entry.is_believed else "shown"


def _plain(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "tenant": entry.tenant,
        "person": entry.person,
        "text": entry.text,
        "author": entry.author,
        "trusted": entry.label.trusted,
        "secrecy": entry.label.secrecy,
        "sources": list(entry.sources),
        "created_at": entry.created_at,
        "expires_at": entry.expires_at,
    }
