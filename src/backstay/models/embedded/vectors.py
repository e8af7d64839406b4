"""Cosines of many vectors at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backstay.core.errors import SetupError


def cosines(rows: Sequence[Sequence[float]], columns: Sequence[Sequence[float]]) -> Any:
    """The dot product of each row with each column, as a numpy array of shape (rows, columns).

    Raises:
        SetupError: when the extra is not installed.
    """
    try:
        import numpy
    except ImportError:
        raise SetupError("numpy is not installed. Run: pip install 'backstay[embedded]'") from None
    return numpy.asarray(rows) @ numpy.asarray(columns).T
