"""Every Python block of README, docs and docstrings runs offline and prints what it says; links lead somewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def _named(example: CodeExample) -> str:
    return f"{example.path.relative_to(ROOT)}:{example.start_line}"


EXAMPLES = [
    pytest.param(example, id=_named(example))
    for example in find_examples(ROOT / "README.md", ROOT / "docs", ROOT / "src")
    if example.prefix in ("py", "python")
]


def _check(example: CodeExample, runner: EvalExample, *, update: bool) -> None:
    """Run a block. Its error is told in words, because a traceback into a page breaks the report."""
    runner.set_config(line_length=120)
    try:
        if update:
            runner.run_print_update(example)
        else:
            runner.run_print_check(example)
    except Exception as error:
        told = f"{example.path.name}:{example.start_line}: {type(error).__name__}: {error}"
        raise pytest.fail.Exception(told, pytrace=False) from None


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_python_block_runs_and_prints_what_it_says(example: CodeExample, eval_example: EvalExample) -> None:
    before = dict(os.environ)
    try:
        _check(example, eval_example, update=eval_example.update_examples)
    finally:  # an example may set a variable; the next test must not find it
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.parametrize("block", ["print(1 + 1)\n#> 3\n", "print(1 + 1)\n", "1 / 0\n"])
def test_a_block_that_does_something_else_is_found(tmp_path: Path, eval_example: EvalExample, block: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\n{block}```\n")
    (example,) = find_examples(page)
    with pytest.raises(pytest.fail.Exception):
        _check(example, eval_example, update=False)


def test_the_pages_have_examples() -> None:
    pages = {str(case.id).partition(":")[0] for case in EXAMPLES}
    assert {"README.md", "docs/boundary.md", "docs/tools.md", "docs/runs.md"} <= pages


def _links(page: Path) -> Iterator[str]:
    text = _CODE.sub("", _FENCE.sub("", page.read_text("utf-8")))
    for target in _LINK.findall(text):
        if not re.match(r"[a-z][a-z0-9+.-]*:", target):
            yield target


def _anchors(page: Path) -> set[str]:
    """The anchors that a forge makes of the headings of a page."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _broken(page: Path) -> list[str]:
    found = []
    for link in _links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            found.append(f"{page.name}: {link} leads nowhere")
        elif anchor and target.suffix == ".md" and anchor not in _anchors(target):
            found.append(f"{page.name}: {link} names no heading of {target.name}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert _broken(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One heading\n[a](nowhere.md) [b](#one-heading) [c](#other) `[d](code.md)`\n")
    assert _broken(page) == ["page.md: nowhere.md leads nowhere", "page.md: #other names no heading of page.md"]
