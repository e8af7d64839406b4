"""Runs of pytest in processes of their own, on a copy of the tree, with a module changed or with its lines watched.

A *cold* run is forked from a process that has loaded the libraries, but nothing of the package's boundary, so that it
imports the changed module itself. A *warm* one is forked from a process that has collected the tests; there only the
body of one function is put in the place of the old, which takes a small part of the time.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = 100
"""Of each property, always the same ones. The whole suite tries more; a mutant that needs them is a missing test."""
_LIBRARIES = (
    "_hypothesis_pytestplugin", "hypothesis.strategies", "pytest_asyncio.plugin", "pydantic", "zoneinfo", "decimal",
    "docstring_parser", "json_repair", "mstache", "typer", "rich.console", "sqlite3", "asyncio", "backstay.core",
)  # fmt: skip
_NEEDLESS = ("cacheprovider", "xdist", "examples", "anyio")
_OPTIONS = ("-x", "-q", "-Wignore::pytest.PytestAssertRewriteWarning", *(f"-pno:{name}" for name in _NEEDLESS))


def load(root: Path) -> None:
    """Load what all runs share. The tree at `root` is what is imported from here on."""
    sys.path[:0] = [str(root / "src"), str(root / "tests"), str(root)]
    os.chdir(root)
    for name in _LIBRARIES:
        importlib.import_module(name)
    assert not any(name.startswith("backstay.boundary") for name in sys.modules)
    settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    settings.load_profile("mutants")


def forked(work: Callable[[], Any], seconds: float) -> Any:
    """Return what the work returns in a process of its own, as JSON; None where it took too long or died."""
    inlet, outlet = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inlet)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        with contextlib.suppress(BaseException), os.fdopen(outlet, "w") as answer:
            json.dump(work(), answer)
        os._exit(0)
    os.close(outlet)
    try:
        said = _read(inlet, time.monotonic() + seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return json.loads(said) if said else None


def _read(inlet: int, until: float) -> bytes:
    said = b""
    with os.fdopen(inlet, "rb", buffering=0) as stream:
        while (left := until - time.monotonic()) > 0 and select.select([stream], [], [], left)[0]:
            more = stream.read(65536)
            if not more:
                return said
            said += more
    return b""


def watched(files: Iterable[str], package: Path) -> dict[str, Any]:
    """Run the tests as they are; return exit code, seconds and lines of each test, lines by path in the package.

    The lines that run at import are those of the test with an empty name.
    """
    watch = _Watch(f"{package}{os.sep}")
    sys.settrace(watch.enter)
    code = pytest.main([*_OPTIONS, *files], plugins=[watch])
    sys.settrace(None)
    return {"code": int(code), "failed": watch.failed, "seconds": watch.seconds, "lines": watch.kept()}


def tried_cold(module: str, changed: CodeType, tests: Mapping[str, float]) -> str:
    """Return what kills the changed module: a test, `import`, or nothing. Tests are tried the quickest first."""
    sys.meta_path.insert(0, _Changed(module, changed))
    only = _Only(tests)
    code = pytest.main([*_OPTIONS, *dict.fromkeys(one.partition("::")[0] for one in tests)], plugins=[only])
    return "" if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else only.failed or "import"


def warm(files: Iterable[str], work: Callable[[Warm], None]) -> None:
    """Collect the tests, and do the work with them at hand."""
    pytest.main([*_OPTIONS, *files], plugins=[Warm(work)])


def _function(module: ModuleType, path: str) -> FunctionType:
    """The function at a dotted path, without what is wrapped around it; of a nested one the outermost."""
    found: Any = module
    for name in path.split("."):
        found = vars(found)[name]
        for inner in ("fget", "__func__", "__wrapped__"):
            found = getattr(found, inner, None) or found
        if isinstance(found, FunctionType):
            return found
    raise LookupError(path)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def _forget() -> None:
    """Empty what the boundary remembers, so that nothing is known from before."""
    for name, module in list(sys.modules.items()):
        if name.startswith("backstay.boundary"):
            for one in vars(module).values():
                if hasattr(one, "cache_clear"):
                    one.cache_clear()
            getattr(module, "_remembered", {}).clear()


class _Few:
    """Keeps properties to a few examples, and knows which test has failed."""

    failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            test: Any = getattr(item, "obj", None)
            given = getattr(test, "_hypothesis_internal_use_settings", None)
            if given is not None and given.max_examples > EXAMPLES:
                test = getattr(test, "__func__", test)
                test._hypothesis_internal_use_settings = settings(given, max_examples=EXAMPLES)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class Warm(_Few):
    """Tests that are collected, for processes forked from here."""

    def __init__(self, work: Callable[[Warm], None]) -> None:
        self._work = work
        self._items: dict[str, pytest.Item] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {one.nodeid: one for one in session.items}
        self._work(self)
        return True

    def tried(self, module: str, function: str, changed: CodeType, tests: Mapping[str, float]) -> str:
        """Return what kills the function as it stands in the changed module: a test or nothing."""
        old = _function(sys.modules[module], function)
        old.__code__ = next(one for one in _codes(changed) if one.co_qualname == old.__code__.co_qualname)
        _forget()
        items = [self._items[one] for one in sorted(tests, key=lambda one: tests[one])]
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed:
                break
        return self.failed


class _Only(_Few):
    """Leaves the tests that run the changed line."""

    def __init__(self, tests: Mapping[str, float]) -> None:
        self._tests = tests

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        near = [one for one in items if one.nodeid in self._tests]
        items[:] = sorted(near, key=lambda one: self._tests[one.nodeid])
        super().pytest_collection_modifyitems(items)


class _Watch(_Few):
    """Writes down which lines of the boundary each test runs, and how long it takes."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._here: dict[str, set[int]] = {}
        self._lines = {"": self._here}
        self.seconds: dict[str, float] = {"": 0.0}

    def kept(self) -> dict[str, dict[str, list[int]]]:
        """Test → path → lines."""
        return {test: {path: sorted(some) for path, some in lines.items()} for test, lines in self._lines.items()}

    def pytest_collection(self) -> None:
        self._here = {}  # what the tests do when they are imported themselves is nobody's

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        _forget()
        self._here = self._lines[item.nodeid] = {}
        began = time.perf_counter()
        sys.settrace(self.enter)  # again: a stack that overflows in it takes it away
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.perf_counter() - began
            self._here = {}

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        path = frame.f_code.co_filename
        if not path.startswith(self._package) or "/boundary/" not in path:
            return None
        lines = self._here.setdefault(path[len(self._package) :], set())

        def line(frame: FrameType, event: str, argument: object) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line(frame, event, argument)


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed module where the one on the disk would be imported."""

    def __init__(self, module: str, code: CodeType) -> None:
        self._module = module
        self._code = code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        found = importlib.machinery.PathFinder.find_spec(name, path) if name == self._module else None
        if found is not None:
            found.loader = self
        return found

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, vars(module))
