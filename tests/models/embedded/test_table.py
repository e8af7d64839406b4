"""The encoder's table in a file: the same vectors, less memory, and never a file that is not the pinned one."""

from __future__ import annotations

from pathlib import Path

import pytest

from backstay.models.embedded.encoder import SentenceEncoder
from backstay.models.embedded.table import SHA256, Rows

TEXTS = ["The parcel is lost", "包裹丢了", "x", "1001"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BACKSTAY_MODELS", str(tmp_path))
    return tmp_path / f"encoder.{SHA256[:12]}.table"


def vectors() -> list[list[float]]:
    return [[float(one) for one in vector] for vector in SentenceEncoder().encode(TEXTS)]


def table_of(encoder: SentenceEncoder) -> object:
    return encoder._loaded()._model.table


def test_the_first_load_keeps_the_table_and_the_next_reads_rows_of_it(place: Path) -> None:
    first = vectors()
    assert place.stat().st_size == 65_541_120
    assert isinstance(table_of(SentenceEncoder()), Rows)
    assert vectors() == first


def test_a_changed_table_is_not_used_and_replaced(place: Path) -> None:
    first = vectors()
    with place.open("r+b") as target:
        target.write(b"\xff" * 512)
    assert not isinstance(table_of(SentenceEncoder()), Rows)
    assert vectors() == first
    assert isinstance(table_of(SentenceEncoder()), Rows)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("BACKSTAY_MODELS", str(tmp_path / "taken" / "models"))
    assert len(vectors()[0]) == 512
