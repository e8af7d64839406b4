"""What the user wants in this turn: the wishes of the message, and for each the tool by which it is served.

A tool is chosen by itself, as a follow-up, or as the answer to a question; what was refused in words is out of the
choice, and a question never leads to an action that is only proposed. Source: SPEC L2; notes embedded-model 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from backstay.core.encoder import Encoder
from backstay.core.messages import Args, Json, ToolCall, ToolReturn, ToolSpec
from backstay.models.embedded.arguments import Filled, fill
from backstay.models.embedded.denials import Denial, denials_in, denied_tools, hidden, is_bare_no, tools_named
from backstay.models.embedded.followup import is_elliptical, remembered, without_lead
from backstay.models.embedded.gate import evidence_in
from backstay.models.embedded.payloads import mark_of
from backstay.models.embedded.proposals import Menu
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.router import Route, ToolRouter
from backstay.models.embedded.slots import Slot, slots_of
from backstay.models.embedded.talk import TALK
from backstay.models.embedded.turn import ASIDE, Exchange, Turn
from backstay.models.embedded.wishes import cut, is_conditional, is_question, row_of_identifiers
from backstay.models.embedded.words import HIDDEN

_SURE = 0.25
"""How far over the threshold a tool must score to be chosen against what the talk was about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """What was chosen for a wish: a tool, the text its arguments come from, what they start from."""

    spec: ToolSpec | None
    text: str
    before: Args
    route: Route | None = None
    denied: frozenset[str] = frozenset()
    """Tools whose act the user refused in words."""
    also: str = ""
    """What identifiers are looked for in besides: "don't cancel 1004, track it" refuses the act and not the order."""
    is_no: bool = False
    """Whether the user said no and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One wish of a turn and what was done for it."""

    text: str
    turn: Turn
    """The turn as if it held this wish alone: its calls, their results, and before it the wishes already served."""
    pick: Pick
    is_served: bool
    is_left: bool = False
    """Whether it is only told that it was not done."""


