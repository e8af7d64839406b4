"""The run of `make mutants` makes the mistakes that it says, one at a time, and knows what it has tried."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from bench.mutants.near import PACKAGE, files_near, modules
from bench.mutants.operators import applied, mutants_of
from bench.mutants.results import Results, explained

ROOT = Path(__file__).parents[2]
GUARD = '''
def may(amount: int, limit: int, name: str) -> bool:
    """Whether it may be."""
    if amount > limit and not name.strip():
        raise ValueError("it is too much")
    return amount == 0
'''


def changed(source: str) -> set[tuple[str, str]]:
    return {(one.before, one.after) for one in mutants_of("boundary/guard.py", source)}


def test_each_part_of_a_guard_is_taken_away_and_each_border_moved() -> None:
    test = "amount > limit and (not name.strip())"
    assert changed(GUARD) == {
        (f"if {test}", "if False"),
        (f"if {test}", "if True"),
        (test, "not name.strip()"),
        (test, "amount > limit"),
        ("amount > limit", "amount >= limit"),
        ("name.strip()", "name"),
        ("raise ValueError('it is too much')", "pass"),
        ("return amount == 0", "return True"),
        ("return amount == 0", "return False"),
        ("amount == 0", "amount != 0"),
        ("0", "1"),
    }


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("def f(a):\n    return [one for one in a if one]", "for one in a"),
        ("def f(a):\n    return any(a)", "all(a)"),
        ("def f(a):\n    return 1 if a else 2", "2"),
        ("def f(a):\n    a = a or 1\n    return a", "pass"),
        ("def f(a):\n    for one in a:\n        continue", "pass"),
        ("def f(a, b):\n    return a | b", "a & b"),
        ("ROW = {'op': True}", "False"),
        ("ROW = {'op': True}", "'opx'"),
    ],
)
def test_it_makes_this_mistake(source: str, after: str) -> None:
    assert after in {one.after for one in mutants_of("boundary/guard.py", source)}


@pytest.mark.parametrize(
    "source",
    [
        "import os\nfrom a import b",
        '"""Words."""\n\n\nclass A:\n    """Words."""\n\n    x: int\n    """Words."""',
        'def f(a: "Literal[1]") -> int | None: ...',
        "Kind: TypeAlias = Literal['a', 'b']",
        "told = f'{a} is not {b}'",
        "told = 'A sentence for a reader.'",
    ],
)
def test_what_only_readers_and_type_checkers_see_is_left_alone(source: str) -> None:
    assert [one for one in mutants_of("boundary/guard.py", source) if one.before != "..."] == []


def test_a_mutant_is_one_change_to_a_module_that_can_be_read() -> None:
    source = (ROOT / PACKAGE / "boundary/rules.py").read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(source)).splitlines()
    for mutant in mutants_of("boundary/rules.py", source):
        tree = applied(mutant, source)
        compile(tree, "rules.py", "exec")
        assert ast.unparse(tree).splitlines() != plain, mutant


def test_an_id_survives_moved_lines() -> None:
    ids = [one.id for one in mutants_of("boundary/guard.py", GUARD)]
    assert len(set(ids)) == len(ids)
    assert [one.id for one in mutants_of("boundary/guard.py", f"import os\n\n\n{GUARD}")] == ids


def test_a_result_stands_until_the_module_or_the_tests_in_question_change(tmp_path: Path) -> None:
    for name in ("guard.py", "test_a.py", "test_b.py"):
        (tmp_path / name).write_text("1")
    files = ["test_a.py", "test_b.py"]
    results = Results(tmp_path / "kept" / "results.jsonl", tmp_path)
    results.add("killed", "guard.py", files, killed_by="test_a.py::test_it", ran=1)
    results.add("survived", "guard.py", files, killed_by="", ran=1)
    again = Results(tmp_path / "kept" / "results.jsonl", tmp_path)
    assert again.known("survived", "guard.py", files) is not None
    (tmp_path / "test_b.py").write_text("2")
    assert again.known("killed", "guard.py", files) is not None
    assert again.known("survived", "guard.py", files) is None
    (tmp_path / "test_a.py").write_text("2")
    assert again.known("killed", "guard.py", files) is None
    results.add("killed", "guard.py", files, killed_by="test_a.py::test_it", ran=1)
    (tmp_path / "guard.py").write_text("2")
    assert results.known("killed", "guard.py", files) is None
    assert again.forget_survivors() == {"survived"}
    assert again.forget_survivors() == frozenset()


def test_every_module_and_every_near_test_is_there() -> None:
    for module in modules(ROOT):
        assert (ROOT / PACKAGE / module).is_file()
        assert all((ROOT / one).is_file() for one in files_near(ROOT, module))


def test_what_is_explained_has_a_reason() -> None:
    assert all(len(id) == 10 and why.strip() for id, why in explained().items())
