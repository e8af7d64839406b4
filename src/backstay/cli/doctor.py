"""`backstay doctor`: what is installed, which model answers, where runs are kept, and what an app should say better.

Source: SPEC C4, T13.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from backstay.agents import Agent
from backstay.cli.apps import find_app
from backstay.cli.declarations import advices, declared, told
from backstay.cli.exits import DONE, FAILED
from backstay.cli.options import DEFAULT_STORE, JsonOption, StoreOption, absolute
from backstay.cli.printing import Printer
from backstay.core.errors import BackstayError
from backstay.models.embedded.weights import ls as list_weights
from backstay.store.open import open_store
from backstay.tools.tool import Tool

Verdict: TypeAlias = Literal["ok", "note", "wrong"]
_STYLES: Mapping[str, str] = {"ok": "green", "note": "yellow", "wrong": "red"}
_EPHEMERAL = frozenset({"tmpfs", "ramfs", "overlay"})
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"})
_LEAST_BYTES = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    about: str
    verdict: Verdict
    text: str
    facts: Mapping[str, Any] | None = None
    """The same as data, for programs."""


def doctor(
    app: Annotated[str | None, typer.Argument(metavar="APP", help="An app to look at as well.")] = None,
    store: StoreOption = DEFAULT_STORE,
    prod: Annotated[bool, typer.Option("--prod", help="Fail on what must not be so in production.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Look at this installation, and at an app: what is there, what is missing, what to do about it."""
    out = Printer(as_json=as_json)
    found = [*_python(), *_extras(), *_weights(), *_store(absolute(store), prod)]
    if app is not None:
        for agent in find_app(app).agents.values():
            found += _agent(agent, prod, absolute(store))
    for one in found:
        out.line(f"{one.verdict:<5}  {one.about}: {one.text}", _STYLES[one.verdict])
    out.document([_document(one) for one in found])
    return FAILED if any(one.verdict == "wrong" for one in found) else DONE


def _document(one: Finding) -> dict[str, Any]:
    more = {} if one.facts is None else {"facts": one.facts}
    return {"about": one.about, "verdict": one.verdict, "text": one.text, **more}


def _python() -> Iterator[Finding]:
    text = f"Backstay {version('backstay')} on Python {platform.python_version()}, {platform.system()}"
    yield Finding(about="version", verdict="ok", text=text)


def _extras() -> Iterator[Finding]:
    for extra, packages in sorted(_packages_by_extra().items()):
        missing = [name for name in packages if not _is_installed(name)]
        text = f"install it with: pip install 'backstay[{extra}]'" if missing else ", ".join(packages)
        yield Finding(about=f"extra {extra}", verdict="note" if missing else "ok", text=text)


def _packages_by_extra() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in requires("backstay") or ():
        name, _, condition = line.partition(";")
        extra = condition.partition("extra == ")[2].strip(" '\"")
        if extra and extra != "dev":
            found.setdefault(extra, []).append(name.strip().split("[")[0].split(">")[0].split("=")[0].split("<")[0])
    return found


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _weights() -> Iterator[Finding]:
    for one in list_weights():
        text = str(one.path) if one.is_present else "fetched when first needed, or now with: backstay model pull"
        yield Finding(about=f"weights {one.weights.name}", verdict="ok" if one.is_present else "note", text=text)


def _store(where: str, prod: bool) -> list[Finding]:
    if where == "memory:":
        return [Finding(about="store", verdict="wrong" if prod else "note", text="in memory: nothing survives")]
    path = Path(where.removeprefix("sqlite:///"))
    if not path.exists():
        made = Finding(about="store", verdict="ok", text=f"{path} is made by the first run")
        return [made, *_disk(path, prod)]
    try:
        problems = asyncio.run(_problems(where))
    except BackstayError as error:
        return [Finding(about="store", verdict="wrong", text=f"{error.message} [{error.code}]")]
    text = "; ".join(problems) or f"{path}; its audit chains hold"
    return [Finding(about="store", verdict="wrong" if problems else "ok", text=text), *_disk(path, prod)]


async def _problems(where: str) -> Sequence[str]:
    opened = open_store(where)
    try:
        return await opened.verify_audit()
    finally:
        await opened.close()


def _disk(path: Path, prod: bool) -> Iterator[Finding]:
    folder = next(one for one in (path.parent, *path.parents) if one.exists())
    if not os.access(folder, os.W_OK):
        yield Finding(about="disk", verdict="wrong", text=f"{folder} cannot be written to")
    free = shutil.disk_usage(folder).free
    if free < _LEAST_BYTES:
        yield Finding(about="disk", verdict="wrong", text=f"only {free / 1e6:.0f} MB are free at {folder}")
    kind = _filesystem(folder)
    if kind in _EPHEMERAL or kind in _NETWORK:
        why = "is lost with the machine" if kind in _EPHEMERAL else "does not keep SQLite's locks"
        yield Finding(about="disk", verdict="wrong" if prod else "note", text=f"{folder} is {kind}, which {why}")


def _filesystem(folder: Path) -> str:
    """The kind of file system a folder lies on; empty where the system does not say."""
    try:
        lines = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return ""
    mounts = [(Path(line.split()[1]), line.split()[2]) for line in lines if len(line.split()) > 2]
    over = [(place, kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    return max(over, key=lambda one: len(one[0].parts), default=(folder, ""))[1]


def _agent(agent: Agent[Any], prod: bool, store: str) -> Iterator[Finding]:
    about = f"agent {agent.name}"
    definition = agent.definition
    yield Finding(about=about, verdict="ok", text=f"answers on {definition.model.name}")
    if definition.model.profile.price is None:
        text = f"the price of {definition.model.name} is unknown, so the default limit of 1 USD cannot be kept"
        yield Finding(about=about, verdict="note", text=text)
    if prod and definition.model.name.startswith("embedded:"):
        yield Finding(
            about=about, verdict="wrong", text="names no model of its own: the embedded one is for trying out"
        )
    if definition.reach.is_unsafe:
        text = f"runs with presence='unattended' are refused: {definition.reach.told}"
        yield Finding(about=about, verdict="note", text=text)
    for report in definition.reports:
        yield Finding(about=about, verdict="note", text=report)
    if prod and store == "memory:" and any(tool.is_hidden for tool in definition.toolset):
        yield Finding(about=about, verdict="wrong", text="has high actions and no store that keeps them")
    for tool in definition.toolset:
        yield from _tool(tool)


def _tool(tool: Tool) -> Iterator[Finding]:
    about, facts = f"tool {tool.name}", declared(tool)
    yield Finding(about=about, verdict="ok", text=told(facts), facts=facts)
    for advice in advices(tool, facts):
        yield Finding(about=about, verdict="note", text=advice)
