"""Repetition: a model that does the same thing again and again is told, then hindered, then stopped.

A run's records fold into a `Repetition`, so a resumed run knows what the first one knew. It begins anew with every
input: a person who says "try again" is heard. Four rules hold.

- **A failed call is not run again.** One tool with the same canonical arguments that failed, whatever its message, is
  refused (`tool.repeated`) while the circuit of what it depends on counts the fault, that is, until somebody's call
  there has succeeded. Arguments that the tool itself refused are not tried again until some other call has succeeded.
  An effect in doubt is not repeated before a person has looked. A failure that the tool returns as a result of its own,
  without a code, is an answer and no fault.
- **The same step three times in a row**: the same calls with the same results, refusals included. The third result says
  so, its tools are withheld from the next request, and if the same comes again after that the run ends `stopped`
  (`run.repeating`). A changed argument, another result or any other call in between begins a new row.
- **Three steps in a row in which a tool was called with wrong arguments and no call succeeded**: likewise, for that
  tool alone.
- **Equal calls beside each other that change something run once.** A model writes one call twice more often than it
  wants it done twice; the second is refused (`tool.twin`), and may be made again when the first one's result is known.

A step is the unit: equal calls beside each other count once, since the model has not seen a result between them.
Polling is legitimate. A tool that is asked "is it ready?" three times in a row without any change is told to the model
like any other, since asking a fourth time at once costs a step and cannot help; what waits should wait in the tool, or
between two looks do something else. A row that comes a second time in one run is not warned of again. Source: SPEC T6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from backstay.boundary.judge import call_digest
from backstay.core.canon import FrozenDict, digest
from backstay.core.codes import CODES
from backstay.core.context import Verdict
from backstay.core.messages import ToolCall, ToolResult, ToolReturn
from backstay.store.records import Repetition
from backstay.tools.toolset import PROPOSE

IN_A_ROW = 3
"""So many times the same is told; after one step without the tool it ends the run."""

Failure: TypeAlias = Literal["fault", "input", "doubt"]
Keys: TypeAlias = tuple[tuple[str, str], ...]
"""For each call of a step: digest of tool and canonical arguments, digest of what came of it."""

_ARGUMENTS = frozenset({"tool.input", "tool.unknown", "tool.high", "constraint.broken"})
"""Refusals that speak of what the model wrote; codes of a tool's own do too."""
_OURS = frozenset({"tool.repeated", "tool.withheld"})
_REPEATED: Mapping[str, str] = {
    "fault": "failed with exactly these arguments before, so it was not run again; change them, do something else, or"
    " answer with what is known.",
    "input": "refused exactly these arguments before, so it was not run again; change them as it said then.",
    "doubt": "was begun with exactly these arguments, and it is not known whether it took effect; a person will look,"
    " so it was not run again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a call does not run, as the model reads it."""

    code: str
    message: str


def key_of(call: str, result: ToolResult) -> tuple[str, str]:
    """What a call and its result are told by. Failures are equal, whatever they say."""
    came = [True, result.summary if result.data is None else result.data] if result.ok else [False]
    return call, digest(came)


def failure_of(result: ToolResult) -> Failure | None:
    """What kind of failure would make running the same call again useless; None if it is none."""
    if result.ok:
        return None
    if result.via == "in_doubt":
        return "doubt"
    if result.via == "ran":
        return "fault" if result.code is not None else None
    is_final = result.via == "refused" and not result.retryable
    return "input" if is_final and (result.code == "tool.input" or result.code not in CODES) else None


class Watch:
    """What a drive knows beside the records: which calls the step at work makes, and what of them has just failed."""

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}
        self._failed: dict[str, Failure] = {}

    def refusal(self, before: Repetition, step: int, verdict: Verdict, *, is_counted: bool) -> Refusal | None:
        """Whether a call of this step may not run because it repeats what did not help.

        Args:
            before: what the run's records say.
            step: the step at work.
            verdict: what the boundary says of it; what is refused or asked anyhow is not looked up.
            is_counted: whether the circuit of what the tool depends on still counts an earlier fault.
        """
        call = verdict.call
        if verdict.digest:
            self._digests.setdefault(call.slot, verdict.digest)
        name = PROPOSE if call.proposed else call.name
        if verdict.outcome != "deny" and before.withheld_step == step and name in before.withheld:
            return Refusal(code="tool.withheld", message=f"{name} is not offered in this step. Do something else.")
        if verdict.outcome == "allow" and verdict.risk != "read" and self._is_twin(verdict):
            told = f"{call.name} stands in this step with exactly these arguments already, so this one did not run. If"
            return Refusal(code="tool.twin", message=f"{told} it has to be done twice, call it again in the next step.")
        kind = self._failed.get(verdict.digest) or before.failed.get(verdict.digest)
        if kind is None or verdict.outcome != "allow" or (kind == "fault" and not is_counted):
            return None
        return Refusal(code="tool.repeated", message=f"{call.name} {_REPEATED[kind]}")

    def _is_twin(self, verdict: Verdict) -> bool:
        return any(slot < verdict.call.slot for slot, one in self._digests.items() if one == verdict.digest)

    def ended(self, call: ToolCall, result: ToolResult) -> None:
        """A call of the step has its result, which the records do not tell before the step is over."""
        kind = failure_of(result)
        if kind is not None and call.slot in self._digests:
            self._failed[self._digests[call.slot]] = kind

    def keys(self, calls: Sequence[ToolCall], returns: Sequence[ToolReturn]) -> Keys:
        """What the calls of the step that ends are told by."""
        named = [self._digests.get(call.slot) or _digest_of(call) for call in calls]
        self._digests.clear()
        self._failed.clear()
        return tuple(key_of(call, one.result) for call, one in zip(named, returns, strict=True))


