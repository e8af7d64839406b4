"""`backstay run`: answer one input, journalled and traced."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from backstay.agents import Agent
from backstay.cli.actions import Where
from backstay.cli.apps import ENV, find_app
from backstay.cli.artifacts import check_folder, save_files
from backstay.cli.driving import Interrupted, until_interrupted, watched
from backstay.cli.exits import INTERRUPTED, of_result
from backstay.cli.options import (
    DEFAULT_STORE,
    AddressOption,
    JsonOption,
    ModelOption,
    StoreOption,
    StreamOption,
    absolute,
    model_of,
    opened,
    principal_of,
    usage,
)
from backstay.cli.printing import Printer
from backstay.cli.results import result_document, show_result


def run(
    words: Annotated[
        list[str],
        typer.Argument(metavar="APP INPUT", help="The app, and what to ask it; INPUT - reads standard input."),
    ],
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="A conversation to go on with.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    who: Annotated[
        str | None, typer.Option("--as", metavar="ID[:KIND]", help="Who it is for. Default: you, as a developer.")
    ] = None,
    dedup: Annotated[
        str | None, typer.Option("--dedup", metavar="KEY", help="Start at most one run for this key.")
    ] = None,
    model: ModelOption = None,
    base_url: AddressOption = None,
    stream: StreamOption = None,
    as_json: JsonOption = False,
    save: Annotated[
        Path | None, typer.Option("--save-artifacts", metavar="DIR", help="Write the files that tools made into DIR.")
    ] = None,
) -> int:
    """Ask an agent one thing and print each tool call, the answer, what it cost and what waits for a person.

    APP is module:attribute, path/file.py or path/file.py:attribute; it may be left out where BACKSTAY_APP names it.
    """
    path, text = _app_and_input(words)
    principal = principal_of(who)
    app = find_app(path)
    where = Where(app=app.path, store=absolute(store))
    out = Printer(as_json=as_json)
    options = {"session": session, "principal": principal, "dedup": dedup, "model": model_of(model, base_url)}
    return asyncio.run(_run(app.one(), text, where, out, stream, save, options))


def _app_and_input(words: list[str]) -> tuple[str | None, str]:
    match words:
        case [text] if os.environ.get(ENV):
            path = None
        case [path, text]:
            pass
        case [_]:
            raise usage('give APP and INPUT: backstay run app.py "What do I want?" (APP may stand in BACKSTAY_APP)')
        case _:
            raise usage(f"expected APP and INPUT, got {len(words)} words; put the input in quotes")
    return path, sys.stdin.read() if text == "-" else text


async def _run(
    agent: Agent[Any],
    text: str,
    where: Where,
    out: Printer,
    stream: bool | None,
    save: Path | None,
    options: dict[str, Any],
) -> int:
    if save is not None:
        check_folder(save)
    async with opened(where.store, must_exist=False) as store, watched(store, out, stream=stream) as progress:
        try:
            result = await until_interrupted(agent.run(text, store=store, **options), out)
        except Interrupted:
            out.note("interrupted before the run was at work; the input is withdrawn")
            return INTERRUPTED
        saved = await save_files(store, result, save) if save is not None else {}
        if out.as_json:
            code = of_result(result)
            out.document({**result_document(result, where, progress, saved), "exit_code": code})
            return code
        return await show_result(out, store, result, where, progress, saved)
