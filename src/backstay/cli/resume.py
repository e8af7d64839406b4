"""`backstay resume`: drive one run that is due, or all of them. Source: SPEC D1; DESIGN 8.1."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

import typer

from backstay.agents import Agent, RunResult
from backstay.agents.drive import told
from backstay.agents.lease import LEASE_SECONDS
from backstay.cli.actions import Where
from backstay.cli.apps import App, find_app
from backstay.cli.driving import Interrupted, until_interrupted, watched
from backstay.cli.exits import DONE, INTERRUPTED, of_error, of_result
from backstay.cli.options import (
    DEFAULT_STORE,
    AppOption,
    JsonOption,
    StoreOption,
    StreamOption,
    absolute,
    opened,
    usage,
)
from backstay.cli.printing import Printer
from backstay.cli.progress import Progress
from backstay.cli.results import result_document, show_result
from backstay.core.errors import BackstayError, FencedError
from backstay.store.protocol import RunStore
from backstay.store.records import ENDED

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = LEASE_SECONDS + 5.0
"""How long one named run is waited for: a dead process's lease has ended by then."""


def resume(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN_ID", help="The run to drive.")] = None,
    due: Annotated[bool, typer.Option("--due", help="Drive every run that is due.")] = False,
    app: AppOption = None,
    store: StoreOption = DEFAULT_STORE,
    stream: StreamOption = None,
    as_json: JsonOption = False,
) -> int:
    """Drive a run on: after a decision, a crash, Ctrl-C or a wake-up."""
    if (run_id is None) != due:
        raise usage("give a RUN_ID or --due" + (", not both" if due else ""))
    found = find_app(app)
    where = Where(app=found.path, store=absolute(store))
    command = _Resume(found, where, Printer(as_json=as_json), stream)
    return asyncio.run(command.one(run_id) if run_id else command.all_due())


class _Resume:
    """One use of the command."""

    def __init__(self, app: App, where: Where, out: Printer, stream: bool | None) -> None:
        self._app = app
        self._where = where
        self._out = out
        self._stream = stream

    async def one(self, run_id: str) -> int:
        """Drive one run, waiting for its session if a dead process seems to hold it."""
        async with opened(self._where.store) as store, watched(store, self._out, stream=self._stream) as progress:
            row = await store.run(run_id)
            agent = self._app.named(row.agent, run_id)
            try:
                result = await until_interrupted(self._patiently(agent, run_id, store), self._out)
            except Interrupted:
                self._out.note(f"interrupted; go on with: {self._where.resume(run_id)}")
                return INTERRUPTED
            code = of_result(result)
            self._out.document({**result_document(result, self._where, progress), "exit_code": code})
            return code if self._out.as_json else await show_result(self._out, store, result, self._where, progress)

    async def _patiently(self, agent: Agent[Any], run_id: str, store: RunStore) -> RunResult[Any]:
        until, has_said = time.monotonic() + _PATIENCE_SECONDS, False
        while True:
            result = await agent.resume(run_id, store=store)
            if result is not None:
                return result
            row = await store.run(run_id)
            if row.status in ENDED:
                return await told(store, row, agent.definition)
            if time.monotonic() > until:
                raise FencedError(f"run {run_id} is driven by another process, or queued behind one", code="run.held")
            if not has_said:
                self._out.note(f"its session is held; waiting up to {_PATIENCE_SECONDS:.0f} s")
                has_said = True
            await asyncio.sleep(_POLL_SECONDS)

    async def all_due(self) -> int:
        """Drive everything that is due, each run once."""
        documents: list[dict[str, Any]] = []
        problems: list[dict[str, str]] = []
        codes: list[int] = []
        async with opened(self._where.store) as store:
            seen: set[str] = set()
            while fresh := [one for one in await store.due(time.time(), len(seen) + 50) if one not in seen]:
                seen.update(fresh)
                for run_id in fresh:
                    code = await self._drive(run_id, store, documents, problems)
                    codes.append(code)
                    if code == INTERRUPTED:
                        break
                if INTERRUPTED in codes:
                    break
        if not codes:
            self._out.line("nothing is due")
        worst = max(codes, default=DONE)
        self._out.document({"runs": documents, "problems": problems, "exit_code": worst})
        return worst

    async def _drive(
        self, run_id: str, store: RunStore, documents: list[dict[str, Any]], problems: list[dict[str, str]]
    ) -> int:
        """Drive one of several: what is wrong with it is said, and the others go on."""
        self._out.line(f"run {run_id}", "bold")
        try:
            row = await store.run(run_id)
            agent = self._app.named(row.agent, run_id)
            async with watched(store, self._out, stream=self._stream) as progress:
                result = await until_interrupted(agent.resume(run_id, store=store), self._out)
                return await self._shown(result, store, progress, documents)
        except Interrupted:
            return INTERRUPTED
        except BackstayError as error:
            self._out.note(f"error: {error.message}\ncode: {error.code}; backstay explain {error.code}", "red")
            problems.append({"run_id": run_id, "code": error.code, "message": error.message})
            return of_error(error)

    async def _shown(
        self, result: RunResult[Any] | None, store: RunStore, progress: Progress, documents: list[dict[str, Any]]
    ) -> int:
        if result is None:
            self._out.line("taken by another process meanwhile")
            return DONE
        documents.append(result_document(result, self._where, progress))
        if self._out.as_json:
            return of_result(result)
        return await show_result(self._out, store, result, self._where, progress)
