"""The house stands as drawn: who imports whom, who may run a tool, what the front door shows and costs."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import backstay
from backstay import Tool

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
MODULES = sorted((SRC / "backstay").rglob("*.py"))
CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

# Contract → module and the one line that breaks it.
PLANTED = {
    "Each floor imports only from below": ("tools/summary.py", "from backstay.agents.result import RunResult"),
    "The ground and the boundary do no I/O": ("core/ids.py", "import sqlite3"),
    "The judge never reads text": ("boundary/judge.py", "from backstay.boundary.text import parse"),
    "Tools and models do not know the store": ("models/names.py", "from backstay.store.protocol import RunStore"),
    "Only a Tool reaches the pipeline": ("agents/loop.py", "from backstay.tools.pipeline import run"),
    "Built-in tools do not know each other": ("toolkit/think.py", "from backstay.toolkit.files import ReadFileTool"),
    "Nobody inside uses the front door": ("cli/main.py", "import backstay"),
    "No cycles between siblings": ("core/messages.py", "from backstay.core.events import Event"),
}


def _lint(folder: Path) -> str:
    """What the import linter says of the tree in a folder."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    told = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return f"exit {told.returncode}\n{told.stdout}{told.stderr}"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the tree with its contracts."""
    shutil.copytree(SRC, tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _plant(house: Path, module: str, line: str) -> None:
    path = house / "src" / "backstay" / module
    path.write_text(f"{path.read_text('utf-8')}\n{line}\n", "utf-8")


def test_every_contract_holds() -> None:
    told = _lint(ROOT)
    assert told.startswith("exit 0"), told
    assert [name for name in CONTRACTS if f"{name} KEPT" not in told] == []


def test_for_every_contract_a_violation_is_planted() -> None:
    assert sorted(PLANTED) == sorted(CONTRACTS)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_violation_of_a_contract_is_found(house: Path, contract: str) -> None:
    _plant(house, *PLANTED[contract])
    told = _lint(house)
    assert told.startswith("exit 1"), told
    assert f"{contract} BROKEN" in told


@pytest.mark.parametrize(
    "line",
    [
        "def _late() -> None:\n    from backstay.agents.result import RunResult",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from backstay.agents.result import RunResult",
    ],
    ids=["in a function", "for the type checker only"],
)
def test_an_import_upward_is_found_where_it_hides(house: Path, line: str) -> None:
    _plant(house, "tools/summary.py", line)
    assert f"{CONTRACTS[0]} BROKEN" in _lint(house)


def test_a_room_without_a_name_in_the_contract_is_found(house: Path) -> None:
    utils = house / "src" / "backstay" / "utils"
    utils.mkdir()
    (utils / "__init__.py").write_text('"""Everything."""\n')
    assert f"{CONTRACTS[0]} BROKEN" in _lint(house)


class _Runs(ast.NodeVisitor):
    """Finds every use of `_run` but a class's call of a method of its own."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.found: list[tuple[int, str | None]] = []
        """Line, and the class whose own method it is; None for anybody else's."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.classes.append(node.name)
        self.generic_visit(node)
        self.classes.pop()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == "_run":
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self" and self.classes
            self.found.append((node.lineno, ".".join(self.classes) if is_own else None))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if node.value == "_run":
            self.found.append((node.lineno, None))


def _runs(source: str) -> list[tuple[int, str | None]]:
    finder = _Runs()
    finder.visit(ast.parse(source))
    return finder.found


def _module_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def _is_tool(path: Path, name: str) -> bool:
    found: object = import_module(_module_of(path))
    for part in name.split("."):
        found = getattr(found, part)
    return isinstance(found, type) and issubclass(found, Tool)


def test_only_the_pipeline_runs_a_tool() -> None:
    calls = [(path, line, owner) for path in MODULES for line, owner in _runs(path.read_text("utf-8"))]
    others = [
        f"{_module_of(path)}:{line}"
        for path, line, owner in calls
        if _module_of(path) != "backstay.tools.pipeline" and (owner is None or _is_tool(path, owner))
    ]
    assert others == []
    assert any(_module_of(path) == "backstay.tools.pipeline" for path, _, _ in calls), "the search sees nothing"


def test_the_search_sees_a_tool_run_past_the_pipeline() -> None:
    assert _runs("async def f(tool): return await tool._run(1, 2)") == [(1, None)]
    assert _runs("f = getattr(tool, '_run')") == [(1, None)]
    assert _runs("class A(Tool):\n    def f(self): return self._run(1)") == [(2, "A")]


@pytest.mark.parametrize("path", [one for one in MODULES if one.name == "__init__.py"], ids=_module_of)
def test_every_room_says_what_lives_there(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_the_front_door_shows_what_it_names() -> None:
    named = [name for names in backstay._WHERE.values() for name in names]
    assert sorted(named) == sorted(set(named)) == sorted(backstay.__all__)
    for name in backstay.__all__:
        assert getattr(backstay, name) is getattr(import_module(backstay._MODULE_OF[name]), name)
    assert set(backstay.__all__) <= set(dir(backstay))
    with pytest.raises(ImportError):
        exec("from backstay import Nothing")


def test_the_front_door_is_typed() -> None:
    tree = ast.parse((SRC / "backstay" / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typed = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(typed) == set(backstay.__all__)
    assert {name: getattr(backstay, name) for name in typed} == {
        name: getattr(import_module(str(module)), name) for name, module in typed.items()
    }
    assert (SRC / "backstay" / "py.typed").is_file()


_HTTP = {"http.client", "urllib.request", "httpx", "httpcore", "requests", "aiohttp", "starlette", "uvicorn"}
_DATABASE = {"sqlite3", "psycopg", "dbos", "temporalio", "sqlalchemy"}
_MODEL = {"openai", "anthropic", "google.genai", "xllamacpp", "numpy", "tiktoken"}
_PROTOCOL = {"mcp", "a2a", "acp", "grpc", "ag_ui", "opentelemetry"}
_OTHER = {"typer", "click", "rich", "yaml", "jinja2"}
_HEAVY = _HTTP | _DATABASE | _MODEL | _PROTOCOL | _OTHER


def _loaded(line: str) -> set[str]:
    """The names of all modules that are loaded after a line of Python."""
    code = f"{line}\nimport sys\nprint(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(told.stdout.split())


def test_importing_backstay_loads_next_to_nothing() -> None:
    loaded = _loaded("import backstay")
    assert loaded & (_HEAVY | {"pydantic", "asyncio", "docstring_parser"}) == set()
    assert {name for name in loaded if name.startswith("backstay.")} == set()


def test_an_agent_loads_no_http_database_model_or_protocol_package() -> None:
    assert _loaded("from backstay import Agent, tool") & _HEAVY == set()


def _undocumented(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    if path.stat().st_size and not ast.get_docstring(tree):
        yield "the module"
    yield from _undocumented_in(tree.body, "")


def _undocumented_in(body: list[ast.stmt], inside: str) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        is_overload = any(ast.unparse(one).endswith("overload") for one in node.decorator_list)
        if not is_overload and not ast.get_docstring(node):
            yield f"{inside}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from _undocumented_in(node.body, f"{node.name}.")


@pytest.mark.parametrize("path", MODULES, ids=_module_of)
def test_everything_public_is_explained(path: Path) -> None:
    assert list(_undocumented(path)) == []


def test_no_module_is_named_for_nothing() -> None:
    """A helper lives beside its only user; with two users it earns a noun."""
    nothing = {"utils", "util", "helpers", "common", "base", "adapters"}
    parts = {part for path in MODULES for part in re.split(r"[/.]", str(path.relative_to(SRC)))}
    assert parts & nothing == set()
