"""Tidy a folder: exactly the proposed files go, and only once a person has said so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import ROOT, Command

APP = str(ROOT / "examples/tidy_folder/app.py")
KEPT = {"notes.md", "photos/beach.jpg", "drafts/offer.md"}
TEMPORARY = {"report.tmp", "drafts/offer.tmp", "drafts/old/cache.temp", "notes.md~"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "stuff"
    for name in KEPT | TEMPORARY:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def files(folder: Path) -> set[str]:
    return {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("wish", ["get rid of the temporary files", "把临时文件清理掉"])
def test_only_the_proposed_files_go_and_only_after_the_decision(backstay: Command, folder: Path, wish: str) -> None:
    env = {"TIDY_FOLDER": str(folder)}
    said = backstay("run", APP, wish, **env)
    assert said.code == 3
    (action,) = backstay.pending()
    assert set(action["args"]["paths"]) == TEMPORARY
    assert "cannot be undone" in said.out
    assert files(folder) == KEPT | TEMPORARY

    (folder / "late.tmp").write_text("came after the question")
    said = backstay("decide", action["id"], "--approve", "--execute", "--app", APP, **env)
    assert said.code == 0
    assert files(folder) == KEPT | {"late.tmp"}
    assert backstay("resume", action["run_id"], "--app", APP, **env).code == 0
    assert files(folder) == KEPT | {"late.tmp"}


def test_a_refusal_deletes_nothing(backstay: Command, folder: Path) -> None:
    env = {"TIDY_FOLDER": str(folder)}
    backstay("run", APP, "clean up, please", **env)
    (action,) = backstay.pending()
    said = backstay("decide", action["id"], "--deny", "--execute", "--app", APP, **env)
    assert said.code == 0
    assert "It has not happened" in said.out
    assert files(folder) == KEPT | TEMPORARY


def test_a_file_that_has_gone_meanwhile_stops_the_whole_deletion(backstay: Command, folder: Path) -> None:
    env = {"TIDY_FOLDER": str(folder)}
    backstay("run", APP, "get rid of the temporary files", **env)
    (action,) = backstay.pending()
    (folder / "report.tmp").unlink()
    said = backstay("decide", action["id"], "--approve", "--execute", "--app", APP, **env)
    assert said.code != 0
    assert "report.tmp" in said.out
    assert files(folder) == KEPT | TEMPORARY - {"report.tmp"}


def test_without_a_folder_there_is_one_to_play_with(backstay: Command) -> None:
    said = backstay("run", APP, "get rid of the temporary files")
    assert said.code == 3
    (action,) = backstay.pending()
    assert action["targets"] == ["drafts/offer.tmp", "drafts/old/cache.temp", "report.tmp"]


def test_nothing_to_delete_asks_nobody(backstay: Command, tmp_path: Path) -> None:
    (tmp_path / "tidy").mkdir()
    said = backstay("run", APP, "tidy up", TIDY_FOLDER=str(tmp_path / "tidy"))
    assert said.code == 0
    assert "There are no temporary files." in said.out
    assert backstay.pending() == []
