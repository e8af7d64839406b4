"""The tally of a run: counters since its last input, folded from its records one by one, never from a rescan.

Source: SPEC G4, G5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from backstay.agents.output import FINAL
from backstay.core.canon import FrozenDict
from backstay.core.messages import ToolCall, ToolReturn
from backstay.store.records import Reply, Tally
from backstay.tools.toolset import PROPOSE

_HAPPENED = ("ran", "cached", "short_circuited")
_UNCALLED = frozenset({"requirement.refused"})
"""Refusals of calls that count as not made."""
_ENDS: Mapping[str, str] = {"requirement.refused": "requirement.unmet", "model.cut_off": "output.incomplete"}
"""Code of a final answer that was not taken → that of the run that ends because of it."""


def after_reply(before: Tally, body: Reply) -> Tally:
    """The tally once a reply has come. Pure."""
    if body.unmet:
        return replace(before, unmet=before.unmet + 1, code=body.code, reason=body.unmet, is_typed=False)
    calls = body.reply.calls
    if not calls:
        return replace(before, is_typed=body.is_typed) if body.is_typed != before.is_typed else before
    if before.unmet and all(call.name != FINAL for call in calls):
        return replace(before, unmet=0, code="", reason="")
    return before


def after_results(before: Tally, returns: Sequence[ToolReturn], actions: Mapping[str, str]) -> Tally:
    """The tally once the results of a step are there. Pure.

    Args:
        before: as it was.
        returns: of the step.
        actions: id of each waiting action → tool, since a held call of `propose_action` is one of that tool too.
    """
    finals, returns = _parted(returns)
    made = [name for one in returns if one.result.code not in _UNCALLED for name in _names(one, actions)]
    went = [one.name for one in returns if _has_succeeded(one)]
    is_done = bool(went) or any(one.result.via == "held" for one in returns)
    after = before
    if made:
        after = Tally(
            calls=_added(before.calls, made),
            ok=_added(before.ok, went),
            last=tuple(dict.fromkeys(made)),
            last_ok=tuple(dict.fromkeys(went)) if is_done else before.last_ok,
            done=before.done + is_done,
            unmet=before.unmet,
            code=before.code,
            reason=before.reason,
            is_typed=before.is_typed,
        )
    if not finals:
        return after
    if any(_has_succeeded(one) for one in finals):
        return replace(after, unmet=0, code="", reason="", is_typed=True)
    wrong = next((one for one in finals if one.result.code != "output.early"), None)
    if wrong is None:
        return after
    code = _ENDS.get(wrong.result.code or "", "output.invalid")
    return replace(after, unmet=after.unmet + 1, code=code, reason=wrong.result.error or wrong.result.summary)


def after_action(before: Tally, call: ToolCall) -> Tally:
    """The tally once a waiting call was approved and has succeeded. Pure."""
    names = (call.name, PROPOSE) if call.proposed else (call.name,)
    return replace(before, ok=_added(before.ok, names), last_ok=names, done=before.done + 1)


def is_final(returns: Iterable[ToolReturn]) -> ToolReturn | None:
    """The final answer among results, if it was taken."""
    return next((one for one in returns if one.name == FINAL and _has_succeeded(one)), None)


def _parted(returns: Sequence[ToolReturn]) -> tuple[list[ToolReturn], list[ToolReturn]]:
    finals = [one for one in returns if one.name == FINAL]
    return finals, [one for one in returns if one.name != FINAL] if finals else list(returns)


def _has_succeeded(one: ToolReturn) -> bool:
    return one.result.ok and one.result.via in _HAPPENED


def _names(one: ToolReturn, actions: Mapping[str, str]) -> tuple[str, ...]:
    if one.result.via != "held" or not isinstance(one.result.data, Mapping):
        return (one.name,)
    behind = actions.get(str(one.result.data.get("action", "")), one.name)
    return (one.name,) if behind == one.name else (one.name, behind)


def _added(before: Mapping[str, int], names: Iterable[str]) -> Mapping[str, int]:
    counts = dict(before)
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return FrozenDict(counts)
