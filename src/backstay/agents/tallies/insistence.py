"""Insistence: a model that breaks one rule on one target again and again is stopped, and a person is told.

Counted since the last message of the user, over the runs that answer it. A target is a destination that the call
names; of a call without any, it is the tool. A step is the unit, as for a repetition: calls beside each other count
once, since the model has not seen a refusal between them. Only a `block` rule that was broken counts, never a
question. The row that tells a person holds no run: nothing waits for it, and deciding it says no more than that it
was seen. Source: SPEC B10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backstay.boundary.actions import PendingAction
from backstay.core.messages import ToolReturn

MOST = 3
"""So many breaks of one rule on one target end the run."""
REPORT = "insisted:"
"""Before the rule, in the `rules` of a row that only tells a person something."""


def counted(before: Mapping[str, int], returns: Sequence[ToolReturn]) -> Mapping[str, int]:
    """The breaks by rule and target, those of one more step included. Pure."""
    broken = {f"{rule}\n{target}" for one in returns for rule, target in _broken(one)}
    return {**before, **{key: before.get(key, 0) + 1 for key in broken}} if broken else before


def _broken(one: ToolReturn) -> Iterator[tuple[str, str]]:
    data = one.result.data
    if one.result.code != "constraint.broken" or one.result.via != "refused" or not isinstance(data, Mapping):
        return
    rules, targets = data.get("rules", ()), data.get("targets", ())
    if isinstance(rules, Sequence) and isinstance(targets, Sequence):
        for rule in rules:
            for target in targets or (data.get("tool", one.name),):
                yield str(rule), str(target)


def insisted(breaks: Mapping[str, int]) -> tuple[str, str] | None:
    """Rule and target that the model insists on; None while it does on none."""
    found = next((key for key, count in breaks.items() if count >= MOST), None)
    if found is None:
        return None
    rule, _, target = found.partition("\n")
    return rule, target


def is_report(action: PendingAction) -> bool:
    """Whether the row only tells a person something, so that no decision changes anything."""
    return action.kind == "question" and any(rule.startswith(REPORT) for rule in action.rules)
