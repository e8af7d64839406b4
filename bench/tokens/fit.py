"""Fit the weights of the estimator: non-negative least squares over the first half of each corpus, relative errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from backstay.memory.estimator import features

ROUNDS = 4_000


def halves(texts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What is fitted to, and what is measured on."""
    middle = len(texts) // 2
    return texts[:middle], texts[middle:]


def fit(corpora: Mapping[str, Sequence[str]], count: Callable[[str], int]) -> list[float]:
    """Weights of the classes that make the sum of squared relative errors small; every corpus counts the same."""
    rows: list[list[float]] = []
    for texts in corpora.values():
        mine, _ = halves(texts)
        for text in mine:
            true = count(text)
            share = 1 / max(true, 8) / len(mine) ** 0.5
            rows.append([one * share for one in features(text)] + [true * share])
    table = np.array(rows)
    return [round(float(one), 3) for one in _nnls(table[:, :-1], table[:, -1])]


def _nnls(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Coordinate descent; the problem is convex and has 16 unknowns."""
    gram, target = a.T @ a, a.T @ b
    x = np.zeros(a.shape[1])
    for _ in range(ROUNDS):
        for n in range(len(x)):
            if gram[n, n] > 0:
                x[n] = max(0.0, x[n] + (target[n] - gram[n] @ x) / gram[n, n])
    return x