class Planner:
    """Chooses tools for what people say.

    Args:
        router: scores tools.
        encoder: compares meanings.
    """

    def __init__(self, router: ToolRouter, encoder: Encoder) -> None:
        self.router = router
        self._encoder = encoder

    def wishes(self, turn: Turn, menu: Menu, today: date) -> tuple[Wish, ...]:
        """Every wish of the turn in order, with the calls that were made for it."""
        texts = self._texts(turn, menu, today)
        results = {part.call_id: part for part in turn.returns}
        left, earlier, found = list(turn.calls), turn.earlier, []
        for number, text in enumerate(texts):
            alone = _alone(turn, text, (), results, earlier)
            pick = self.pick(alone, menu, today) if number == 0 else self._choose(text, menu, _chosen_by(menu), today)
            is_left = number > 0 and (pick.spec is None or is_conditional(turn.text)) and not pick.denied
            own = left if number == len(texts) - 1 else [] if is_left else _own(left, pick, results)
            left = left[len(own) :]
            served = not is_left and bool(own) and (bool(left) or own[-1].name == _name(pick))
            found.append(
                Wish(
                    text=text,
                    turn=_alone(turn, text, own, results, earlier),
                    pick=pick,
                    is_served=served,
                    is_left=is_left,
                )
            )
            if own:
                earlier = (Exchange(text=text, calls=tuple(own), has_question=False), *earlier)
        return tuple(found)

    def pick(self, turn: Turn, menu: Menu, today: date) -> Pick:
        """Choose a tool for what the user wants now: by itself, as a follow-up, or as the answer to a question."""
        options = _chosen_by(menu)
        last = turn.earlier[0] if turn.earlier else None
        if is_bare_no(turn.text):
            denied = frozenset([last.calls[-1].name]) if last is not None and last.calls else frozenset()
            return Pick(spec=None, text=turn.text, before={}, denied=denied, is_no=True)
        found = self._choose(turn.text, menu, options, today)
        if last is None or not last.calls or found.denied or not is_elliptical(turn.text):
            return found
        bare = self._route(without_lead(turn.text), options, today)
        spec = menu.find(last.calls[-1].name)
        if spec is None or (self._is_sure(bare, turn.text, options) and _leads(bare, spec.name)):
            return found
        if spec.name in menu.proposed and is_question(turn.text):
            return found
        return replace(found, spec=spec, before=last.calls[-1].args, route=bare)

    def fill(self, pick: Pick, turn: Turn, today: date, refused: frozenset[str]) -> Filled:
        """Fill in the chosen tool: from the text, then from what a follow-up keeps, then from earlier turns."""
        assert pick.spec is not None
        found = fill(pick.spec, Reading(pick.text, today), self._encoder, refused=refused)
        args: dict[str, Json] = {**pick.before, **found.args}
        if pick.also:
            whole = fill(pick.spec, Reading(pick.also, today), self._encoder, refused=refused).args
            args = {**{slot.name: whole[slot.name] for slot in found.missing if _is_named(slot, whole)}, **args}
        missing: list[Slot] = []
        for slot in slots_of(pick.spec):
            if slot.is_required and slot.name not in args:
                known = remembered(slot, turn)
                if known is None:
                    known = self._kept(slot, pick.spec, turn, today)
                if known is None:
                    missing.append(slot)
                else:
                    args[slot.name] = known
        return Filled(args, tuple(missing))

    def _kept(self, slot: Slot, spec: ToolSpec, turn: Turn, today: date) -> Json:
        """An identifier that the user has told to remember: the newest one that fits the slot."""
        if slot.kind != "pattern":
            return None
        for text in turn.kept:
            args = fill(spec, Reading(text, today), self._encoder).args
            if _is_named(slot, args):
                return args[slot.name]
        return None

    def _choose(self, text: str, menu: Menu, options: tuple[ToolSpec, ...], today: date) -> Pick:
        """The tool for a text by itself, without those that the text refuses."""
        route = self._route_in(text, menu, options, today)
        spec = menu.find(route.chosen or "")
        carries = spec is not None and any(slot.kind == "payload" for slot in slots_of(spec))
        mark = mark_of(text) if carries else None
        denials = denials_in(text, until=mark.start() if mark else None)
        denied = denied_tools(text, denials, options, self._encoder) if denials else frozenset()
        if not denials or (not denied and not _excludes(text, denials)):
            return Pick(spec=spec, text=text, before={}, route=route)
        rest = hidden(text, denials)
        allowed = tuple(one for one in options if one.name not in denied)
        route = self._route_in(_readable(rest), menu, allowed, today)
        if route.chosen in menu.proposed and route.chosen not in self._named(rest, allowed):
            # Beside a refusal an action has to be named: "order 1001, no refund" is no wish to cancel it.
            allowed = tuple(one for one in allowed if one.name not in menu.proposed)
            route = self._route_in(_readable(rest), menu, allowed, today)
        spec = menu.find(route.chosen or "")
        also = text if denied and spec is not None and spec.name not in menu.proposed else ""
        return Pick(spec=spec, text=rest, before={}, route=route, denied=denied, also=also)

    def _named(self, text: str, options: tuple[ToolSpec, ...]) -> frozenset[str]:
        return tools_named(_readable(text), options, self._encoder)

    def _texts(self, turn: Turn, menu: Menu, today: date) -> list[str]:
        """The wishes of a turn as texts; an answer to a question goes to the wish that lacked it."""
        options = _chosen_by(menu)
        last = turn.earlier[0] if turn.earlier else None
        if last is not None and last.has_question and not is_bare_no(turn.text):
            route = self._route_in(turn.text, menu, options, today)
            if not self._is_sure(route, turn.text, options) and (open_ := self._open(turn, menu, today)):
                return [f"{open_[0]}\n{turn.text}", *open_[1:]]
        return self._cut(turn.text, menu, options, today)

    def _cut(self, text: str, menu: Menu, options: tuple[ToolSpec, ...], today: date) -> list[str]:
        def is_wish(part: str) -> bool:
            return self._choose(part, menu, options, today).spec is not None

        def is_one(start: int, end: int) -> bool:
            spec = self._choose(text, menu, options, today).spec
            args = fill(spec, Reading(text, today), self._encoder).args if spec is not None else {}
            return any(_covers(text, value, start, end) for value in args.values())

        return [one for part in cut(text, is_wish, is_one) for one in self._each(part, menu, options, today)]

    def _each(self, text: str, menu: Menu, options: tuple[ToolSpec, ...], today: date) -> list[str]:
        """A wish for several identifiers as one wish for each: "track 1001 and 1003"."""
        row = row_of_identifiers(text)
        if row is None:
            return [text]
        each = [f"{text[: row.start]}{one}{text[row.end :]}" for one in row.identifiers]
        spec = self._choose(each[0], menu, options, today).spec
        takers = [slot for slot in slots_of(spec) if slot.kind == "pattern"] if spec is not None else []
        return each if len(takers) == 1 and all(takers[0].fits(one) for one in row.identifiers) else [text]

    def _open(self, turn: Turn, menu: Menu, today: date) -> list[str]:
        """The wishes of the turn before that were not served when the question was asked."""
        last = turn.earlier[0]
        before = Turn(text=last.text, calls=last.calls, returns=(), notices=(), earlier=turn.earlier[1:])
        if not last.calls:
            return self._cut(last.text, menu, _chosen_by(menu), today)
        wishes = self.wishes(before, menu, today)
        return [one.text for one in wishes if not one.is_served and not one.is_left] if len(wishes) > 1 else []

    def _route(self, text: str, options: tuple[ToolSpec, ...], today: date) -> Route:
        return self.router.route(text, options, evidence_in(Reading(text, today)), aside=TALK)

    def _route_in(self, text: str, menu: Menu, options: tuple[ToolSpec, ...], today: date) -> Route:
        """A question looks: it leads to no action that is only proposed."""
        route = self._route(text, options, today)
        ordinary = tuple(one for one in options if one.name not in menu.proposed)
        if route.chosen not in menu.proposed or not ordinary or not is_question(text):
            return route
        return self._route(text, ordinary, today)

    def _is_sure(self, route: Route, text: str, options: tuple[ToolSpec, ...]) -> bool:
        return route.chosen is not None and route.score >= self.router.threshold_for(text, options) + _SURE


