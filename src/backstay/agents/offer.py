"""What the next request offers: tools, `tool_choice`, the words about what is not allowed, and whether the run may end.

A pure function of the agent and of what its records fold into, so that a resumed step has the same offer. Calls that it
does not hold are refused before they reach a tool. Source: SPEC G4, G5, G6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from backstay.agents.definition import Definition
from backstay.agents.output import FINAL, How
from backstay.agents.own_tools.catalogue import RECALL
from backstay.agents.own_tools.plan import unoffered
from backstay.agents.own_tools.questions import ASK_USER
from backstay.agents.requirements import Combined, Ruled, StepView, combine, rules_of
from backstay.agents.requirements.targets import known_targets
from backstay.agents.run_state import RunState
from backstay.agents.state import SessionState
from backstay.core.canon import EMPTY
from backstay.core.errors import OutputError
from backstay.core.messages import Args, Label, ModelReply, ToolCall
from backstay.models.model import ModelProfile
from backstay.tools.toolset import PROPOSE, proposed_name

Refusal = tuple[str, str]
"""Code and words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What one step may do."""

    names: frozenset[str]
    """Of the tools in the request."""
    actions: frozenset[str] | None = None
    """What may be proposed; None: all there is."""
    choice: str = "auto"
    schema: Args | None = None
    """What a reply without calls has to be JSON of."""
    note: str = ""
    """What is not allowed now and why, for the model."""
    unmet: str = ""
    """Why the run may not end in this step; empty if it may."""
    ask: frozenset[str] = frozenset()
    """Tools for which a person is asked."""
    refused: Mapping[str, str] = EMPTY
    most: Mapping[str, int] = EMPTY

    def refusals(self, calls: Sequence[ToolCall]) -> dict[int, Refusal]:
        """Slot → why that call may not run, for the calls of one reply in their order."""
        found: dict[int, Refusal] = {}
        made: dict[str, int] = {}
        is_alone = all(call.name == FINAL for call in calls)
        for call in calls:
            told = self._refusal(call, made, is_alone)
            if told is not None:
                found[call.slot] = told
        return found

    def _refusal(self, call: ToolCall, made: dict[str, int], is_alone: bool) -> Refusal | None:
        names = (PROPOSE, proposed_name(call)) if call.name == PROPOSE else (call.name,)
        for name in names:
            if name in self.refused:
                return "requirement.refused", f"{name} is not allowed in this step: {self.refused[name]}."
            made[name] = made.get(name, 0) + 1
            if name in self.most and made[name] > self.most[name]:
                return "requirement.refused", f"{name} may be called {self.most[name]} times in this step, not more."
        if call.name == FINAL:
            if self.unmet:
                return "requirement.refused", f"The run may not end yet: {self.unmet}."
            if not is_alone or made[FINAL] > 1:
                return "output.early", "Give one final answer by itself, when the results of the other calls are known."
        return None


def make_offer(definition: Definition, profile: ModelProfile, run: RunState, step: int, session: SessionState) -> Offer:
    """The offer of a step.

    Args:
        definition: the agent.
        profile: of the model that is asked.
        run: its state before the step.
        step: number of the step in its run.
        session: with what it has to recall, its label and its plan.

    Raises:
        RequirementError: when the requirements leave nothing to do, or one of them raises.
    """
    repetition, names = run.repetition, definition.toolset.names
    withheld = frozenset(repetition.withheld if repetition.withheld_step == step else ())
    how = definition.output.how(profile)
    gone = withheld | _useless(session, run) | (frozenset() if how == "tool" else {FINAL})
    if not definition.requirements:
        if how == "text":
            return Offer(names=names - gone)
        return _held_to_type(definition, how, names - gone)
    said = combine(
        _with_actions(rules_of(definition.requirements, _view(run, step, session.label)), definition),
        [name for name in known_targets(tuple(definition.toolset)) if name not in gone and name != FINAL],
        may_be_empty=bool(withheld),
    )
    return _offer_of(definition, how, said, gone)


def _useless(session: SessionState, run: RunState) -> frozenset[str]:
    """The framework's own tools that could do nothing now."""
    gone = frozenset[str]() if session.has_refs else frozenset({RECALL})
    if run.input is not None and run.input.presence == "unattended":
        gone |= {ASK_USER}
    return gone | unoffered(session.label, session.plan)


