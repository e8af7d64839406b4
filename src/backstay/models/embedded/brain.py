"""One reply of the embedded model, thought out in the order in which least is left to chance.

A notice is told; a forced tool is filled in; else the wishes of the message are served one after the other, each by a
tool that the router chooses and arguments copied from the user's words. What is missing is asked for.
Source: notes embedded-model 4; issue 3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from backstay.core.canon import freeze
from backstay.core.encoder import Encoder
from backstay.core.messages import Args, Json, ModelReply, ModelRequest, Text, ToolCall, ToolSpec
from backstay.models.embedded.answer import answer, cannot, denied, from_notices, greeting, left_out, question, unsure
from backstay.models.embedded.arguments import nearest
from backstay.models.embedded.gate import evidence_in
from backstay.models.embedded.generator import Generator
from backstay.models.embedded.lookup import look_up_for, looked_up
from backstay.models.embedded.phrases import Tongue
from backstay.models.embedded.plan import Pick, Planner
from backstay.models.embedded.proposals import PROPOSE, Menu, wrap
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.router import Route, ToolRouter
from backstay.models.embedded.runtime import Runtime
from backstay.models.embedded.slots import Slot
from backstay.models.embedded.talk import TALK
from backstay.models.embedded.turn import ASIDE, ASK, Turn, read_turn

_SHARE = 0.8
"""From this share of the threshold the best tools are offered as a question instead of a refusal."""


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
        self.planner = Planner(router, encoder)
        self.encoder = encoder
        """Compares meanings."""
        self._runtime = runtime
        self.phrase = phrase
        """Whether the generator may put results into its own words."""

    def reply(self, request: ModelRequest, *, today: date, call_id: str, model: str) -> ModelReply:
        """Think out one reply."""
        generator = Generator(self._runtime)
        menu = Menu.of(request.tools)
        said = _Thought(self, request, read_turn(request.messages), menu, generator, today, call_id).say()
        part = Text(text=said) if isinstance(said, str) else said
        finish = "tool_calls" if isinstance(part, ToolCall) else "stop"
        return ModelReply(parts=(part,), finish=finish, usage=generator.usage, model=model)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Thought:
    """One request being thought about."""

    brain: Brain
    request: ModelRequest
    turn: Turn
    menu: Menu
    generator: Generator
    today: date
    call_id: str

    @property
    def tongue(self) -> Tongue:
        """The language of the answer."""
        return Tongue(self.turn.is_chinese)

    @property
    def options(self) -> tuple[ToolSpec, ...]:
        """What may be chosen by meaning."""
        return tuple(one for one in self.menu.options if one.name not in ASIDE)

    def say(self) -> str | ToolCall:
        """The reply: words or a call."""
        turn, choice = self.turn, self.request.tool_choice
        if choice.startswith("tool:"):
            return self._forced(self.menu.under(choice.removeprefix("tool:")))
        if choice == "required":
            return self._forced(self.options or self.menu.options)
        if turn.notices:
            return self._shaped(from_notices(turn))
        if self.request.output_schema is not None and (choice == "none" or not self.menu.options):
            return self._shaped(answer(turn))
        return self._wishes() if choice != "none" else cannot((), self.tongue)

    def _wishes(self) -> str | ToolCall:
        """Serve the first wish that is not served yet; when all are, tell what came of them and what was left out."""
        wishes = self.brain.planner.wishes(self.turn, self.menu, self.today)
        for wish in wishes:
            if wish.is_left or (wish.is_served and wish is not wishes[-1]):
                continue
            one = replace(self, turn=wish.turn)
            said = one._next(wish.pick) if wish.turn.returns else one._wanted(wish.pick)
            if isinstance(said, ToolCall):
                return said
            if said is not None:
                told = [answer(self.turn)] if self.turn.returns else []
                return "\n\n".join([*told, said]) if told or wish.pick.spec else self._shaped(said)
        left = left_out([wish.text for wish in wishes if wish.is_left], self.tongue)
        return "\n\n".join(filter(None, [self._told(), left])) if not self.request.output_schema else self._told()

    def _wanted(self, pick: Pick) -> str | ToolCall:
        """A call for what the user wants, or a question."""
        if pick.is_no or (pick.denied and pick.spec is None):
            return denied(pick.denied, self.tongue)
        return self._unclear(pick.route, pick.text) if pick.spec is None else self._call(pick)

    def _call(self, pick: Pick, refused: frozenset[str] = frozenset()) -> str | ToolCall:
        spec = pick.spec
        assert spec is not None
        filled = self.brain.planner.fill(pick, self.turn, self.today, refused)
        is_proposed = spec.name in self.menu.proposed
        args = {**filled.args, **looked_up(filled.missing, self.turn)} if is_proposed else filled.args
        missing = tuple(slot for slot in filled.missing if slot.name not in args)
        if not missing:
            return self._made(spec.name, args)
        if is_proposed and (first := look_up_for(missing, args, self.menu, self.turn)) is not None:
            return self._made(*first)
        return question(missing, self.tongue)

    def _next(self, pick: Pick) -> str | ToolCall | None:
        """What follows a result: a proposal that only wanted a look-up, or one more try with other arguments."""
        last, failed = self.turn.calls[-1:], self.turn.returns[-1].result
        if pick.spec is None or not last:
            return None
        if failed.ok and pick.spec.name in self.menu.proposed and last[0].name != pick.spec.name:
            next_said = self._call(pick)
            return next_said if isinstance(next_said, str) or next_said.name == PROPOSE else None
        if failed.code != "tool.input" or len(self.turn.calls) != 1 or last[0].name != pick.spec.name:
            return None
        named = {
            str(value) for name, value in last[0].args.items() if re.search(rf"\b{re.escape(name)}\b", failed.summary)
        }
        said = self._call(pick, frozenset(named)) if named else None
        is_other = isinstance(said, ToolCall) and said.args != self._made(last[0].name, last[0].args).args
        return said if is_other else None

    def _forced(self, options: tuple[ToolSpec, ...]) -> str | ToolCall:
        """A call of one of these, whatever the user said and however far they are from it.

        Open texts that nothing fills get the user's words, closed sets the nearest value. What cannot be had without
        inventing it is asked for: by the tool for questions where that is one of these.
        """
        if not options:
            return cannot((), self.tongue)
        evidence = evidence_in(Reading(self.turn.text, self.today))
        route = self.brain.router.route(self.turn.text, options, lambda spec: evidence(spec) or 0.0)
        lacking: tuple[Slot, ...] = ()
        for name, _ in route.scores:
            spec = next(one for one in options if one.name == name)
            if spec.name == ASK:
                return self._made(ASK, self._question())
            args, left = self._forced_args(spec)
            if not left:
                return self._made(name, args)
            lacking = lacking or left
        if self.request.tool_choice == "required" and (asking := self.menu.find(ASK)) is not None:
            return self._made(asking.name, {"question": question(lacking, self.tongue), **_choices(lacking, asking)})
        return question(lacking, self.tongue)

    def _forced_args(self, spec: ToolSpec) -> tuple[dict[str, Json], tuple[Slot, ...]]:
        pick = Pick(spec=spec, text=self.turn.text, before={})
        filled = self.brain.planner.fill(pick, self.turn, self.today, frozenset())
        args = dict(filled.args)
        for slot in filled.missing:
            if slot.kind in ("text", "payload") and self.turn.text:
                args[slot.name] = self.turn.text
            elif slot.kind == "choice":
                args[slot.name] = nearest(slot, self.turn.text, self.brain.encoder)
        return args, tuple(slot for slot in filled.missing if slot.name not in args)

    def _question(self) -> dict[str, Json]:
        """What there is to ask: for what the wish lacks, else which tool was meant."""
        asking = self.menu.find(ASK)
        wishes = self.brain.planner.wishes(self.turn, self.menu, self.today)
        pick = next((one.pick for one in wishes if not one.is_served), wishes[-1].pick)
        if pick.spec is None:
            said = self._wanted(pick)
            return {"question": said if isinstance(said, str) else ""}
        missing = self.brain.planner.fill(pick, self.turn, self.today, frozenset()).missing
        if not missing or asking is None:
            return {"question": unsure([pick.spec], self.tongue)}
        return {"question": question(missing, self.tongue), **_choices(missing, asking)}

    def _unclear(self, route: Route | None, text: str) -> str:
        near = route is not None and route.score >= _SHARE * self.brain.router.threshold_for(text, self.options)
        if near and route is not None:
            best = [spec for name, _ in route.scores[:3] if (spec := self.menu.find(name)) is not None]
            return unsure(best, self.tongue)
        if route is not None and self.brain.router.is_aside(text, TALK, route.score):
            return greeting(self.options, self.tongue)
        return cannot(self.options, self.tongue)

    def _made(self, name: str, args: Args) -> ToolCall:
        if name in self.menu.proposed:
            name, args = PROPOSE, wrap(name, args, self.turn.text)
        return ToolCall(id=self.call_id, name=name, args=freeze(args))  # type: ignore[arg-type]  # an object

    def _shaped(self, facts: str) -> str:
        """The facts, or an object of the asked schema out of them and the user's words."""
        if self.request.output_schema is None:
            return facts
        return self.generator.output(self.request.output_schema, self.turn.text, facts)

    def _told(self) -> str:
        facts = answer(self.turn)
        if self.request.output_schema is not None:
            return self._shaped(facts)
        if not self.brain.phrase or not all(part.result.ok for part in self.turn.returns):
            return facts
        return self.generator.phrase(self.turn.text, facts) or facts


def _choices(missing: Sequence[Slot], asking: ToolSpec) -> dict[str, Json]:
    """The values to choose from, where one closed set is all that lacks and the tool takes them."""
    properties = asking.schema.get("properties")
    if (
        len(missing) != 1
        or not missing[0].choices
        or not isinstance(properties, Mapping)
        or "choices" not in properties
    ):
        return {}
    return {"choices": tuple(str(one) for one in missing[0].choices)}
