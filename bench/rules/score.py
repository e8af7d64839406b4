"""What a part comes to: recall of what can be enforced, what was enforced and not said, advice that was kept.

Rules are compared by what `judge` makes of calls under them, not by how they are written: see `meaning`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.rules.cases import NOW, Case, expected, load_cases, load_tools, read
from bench.rules.meaning import difference


@dataclass(slots=True)
class Score:
    """Counts over the sentences of one part and language."""

    sentences: int = 0
    enforceable: int = 0
    recalled: int = 0
    """Enforceable sentences of which exactly what they say would be enforced."""
    wrong: list[Case] = field(default_factory=list)
    """Sentences of which something would be enforced that they do not say."""
    missed: list[Case] = field(default_factory=list)
    advisory: int = 0
    kept: int = 0
    """Advisory sentences that are kept as such."""
    lost: list[Case] = field(default_factory=list)
    """Advisory sentences that are not."""
    silent: int = 0
    noise: list[Case] = field(default_factory=list)
    """Sentences that limit nothing, kept as advisory all the same: shown for nothing, never enforced."""

    def add(self, case: Case, said: bool, extra: bool, advised: int) -> None:
        """Count one sentence."""
        self.sentences += 1
        if extra:
            self.wrong.append(case)
        if case.kind == "rule":
            self.enforceable += 1
            self.recalled += said and not extra
            if not said:
                self.missed.append(case)
        elif case.kind == "advisory":
            self.advisory += 1
            self.kept += bool(advised) and not extra
            if not advised:
                self.lost.append(case)
        else:
            self.silent += 1
            if advised:
                self.noise.append(case)

    @property
    def recall(self) -> float:
        """Share of the enforceable sentences that are enforced as they are said, 0..1."""
        return self.recalled / self.enforceable if self.enforceable else 1.0


def score(part: str) -> dict[str, Score]:
    """Read every sentence of a part; a score for each language."""
    tools = load_tools(part)
    scores: dict[str, Score] = {}
    for case in load_cases(part):
        wanted = expected(case, tools)
        found, advised = read(case, tools)
        apart = difference(found, wanted, tools, NOW)
        scores.setdefault(case.locale, Score()).add(case, not any(apart), apart.stricter, advised)
    return scores


def rows(part: str, scores: dict[str, Score]) -> Iterable[str]:
    """A line for each language."""
    for locale, one in sorted(scores.items()):
        yield (
            f"{part:<10} {locale:<4} {one.sentences:>4} {one.recalled:>6} of {one.enforceable:<3} {one.recall:>6.1%}"
            f" {len(one.wrong):>6} {one.kept:>6} of {one.advisory:<3} {len(one.noise):>6} of {one.silent}"
        )