def _chosen_by(menu: Menu) -> tuple[ToolSpec, ...]:
    """What may be chosen by meaning."""
    return tuple(one for one in menu.options if one.name not in ASIDE)


def _alone(
    turn: Turn,
    text: str,
    calls: list[ToolCall] | tuple[()],
    results: dict[str, ToolReturn],
    earlier: tuple[Exchange, ...],
) -> Turn:
    returns = tuple(results[one.id] for one in calls if one.id in results)
    return replace(turn, text=text, calls=tuple(calls), returns=returns, earlier=earlier)


def _own(calls: list[ToolCall], pick: Pick, results: dict[str, ToolReturn]) -> list[ToolCall]:
    """The calls for a wish: up to the one of its tool, and one more try where that one was refused for its input."""
    place = next((n for n, one in enumerate(calls) if one.name == _name(pick)), None)
    if place is None:
        return calls
    result = results.get(calls[place].id)
    again = calls[place + 1 : place + 2]
    if result is not None and result.result.code == "tool.input" and again and again[0].name == _name(pick):
        place += 1
    return calls[: place + 1]


def _is_named(slot: Slot, args: Args) -> bool:
    return slot.kind == "pattern" and slot.name in args


def _name(pick: Pick) -> str:
    return pick.spec.name if pick.spec is not None else ""


def _leads(route: Route, name: str) -> bool:
    """Whether the best tool is well ahead of the one that was called before."""
    before = next((score for tool, score in route.scores if tool == name), 0.0)
    return route.score >= before + _SURE


def _excludes(text: str, denials: tuple[Denial, ...]) -> bool:
    """Whether a negation sets a value apart: ", not Berlin", "not 1001 but", 不是1001."""
    apart = ("not ", "不是", "instead of", "rather than")
    return any(text[one.start : one.end].casefold().startswith(apart) for one in denials)


def _readable(text: str) -> str:
    return " ".join(text.replace(HIDDEN, " ").split())


def _covers(text: str, value: Json, start: int, end: int) -> bool:
    """Whether a value reaches over a place of the text; a list if it has things on both sides."""
    if isinstance(value, tuple | list):
        at = [found for one in value if (found := text.find(str(one))) >= 0]
        return bool(at) and min(at) < start and max(at) >= end
    at_text = text.find(value) if isinstance(value, str) else -1
    return 0 <= at_text < start and end <= at_text + len(str(value))
