"""Files of a run on the command line: shown, and saved into a folder and nowhere else."""

from __future__ import annotations

import stat
from pathlib import Path

from cli.command import Command

APP = '''
from backstay import Agent, tool
from backstay.core.files import File
from backstay.models import FunctionModel, call


@tool(risk="read", untrusted=True)
def draw(what: str) -> list[File]:
    """Draw something."""
    return [File("../../../chart.png", b"one"), File("chart.png", b"two"), File("/etc/passwd", b"three")]


agent = Agent(
    FunctionModel(lambda request, ctx: call("draw", what="x") if ctx.step == 1 else "drawn"), tools=[draw], name="a"
)
'''


def test_files_are_in_the_document_and_on_the_screen(backstay: Command) -> None:
    (backstay.folder / "draw.py").write_text(APP)
    document = backstay("run", "draw.py", "draw", "--json").json
    assert [(one["name"], one["mime"], one["size"]) for one in document["artifacts"]] == [
        ("chart.png", "image/png", 3), ("chart.png", "image/png", 3), ("passwd", "application/octet-stream", 5),
    ]  # fmt: skip
    assert document["artifacts"][0]["ref"].startswith("artifact:")
    assert document["artifacts"][0]["trusted"] is False
    assert document["artifacts"][0]["path"] is None
    said = backstay("run", "draw.py", "draw")
    assert f"file chart.png · image/png · 3 bytes · {document['artifacts'][0]['ref']}\n" in said.out


def test_files_are_saved_inside_the_folder_and_over_nothing(backstay: Command) -> None:
    (backstay.folder / "draw.py").write_text(APP)
    out = backstay.folder / "out"
    out.mkdir()
    target = backstay.folder / "target"
    (out / "chart.png").symlink_to(target)
    (out / "chart-2.png").write_text("mine")
    said = backstay("run", "draw.py", "draw", "--json", "--save-artifacts", "out").json
    names = [Path(one["path"]).name for one in said["artifacts"]]
    assert names == ["chart-3.png", "chart-4.png", "passwd"]
    assert [(out / name).read_text() for name in names] == ["one", "two", "three"]
    assert (out / "chart-2.png").read_text() == "mine"
    assert not target.exists()
    assert stat.S_IMODE((out / "passwd").stat().st_mode) == 0o600
    assert {Path(one["path"]).parent for one in said["artifacts"]} == {out}


def test_a_folder_that_cannot_be_is_said_before_anything_runs(backstay: Command) -> None:
    (backstay.folder / "draw.py").write_text(APP)
    (backstay.folder / "taken").write_text("a file")
    said = backstay("run", "draw.py", "draw", "--save-artifacts", "taken")
    assert said.code != 0
    assert "cli.folder" in said.err
    assert not (backstay.folder / ".backstay").exists()
