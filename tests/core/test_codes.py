"""Every code that the source names has a row, and every row says something. SPEC C6."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import backstay
from backstay.core.codes import CODES, nearest
from backstay.core.events import Event

SOURCE = Path(backstay.__file__).parent
SHAPE = re.compile(r"[a-z]+\.[a-z_]+")
NOT_CODES = {"lines.sku"}


def families() -> frozenset[str]:
    return frozenset(code.partition(".")[0] for code in CODES if "." in code)


def event_names() -> frozenset[str]:
    return frozenset(kind.name for kind in Event.__subclasses__())


def codes_in(tree: ast.AST) -> Iterator[str]:
    """What is given as `code=`, set as `default_code`, or has the shape of a code of a family that there is."""
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="code", value=ast.Constant(value=str(text))) if text:
                yield text
            case ast.Assign(targets=[ast.Name(id="default_code")], value=ast.Constant(value=str(text))):
                yield text
            case ast.Constant(value=str(text)) if SHAPE.fullmatch(text) and text.partition(".")[0] in families():
                if text not in event_names() and text not in NOT_CODES:
                    yield text


def named_codes() -> list[tuple[str, str]]:
    found = {
        (code, path.relative_to(SOURCE).as_posix())
        for path in SOURCE.rglob("*.py")
        if path.name != "codes.py"
        for code in codes_in(ast.parse(path.read_text("utf-8")))
    }
    return sorted(found)


def test_every_code_in_the_source_has_a_row() -> None:
    missing = [f"{code} ({where})" for code, where in named_codes() if code not in CODES]
    assert not missing, "give these codes a row in core/codes.py: " + ", ".join(missing)


def test_the_search_sees_codes_at_all() -> None:
    assert {"tool.input", "store.corrupt", "action.expired", "error"} <= {code for code, _ in named_codes()}


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("raise AppError('x', code='app.other')", "app.other"),
        ("class E(Exception):\n    default_code = 'e.own'", "e.own"),
        ("_refusal('tool.sour', told)", "tool.sour"),
    ],
)
def test_a_new_code_is_seen_wherever_it_is_written(source: str, code: str) -> None:
    assert code in set(codes_in(ast.parse(source)))


def test_every_limit_a_run_can_reach_has_a_row() -> None:
    for name in ("steps", "calls", "tokens", "usd", "seconds", "depth", "cycle"):
        assert f"limit.{name}" in CODES


def test_rows_are_plain_sentences() -> None:
    for code, row in CODES.items():
        for text in row:
            assert text[0].isupper() or text[0] in "`'", (code, text)
            assert text.endswith((".", ")")), (code, text)


def test_a_misspelt_code_finds_its_neighbours() -> None:
    assert nearest("action.expierd")[0] == "action.expired"
    assert "store.corrupt" in nearest("corrupt")
    assert nearest("") == ()