def _digest_of(call: ToolCall) -> str:
    """Of a call that was never judged: by what the model wrote."""
    return call_digest(call.name, call.args if call.raw is None else call.raw)


def follow(before: Repetition, step: int, returns: Sequence[ToolReturn], keys: Keys) -> Repetition:
    """What the results of a step make of it. Pure; `keys` has one entry for each result."""
    was_withheld = before.withheld_step == step
    calls, outcome = _told_by(keys, 0), _told_by(keys, 1)
    is_same = calls == before.calls and (was_withheld or outcome == before.outcome)
    same = before.same + 1 if is_same else 1
    wrong = dict(_wrong(before, returns))
    names = tuple(dict.fromkeys(one.name for one in returns))
    withheld, warned, over = set[str](), list(before.warned), ""
    for row, count, concerned in ((calls, same, names), *((name, count, (name,)) for name, count in wrong.items())):
        if count < IN_A_ROW:
            continue
        if row not in warned:
            warned.append(row)
            withheld.update(concerned)
        elif not was_withheld:
            over = _over(concerned, count, is_wrong=row in wrong)
    return Repetition(
        failed=FrozenDict(_failed(before.failed, returns, keys)),
        calls=calls,
        outcome=before.outcome if is_same else outcome,
        same=same,
        wrong=FrozenDict(wrong),
        withheld=tuple(sorted(withheld)),
        withheld_step=step + 1 if withheld else 0,
        warned=tuple(warned),
        over=over,
    )


def _told_by(keys: Keys, place: int) -> str:
    """What the calls of a step, or their results, are told by: one by its own digest."""
    return keys[0][place] if len(keys) == 1 else digest(sorted({key[place] for key in keys}))


def _failed(before: Mapping[str, str], returns: Sequence[ToolReturn], keys: Keys) -> dict[str, str]:
    has_changed = any(one.result.ok and one.result.via == "ran" for one in returns)
    failed = {call: kind for call, kind in before.items() if kind != "input" or not has_changed}
    for one, (call, _) in zip(returns, keys, strict=True):
        kind = failure_of(one.result)
        if kind is not None:
            failed[call] = kind
        elif one.result.ok:
            failed.pop(call, None)
    return failed


def _wrong(before: Repetition, returns: Sequence[ToolReturn]) -> Iterator[tuple[str, int]]:
    if any(one.result.ok for one in returns):
        return
    for name in dict.fromkeys(one.name for one in returns):
        count = before.wrong.get(name, 0)
        results = [one.result for one in returns if one.name == name]
        if all(_is_wrong(one) or (count and one.code in _OURS) for one in results):
            yield name, count + 1


def _is_wrong(result: ToolResult) -> bool:
    return result.via == "refused" and (result.code in _ARGUMENTS or failure_of(result) == "input")


def _over(names: Sequence[str], count: int, *, is_wrong: bool) -> str:
    if is_wrong:
        return f"the model called {names[0]} with wrong arguments {count} times in a row"
    what = "the same call of" if len(names) == 1 else "the same calls of"
    return f"the model made {what} {', '.join(names)} {count} times in a row and got the same result"


def noted(before: Repetition, step: int, returns: Sequence[ToolReturn], keys: Keys) -> tuple[ToolReturn, ...]:
    """The results as the model reads them: the third in a row says what happens next. `data` stays as it is."""
    if before.same + 1 < IN_A_ROW and max(before.wrong.values(), default=0) + 1 < IN_A_ROW:
        return tuple(returns)
    after = follow(before, step, returns, keys)
    return tuple(_noted(one, after) if one.name in after.withheld else one for one in returns)


def _noted(one: ToolReturn, after: Repetition) -> ToolReturn:
    what = (
        f"the arguments of {one.name} were wrong {IN_A_ROW} times in a row"
        if after.wrong.get(one.name, 0) >= IN_A_ROW
        else f"the same call gave the same result {after.same} times in a row"
    )
    note = f"Note: {what}. {one.name} is not offered in the next step; do something else, or answer with what is known."
    return replace(one, result=replace(one.result, summary=f"{one.result.summary}\n{note}"))


def forget(before: Repetition, call: str) -> Repetition:
    """A person has looked: the call that was in doubt did not take effect and may be made again."""
    failed = {one: kind for one, kind in before.failed.items() if one != call}
    return replace(before, failed=FrozenDict(failed))