def _with_actions(ruled: Sequence[Ruled], definition: Definition) -> Sequence[Ruled]:
    """What is refused of `propose_action` is refused of every action behind it."""
    refusing = [each for each in ruled if each.rule.target == PROPOSE and (not each.rule.allowed or each.rule.hidden)]
    if not refusing:
        return ruled
    return [
        *ruled,
        *(
            each._replace(rule=replace(each.rule, target=one))
            for each in refusing
            for one in definition.toolset.actions
        ),
    ]


def _view(run: RunState, step: int, label: Label) -> StepView:
    tally = run.tally
    return StepView(
        step=step - run.since_step,
        calls=tally.calls,
        ok=tally.ok,
        last=tally.last,
        last_ok=tally.last_ok,
        done=tally.done,
        label=label,
    )


def _held_to_type(definition: Definition, how: How, names: frozenset[str]) -> Offer:
    if how == "schema":
        return Offer(names=names, schema=definition.output.schema)
    return Offer(names=names, choice="auto" if definition.output.takes_text else _needed(names))


def _offer_of(definition: Definition, how: How, said: Combined, gone: frozenset[str]) -> Offer:
    actions = frozenset(definition.toolset.actions)
    may = _actions(said, actions)
    shown = frozenset(said.allowed) - actions - {PROPOSE} | ({PROPOSE} if may else frozenset())
    is_tool = how == "tool" and not said.unmet
    names = (shown | {FINAL} if is_tool else shown) - gone
    passed = may | {PROPOSE} if may else may  # what stands beside a forced one only in the list
    return Offer(
        names=names,
        actions=may,
        choice=_choice(said, actions, names, must=bool(said.unmet) or (is_tool and not definition.output.takes_text)),
        schema=definition.output.schema if how == "schema" and not said.unmet else None,
        note=_note(said),
        unmet=said.unmet,
        ask=said.ask,
        refused={name: why for name, why in said.refused.items() if name not in passed},
        most=said.most,
    )


def _actions(said: Combined, actions: frozenset[str]) -> frozenset[str]:
    """What may be proposed: a forced action alone, all that are free where `propose_action` itself is."""
    if said.forced in actions:
        return actions & {said.forced}
    return actions & said.free if PROPOSE in said.allowed else frozenset()


def _choice(said: Combined, actions: frozenset[str], names: frozenset[str], *, must: bool) -> str:
    if said.forced is not None:
        return f"tool:{PROPOSE if said.forced in actions else said.forced}"
    return _needed(names) if must else "auto"


def _needed(names: frozenset[str]) -> str:
    """The choice by which a model has to call one of these."""
    if not names:
        return "auto"
    return f"tool:{next(iter(names))}" if len(names) == 1 else "required"


def _note(said: Combined) -> str:
    """What the model is told of this step, byte-equal for equal rules."""
    lines = [f"{name} is not allowed now: {why}." for name, why in said.told.items()]
    if said.forced is not None:
        lines.append(f"Call {said.forced} now.")
    elif said.unmet:
        lines.append(f"Do not end yet: {said.unmet}.")
    return " ".join(lines)


def why_no_end(definition: Definition, offer: Offer, reply: ModelReply) -> tuple[str, str, bool]:
    """Why a reply without calls does not end the run, as code and words, and whether it is of the output type."""
    if offer.unmet:
        return "requirement.unmet", f"The run may not end yet: {offer.unmet}.", False
    output = definition.output
    if output.is_text:
        return "", "", False
    if offer.schema is None:
        if output.takes_text:
            return "", "", False
        return "output.invalid", f"Give the answer by calling {FINAL}; words alone are not taken.", False
    if reply.finish == "length":
        return "output.incomplete", "The answer was cut off at the token limit, so it is not whole. Be shorter.", False
    try:
        output.read(reply.text)
    except OutputError as error:
        return error.code, error.message, False
    return "", "", True
