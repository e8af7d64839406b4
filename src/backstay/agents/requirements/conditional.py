"""`ConditionalRequirement`: when a tool may, must or must no longer be called. Source: SPEC G5; K1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backstay.agents.requirements.rule import Rule, StepView
from backstay.agents.requirements.targets import Target, Targets, find, find_one
from backstay.core.errors import RequirementError
from backstay.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class ConditionalRequirement:
    """A tool's place in a run: from when, until when, how often, after what.

    Counters begin with every input. Where no condition speaks, the tool is offered like any other.

    Raises:
        RequirementError: for numbers that contradict each other; for targets when the agent is made.
    """

    target: Target
    """The tool it is about: its name, its class, or the tool itself."""
    force_at_step: int | None = field(default=None, kw_only=True)
    """Must be called in this step, from 1, and until a call has succeeded or waits for a person."""
    force_after: Targets = field(default=(), kw_only=True)
    """Must be called right after any of these. A class matches all tools of it but the target itself."""
    only_before: Targets = field(default=(), kw_only=True)
    """May no longer be called once any of these has been."""
    only_after: Targets = field(default=(), kw_only=True)
    """May be called once all of these have been."""
    min_invocations: int = field(default=0, kw_only=True)
    """The run may not end before so many calls."""
    max_invocations: int | None = field(default=None, kw_only=True)
    """May be called so many times; 0: never. None: any number of times."""
    consecutive_allowed: bool = field(default=True, kw_only=True)
    """False: not twice in a row, nor twice in one step."""
    only_success_invocations: bool = field(default=True, kw_only=True)
    """Whether all of the above counts only calls that succeeded; a failed, denied or waiting one has not."""
    custom_checks: Sequence[Callable[[StepView], bool]] = field(default=(), kw_only=True)
    """May be called only while all of these are true; pure functions."""
    priority: int = field(default=10, kw_only=True)
    enabled: bool = field(default=True, kw_only=True)
    reason: str = field(default="", kw_only=True)
    """Told to the model in place of the framework's own words."""

    def __post_init__(self) -> None:
        self._check(self.force_at_step is None or self.force_at_step >= 1, "force_at_step counts from 1")
        self._check(self.min_invocations >= 0, "min_invocations is below 0")
        self._check(self.max_invocations is None or self.max_invocations >= 0, "max_invocations is below 0")
        most = self.max_invocations
        self._check(most is None or most >= self.min_invocations, "max_invocations is below min_invocations")

    @property
    def name(self) -> str:
        """As errors list it: the kind and its target."""
        shown = self.target.name if isinstance(self.target, Tool) else getattr(self.target, "__name__", self.target)
        return f"ConditionalRequirement({shown})"

    def bind(self, tools: Sequence[Tool]) -> ConditionalRequirement:
        """A copy with the names of this agent's tools.

        Raises:
            RequirementError: for a target that is not there, or the same tool where it cannot be.
        """
        target = find_one(self.target, tools, self.name)
        before, after = (self._others(target, one, tools) for one in (self.only_before, self.only_after))
        follows = self._others(target, self.force_after, tools)
        self._check(not set(before) & set(after), "a tool is in only_before and in only_after")
        self._check(not set(before) & set(follows), "a tool is in only_before and in force_after")
        return replace(self, target=target, only_before=before, only_after=after, force_after=follows)

    def rules(self, view: StepView) -> tuple[Rule, ...]:
        """Its one rule, or none while it is not enabled."""
        if not self.enabled:
            return ()
        counted, last = (view.ok, view.last_ok) if self.only_success_invocations else (view.calls, view.last)
        name = self._bound(self.target)
        used = counted.get(name, 0)
        refusal = self._refusal(view, counted, name in last, used)
        forced = not refusal and self._is_forced(view, last)
        lacking = self.min_invocations - used
        return (
            Rule(
                target=name,
                allowed=not refusal,
                forced=forced,
                prevent_stop=lacking > 0,
                most=self._most(used),
                reason=self.reason or refusal or self._held_up(name, lacking, forced),
            ),
        )

    def _refusal(self, view: StepView, counted: Mapping[str, int], was_last: bool, used: int) -> str:
        """Why the tool may not be called, in words; empty if it may."""
        lacking = [one for one in self._names(self.only_after) if not counted.get(one)]
        if lacking:
            return f"first {', '.join(lacking)}"
        over = [one for one in self._names(self.only_before) if counted.get(one)]
        if over:
            return f"no longer after {', '.join(over)}"
        if self.max_invocations is not None and used >= self.max_invocations:
            return f"at most {self.max_invocations} times" if self.max_invocations else "not in this run"
        if was_last and not self.consecutive_allowed:
            return "not twice in a row"
        return "" if all(check(view) for check in self.custom_checks) else "not yet"

    def _is_forced(self, view: StepView, last: tuple[str, ...]) -> bool:
        step = view.done + 1 if self.only_success_invocations else view.step
        return step == self.force_at_step or any(one in last for one in self._names(self.force_after))

    def _most(self, used: int) -> int | None:
        left = None if self.max_invocations is None else max(self.max_invocations - used, 0)
        return left if self.consecutive_allowed else 1 if left is None else min(left, 1)

    @staticmethod
    def _held_up(name: str, lacking: int, forced: bool) -> str:
        if forced:
            return f"{name} has to be called now"
        return f"{name} has to be called {lacking} more times" if lacking > 1 else f"{name} has to be called first"

    def _others(self, target: str, given: Targets, tools: Sequence[Tool]) -> tuple[str, ...]:
        """Names of the tools that stand beside the target; only a class may match the target too, which is left out."""
        several = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
        for one in several:
            named = one if isinstance(one, str) else one.name if isinstance(one, Tool) else None
            self._check(named != target, f"{target!r} stands beside itself")
        return tuple(name for name in find(given, tools, self.name) if name != target)

    def _check(self, is_right: bool, told: str) -> None:
        if not is_right:
            raise RequirementError(f"{self.name}: {told}")

    @staticmethod
    def _bound(target: Target) -> str:
        if not isinstance(target, str):
            raise RequirementError(f"{target!r} is not bound to an agent's tools yet; call bind(tools) first")
        return target

    def _names(self, given: Targets) -> Sequence[str]:
        several = (given,) if isinstance(given, str) or not isinstance(given, Sequence) else given
        return [self._bound(one) for one in several]
