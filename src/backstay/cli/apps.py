"""From an app path to the agents in it. Source: SPEC C1; DESIGN 4 ("the app is named, not stored").

An app path is `module:attribute`, `path/file.py` or `path/file.py:attribute`. Without an attribute it is the only agent
of the module, else the one named `agent`. The working directory can be imported from; so can a file's own folder, or,
for a file inside packages, the folder above the topmost of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from backstay.agents import Agent
from backstay.core.errors import AppError, BackstayError

ENV = "BACKSTAY_APP"


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An app that was found."""

    path: str
    """Absolute for a file, so that it can be named from anywhere."""
    agents: Mapping[str, Agent[Any]]
    """By name: all that the path names, which is one where it names an attribute."""
    main: Agent[Any] | None
    """The agent that answers where nobody says which."""
    attributes: tuple[str, ...]
    """Attributes of the module that are agents."""

    def one(self) -> Agent[Any]:
        """The agent to run.

        Raises:
            AppError: if the module has none, or several and none of them is named `agent`.
        """
        if self.main is None:
            raise AppError(f"{self.path} does not say which agent: {_listed(self.attributes)}")
        return self.main

    def named(self, name: str, run_id: str) -> Agent[Any]:
        """The agent that a run belongs to.

        Raises:
            AppError: code `app.agent`; the run stays due.
        """
        found = self.agents.get(name)
        if found is None:
            known = ", ".join(sorted(self.agents)) or "none"
            raise AppError(
                f"run {run_id} belongs to the agent {name!r}, and {self.path} has: {known}. The run stays due; name the"
                " app that has it",
                code="app.agent",
            )
        return found


def find_app(path: str | None) -> App:
    """Import an app and return what agents it has.

    Args:
        path: the app path; None or empty takes the environment's `BACKSTAY_APP`.

    Raises:
        AppError: `app.missing`, `app.not_found` with the agents that are there, `app.import`.
    """
    path = path or os.environ.get(ENV, "")
    if not path:
        raise AppError("no app is named: give --app APP, or set BACKSTAY_APP", code="app.missing")
    place, attribute = _split(path)
    if place.endswith(".py"):
        file = Path(place).expanduser().absolute()
        module, full = _import_file(file), str(file)
    else:
        module, full = _import_module(place), place
    agents = {name: value for name, value in vars(module).items() if isinstance(value, Agent)}
    if attribute:
        return _with_attribute(module, full, attribute, agents)
    distinct = {id(value): value for value in agents.values()}
    main = next(iter(distinct.values())) if len(distinct) == 1 else agents.get("agent")
    return App(path=full, agents=_by_name(distinct.values(), full), main=main, attributes=tuple(agents))


def _split(path: str) -> tuple[str, str]:
    """Place and attribute. The colon of a Windows drive is no separator."""
    place, colon, attribute = path.rpartition(":")
    if not colon or attribute.endswith(".py") or "/" in attribute or "\\" in attribute:
        return path, ""
    return place, attribute


def _with_attribute(module: ModuleType, full: str, attribute: str, agents: dict[str, Agent[Any]]) -> App:
    if not hasattr(module, attribute):
        raise AppError(f"{full} has no attribute {attribute!r}; {_listed(agents)}")
    found = getattr(module, attribute)
    if not isinstance(found, Agent):
        raise AppError(f"{full}:{attribute} is a {type(found).__name__}, not an Agent; {_listed(agents)}")
    return App(path=f"{full}:{attribute}", agents={found.name: found}, main=found, attributes=tuple(agents))


def _by_name(agents: Any, full: str) -> dict[str, Agent[Any]]:
    named: dict[str, Agent[Any]] = {}
    for agent in agents:
        if agent.name in named:
            raise AppError(
                f"{full} has two agents named {agent.name!r}: give each its own name=, or name one as {full}:ATTRIBUTE"
            )
        named[agent.name] = agent
    return named


def _listed(attributes: Any) -> str:
    names = ", ".join(sorted(attributes))
    return f"agents there: {names}" if names else "there is no Agent in it"


def _import_module(name: str) -> ModuleType:
    _make_importable(Path.cwd())
    if not all(part.isidentifier() for part in name.split(".")):
        raise AppError(f"{name!r} is neither a module nor a .py file; write module:attribute or path/file.py:attribute")
    try:
        return _imported(name, name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise AppError(f"there is no module {error.name!r} (looked from {Path.cwd()})") from error
        raise _broken(name, error) from error


def _import_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise AppError(f"there is no file {file}")
    _make_importable(Path.cwd())
    folder, name = file.parent, file.stem
    while (folder / "__init__.py").is_file():
        name, folder = f"{folder.name}.{name}", folder.parent
    _make_importable(folder)
    try:
        if "." not in name:
            return _executed(file)
        module = _imported(name, str(file))
    except ModuleNotFoundError as error:
        raise _broken(str(file), error) from error
    is_it = module.__file__ is not None and Path(module.__file__).resolve() == file.resolve()
    return module if is_it else _executed(file)


def _executed(file: Path) -> ModuleType:
    """Run a file that belongs to no package, as a module named after it unless that name is taken."""
    name = file.stem if file.stem not in sys.modules else f"app_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise AppError(f"{file} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader

    def execute() -> ModuleType:
        loader.exec_module(module)
        return module

    return _guarded(str(file), execute)


def _imported(name: str, shown: str) -> ModuleType:
    return _guarded(shown, lambda: importlib.import_module(name))


def _guarded(shown: str, importing: Any) -> ModuleType:
    try:
        module: ModuleType = importing()
    except (BackstayError, ModuleNotFoundError):
        raise
    except Exception as error:  # an app's own code may raise anything while it is imported
        raise _broken(shown, error) from error
    return module


def _broken(shown: str, error: Exception) -> AppError:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last is not None else ""
    where = "" if "importlib" in where else where
    return AppError(f"importing {shown} failed: {type(error).__name__}: {error}{where}", code="app.import")


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
