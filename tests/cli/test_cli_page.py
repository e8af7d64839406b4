"""Every console block of docs/cli.md, run from top to bottom in one folder, says what stands there.

Ids, digests, times, seconds and tokens are others each time: an id that a block prints stands for the one that was
printed. A line `…` stands for any lines.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import ROOT, Command, Said

PAGE = ROOT / "docs/cli.md"
HOME = "/home/ann/shop"
"""Where the page is."""
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGING = re.compile(
    r"(?P<id>\b(?:[a-z]-)?[0-9a-f]{20,64}\b)|(?P<digest>\b[0-9a-f]{12}\b)"
    r"|(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d UTC)|(?P<seconds>\+?\b\d+\.\d{3}(?: s)?)|(?P<gap>  +)|(?P<more>^…$)"
    r"|(?P<tokens>\b\d[\d,]*(?= tokens| in,| out\)|  +0 USD))",
    re.MULTILINE,
)
_AS = {
    "digest": "[0-9a-f]{12}",
    "time": r"\d{4}-\d\d-\d\d \d\d:\d\d UTC",
    "seconds": r"\+?\d+\.\d{1,3}(?: s)?",
    "gap": "  +",
    "tokens": r"\d[\d,]*",
    "more": r"(?:.*\n)*?.*",
}


def sections(page: str) -> dict[str, str]:
    """Heading → text below it, of the sections that show something."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return {name: text for name, text in zip(parts[1::2], parts[2::2], strict=True) if _BLOCK.search(text)}


SECTIONS = sections(PAGE.read_text("utf-8"))


def steps(page: str) -> Iterator[tuple[str, str]]:
    """The commands of a page and what each prints."""
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


class Shop:
    """The folder of the page, and what its ids stand for."""

    def __init__(self, backstay: Command) -> None:
        self.backstay = backstay
        self.ids: dict[str, str] = {}
        self.last = Said(0, "", "")
        self.seen = 0
        """Sections of the page that were run."""

    def read_through(self, name: str) -> None:
        """Check a section, and before it those above that were not run yet: they make what it speaks of."""
        for number, (one, text) in enumerate(SECTIONS.items(), 1):
            if number > self.seen:
                self.seen = number
                self.check_all(text)
            if one == name:
                return

    def run(self, command: str) -> str:
        """Run one line and return what it prints."""
        if command == "echo $?":
            return f"{self.last.code}\n"
        for known, now in self.ids.items():
            command = command.replace(known, now)
        name, *words = shlex.split(command)
        assert name == "backstay", command
        self.last = self.backstay(*words)
        return self.last.out + self.last.err

    def check_all(self, page: str) -> None:
        """Run every line of every block."""
        for command, expected in steps(page):
            self.check(command, expected)

    def check(self, command: str, expected: str) -> None:
        """Run one line and compare; ids that are new are learnt."""
        said = self.run(command).replace(str(self.backstay.folder), HOME)
        pattern, names = self._pattern(expected)
        found = re.fullmatch(pattern, said)
        assert found is not None, f"$ {command}\n--- the page:\n{expected}\n--- now:\n{said}"
        self.ids |= dict(zip(names, found.groups(), strict=True))

    def _pattern(self, expected: str) -> tuple[str, list[str]]:
        parts, names, place = [], list[str](), 0
        for one in _CHANGING.finditer(expected):
            parts.append(re.escape(expected[place : one.start()]))
            place, text = one.end(), one.group()
            if one.lastgroup != "id":
                parts.append(_AS[str(one.lastgroup)])
            elif text in self.ids:
                parts.append(re.escape(self.ids[text]))
            elif text in names:
                parts.append(rf"\{names.index(text) + 1}")
            else:
                names.append(text)
                parts.append("((?:[a-z]-)?[0-9a-f]{8,64})")
        return "".join([*parts, re.escape(expected[place:])]), names


def opened(tmp_path: Path) -> Shop:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    desk = (ROOT / "examples/order_desk/app.py").read_text("utf-8")
    (tmp_path / "draft.py").write_text(desk.replace("at most 200 EUR a refund", "at most 100 EUR a refund"), "utf-8")
    (tmp_path / "handbook.md").write_text("# Refunds\n\nRefunds take five working days.\n", "utf-8")
    command = Command(tmp_path)
    command.env |= {"ORDER_DESK_MODEL": "scripted", "LOGNAME": "ann", "TZ": "UTC"}
    return Shop(command)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Reads the page from top to bottom."""
    return opened(tmp_path_factory.mktemp("page"))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return opened(tmp_path)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_blocks_of_a_section_say_what_their_commands_print(reader: Shop, section: str) -> None:
    reader.read_through(section)


@pytest.mark.parametrize(
    "block",
    [
        "$ backstay explain action.expired\naction.expired\n",
        "$ backstay explain nothing\n…\n$ echo $?\n0\n",
        "$ backstay pending\nnothing waits\n",
    ],
)
def test_a_block_that_does_not_hold_is_found(shop: Shop, block: str) -> None:
    with pytest.raises(AssertionError):
        shop.check_all(f"```console\n{block}```\n")


def test_the_page_shows_each_group_of_commands() -> None:
    shown = {command.split()[1] for command, _ in steps(PAGE.read_text("utf-8")) if command.startswith("backstay")}
    assert {"run", "pending", "decide", "resume", "trace", "audit", "boundary", "grants", "memory", "explain"} <= shown
