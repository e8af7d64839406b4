"""One reply of the embedded model, thought out in the order in which least is left to chance.

A notice is told; a forced tool is filled in; results are answered; else the router chooses a tool and its arguments are
copied from the user's words. What is missing is asked for. Source: notes embedded-model 4; issue 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from backstay.core.canon import freeze
from backstay.core.encoder import Encoder
from backstay.core.messages import Args, Json, ModelReply, ModelRequest, Text, ToolCall, ToolSpec
from backstay.models.embedded.answer import answer, cannot, from_notices, greeting, question, unsure
from backstay.models.embedded.arguments import Filled, fill
from backstay.models.embedded.followup import is_elliptical, remembered, without_lead
from backstay.models.embedded.gate import evidence_in
from backstay.models.embedded.generator import Generator
from backstay.models.embedded.lookup import look_up_for, looked_up
from backstay.models.embedded.phrases import Tongue
from backstay.models.embedded.proposals import PROPOSE, Menu, wrap
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.router import Route, ToolRouter
from backstay.models.embedded.runtime import Runtime
from backstay.models.embedded.slots import Slot, slots_of
from backstay.models.embedded.talk import TALK
from backstay.models.embedded.turn import ASIDE, ASK, Turn, read_turn

_SURE = 0.25
"""How far over the threshold a tool must score to be chosen against what the talk was about."""
_SHARE = 0.8
"""From this share of the threshold the best tools are offered as a question instead of a refusal."""


@dataclass(frozen=True, slots=True)
class Pick:
    """What was chosen for a turn: a tool, the text its arguments come from, what they start from."""

    spec: ToolSpec | None
    text: str
    before: Args
    route: Route | None = None


class Brain:
    """Everything the model does, without waiting for anything: run it off the event loop.

    Args:
        router: chooses tools.
        encoder: compares meanings.
        runtime: opens the generator; called only when it is needed.
        phrase: whether the generator may put a result into its own words where every fact survives.
    """

    def __init__(
        self, router: ToolRouter, encoder: Encoder, runtime: Callable[[], Runtime], *, phrase: bool = False
    ) -> None:
        self.router = router
        self._encoder = encoder
        self._runtime = runtime
        self.phrase = phrase
        """Whether the generator may put results into its own words."""

    def reply(self, request: ModelRequest, *, today: date, call_id: str, model: str) -> ModelReply:
        """Think out one reply."""
        generator = Generator(self._runtime)
        said = _Thought(self, request, read_turn(request.messages), generator, today, call_id).say()
        part = Text(text=said) if isinstance(said, str) else said
        finish = "tool_calls" if isinstance(part, ToolCall) else "stop"
        return ModelReply(parts=(part,), finish=finish, usage=generator.usage, model=model)  # type: ignore[arg-type]

    def pick(self, turn: Turn, menu: Menu, today: date) -> Pick:
        """Choose a tool for what the user wants now: by itself, as a follow-up, or as the answer to a question."""
        options = tuple(one for one in menu.options if one.name not in ASIDE)
        last = turn.earlier[0] if turn.earlier else None
        route = self._route(turn.text, options, today)
        if last is not None and last.has_question and not last.calls and not self._is_sure(route, turn.text, options):
            text = f"{last.text}\n{turn.text}"
            return Pick(menu.find(self._route(text, options, today).chosen or ""), text, {}, route)
        if last is not None and last.calls and is_elliptical(turn.text):
            bare = self._route(without_lead(turn.text), options, today)
            spec = menu.find(last.calls[-1].name)
            if spec is not None and not (self._is_sure(bare, turn.text, options) and _leads(bare, spec.name)):
                return Pick(spec, turn.text, last.calls[-1].args, bare)
        return Pick(menu.find(route.chosen or ""), turn.text, {}, route)

    def fill(self, pick: Pick, turn: Turn, today: date, refused: frozenset[str]) -> Filled:
        """Fill in the chosen tool: from the text, then from what a follow-up keeps, then from earlier turns."""
        assert pick.spec is not None
        found = fill(pick.spec, Reading(pick.text, today), self._encoder, refused=refused)
        args: dict[str, Json] = {**pick.before, **found.args}
        missing: list[Slot] = []
        for slot in slots_of(pick.spec):
            if slot.is_required and slot.name not in args:
                known = remembered(slot, turn)
                if known is None:
                    missing.append(slot)
                else:
                    args[slot.name] = known
        return Filled(args, tuple(missing))

    def _route(self, text: str, options: tuple[ToolSpec, ...], today: date) -> Route:
        return self.router.route(text, options, evidence_in(Reading(text, today)), aside=TALK)

    def _is_sure(self, route: Route, text: str, options: tuple[ToolSpec, ...]) -> bool:
        return route.chosen is not None and route.score >= self.router.threshold_for(text, options) + _SURE


def _leads(route: Route, name: str) -> bool:
    """Whether the best tool is well ahead of the one that was called before."""
    before = next((score for tool, score in route.scores if tool == name), 0.0)
    return route.score >= before + _SURE


@dataclass(frozen=True, slots=True)
class _Thought:
    """One request being thought about."""

    brain: Brain
    request: ModelRequest
    turn: Turn
    generator: Generator
    today: date
    call_id: str

    def say(self) -> str | ToolCall:
        """The reply: words or a call."""
        turn, choice = self.turn, self.request.tool_choice
        menu = Menu.of(self.request.tools)
        if choice.startswith("tool:"):
            return self._forced(menu.under(choice.removeprefix("tool:")), menu)
        if choice == "required":
            return self._forced(tuple(one for one in menu.options if one.name not in ASIDE) or menu.options, menu)
        if turn.notices:
            return from_notices(turn)
        if self.request.output_schema is not None and (turn.returns or choice == "none" or not menu.options):
            return self.generator.output(self.request.output_schema, turn.text, answer(turn))
        if turn.returns:
            return self._next(menu) or self._told()
        return self._wanted(menu) if choice != "none" else cannot((), Tongue(turn.is_chinese))

    def _wanted(self, menu: Menu) -> str | ToolCall:
        """A call for what the user wants, or a question."""
        pick = self.brain.pick(self.turn, menu, self.today)
        if pick.spec is None:
            return self._unclear(menu, pick.route, pick.text)
        return self._call(pick, menu)

    def _call(self, pick: Pick, menu: Menu, refused: frozenset[str] = frozenset()) -> str | ToolCall:
        spec = pick.spec
        assert spec is not None
        filled = self.brain.fill(pick, self.turn, self.today, refused)
        args = {**filled.args, **looked_up(filled.missing, self.turn)} if spec.name in menu.proposed else filled.args
        missing = tuple(slot for slot in filled.missing if slot.name not in args)
        if not missing:
            return self._made(spec.name, args, menu)
        if spec.name in menu.proposed and (first := look_up_for(missing, args, menu, self.turn)) is not None:
            return self._made(*first, menu)
        return self._ask(question(missing, Tongue(self.turn.is_chinese)), menu)

    def _next(self, menu: Menu) -> str | ToolCall | None:
        """What follows a result: a proposal that only wanted a look-up, or one more try with other arguments."""
        last, failed = self.turn.calls[-1:], self.turn.returns[-1].result
        pick = self.brain.pick(self.turn, menu, self.today)
        if pick.spec is None or not last:
            return None
        if failed.ok and pick.spec.name in menu.proposed and last[0].name != pick.spec.name:
            next_said = self._call(pick, menu)
            return next_said if isinstance(next_said, str) or next_said.name == PROPOSE else None
        if failed.code != "tool.input" or len(self.turn.calls) != 1 or last[0].name != pick.spec.name:
            return None
        named = {
            str(value) for name, value in last[0].args.items() if re.search(rf"\b{re.escape(name)}\b", failed.summary)
        }
        said = self._call(pick, menu, frozenset(named)) if named else None
        is_other = isinstance(said, ToolCall) and said.args != self._made(last[0].name, last[0].args, menu).args
        return said if is_other else None

    def _forced(self, options: tuple[ToolSpec, ...], menu: Menu) -> str | ToolCall:
        """A call of one of these, whatever the user said; open texts that nothing fills get the user's words."""
        if not options:
            return cannot((), Tongue(self.turn.is_chinese))
        evidence = evidence_in(Reading(self.turn.text, self.today))
        route = self.brain.router.route(self.turn.text, options, lambda spec: evidence(spec) or 0.0)
        pick = Pick(next(one for one in options if one.name == route.scores[0][0]), self.turn.text, {})
        assert pick.spec is not None
        filled = self.brain.fill(pick, self.turn, self.today, frozenset())
        args = dict(filled.args)
        args |= {
            slot.name: self.turn.text for slot in filled.missing if slot.kind in ("text", "payload") and self.turn.text
        }
        left = tuple(slot for slot in filled.missing if slot.name not in args)
        return question(left, Tongue(self.turn.is_chinese)) if left else self._made(pick.spec.name, args, menu)

    def _unclear(self, menu: Menu, route: Route | None, text: str) -> str | ToolCall:
        tongue = Tongue(self.turn.is_chinese)
        options = tuple(one for one in menu.options if one.name not in ASIDE)
        near = route is not None and route.score >= _SHARE * self.brain.router.threshold_for(text, options)
        if near and route is not None:
            best = [spec for name, _ in route.scores[:3] if (spec := menu.find(name)) is not None]
            return self._ask(unsure(best, tongue), menu)
        if route is not None and self.brain.router.is_aside(text, TALK, route.score):
            return greeting(options, tongue)
        return cannot(options, tongue)

    def _ask(self, text: str, menu: Menu) -> str | ToolCall:
        """A question: by the tool for questions where there is one, else as the answer."""
        spec = menu.find(ASK)
        properties = spec.schema.get("properties") if spec else None
        if isinstance(properties, dict) and "question" in properties:
            return self._made(ASK, {"question": text}, menu)
        return text

    def _made(self, name: str, args: Args, menu: Menu) -> ToolCall:
        if name in menu.proposed:
            name, args = PROPOSE, wrap(name, args, self.turn.text)
        return ToolCall(id=self.call_id, name=name, args=freeze(args))  # type: ignore[arg-type]  # an object

    def _told(self) -> str:
        facts = answer(self.turn)
        if not self.brain.phrase or not all(part.result.ok for part in self.turn.returns):
            return facts
        return self.generator.phrase(self.turn.text, facts) or facts
