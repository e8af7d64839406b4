"""python -m bench.embedded.attempts: other ways to fill in arguments, on the developing prompts, the right tool given.

What was tried before the shipped way was chosen; docs/decisions/0003-embedded-model.md quotes the table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from backstay.core.canon import freeze, thaw
from backstay.core.messages import ToolSpec
from backstay.models.embedded import arguments, texts
from backstay.models.embedded.arguments import fill
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.generator import chat
from backstay.models.embedded.proposals import Menu
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.slots import Slot, slots_of
from backstay.models.embedded.texts import Ground, Scored
from bench.embedded.__main__ import DAY, runtime
from bench.embedded.cases import load_cases, load_tools
from bench.embedded.score import equal_args

CHOICES = (
    ("The vase arrived in pieces", "reason", ("damaged", "late", "wrong item"), "damaged"),
    ("It still has not come after three weeks", "reason", ("damaged", "late", "wrong item"), "late"),
    ("I ordered the blue one and got a red one", "reason", ("damaged", "late", "wrong item"), "wrong item"),
    ("杯子碎了", "reason", ("damaged", "late", "wrong item"), "damaged"),
    ("I am furious, this broke again", "mood", ("glad", "angry", "neutral"), "angry"),
    ("You made my day, thank you", "mood", ("glad", "angry", "neutral"), "glad"),
    ("Everything stands still until this is fixed", "priority", ("low", "normal", "urgent"), "urgent"),
    ("No hurry, some day next month is fine", "priority", ("low", "normal", "urgent"), "low"),
    ("We took a taxi to the airport", "category", ("lodging", "transport", "meals"), "transport"),
    ("Two nights at the inn", "category", ("lodging", "transport", "meals"), "lodging"),
    ("午饭花了三十块", "category", ("lodging", "transport", "meals"), "meals"),
    ("Pizza for the whole team", "category", ("lodging", "transport", "meals"), "meals"),
)
"""Closed sets that the request implies and does not name."""


def whole_object(spec: ToolSpec, reading: Reading, *, copied: bool) -> dict[str, Any]:
    """The notes' way: the generator writes the whole object, strings copied from the request or free."""
    names = [span.text for span in reading.spans if span.last - span.first < 6]
    schema = thaw(spec.schema)
    if copied:
        for slot in slots_of(spec):
            if slot.kind in ("text", "payload", "pattern"):
                schema["properties"][slot.name] = {"enum": list(dict.fromkeys(names))}
    turns = [(said, json.dumps(thaw(args), ensure_ascii=False)) for said, args in spec.examples[:3]]
    prompt = chat(f"Fill in {spec.name}: {spec.description.splitlines()[0]}", turns, reading.text)
    done = runtime().complete(prompt, schema={**schema, "additionalProperties": False}, max_tokens=96)
    try:
        found: dict[str, Any] = json.loads(done.text)
    except ValueError:
        return {}
    return found


def decided(least: float, *, by_likelihood: bool) -> Callable[[Slot, Ground], list[Scored]]:
    """Let the generator choose among the best spans where the first leads by less than `least`."""
    plain = texts.ranked

    def ranked(slot: Slot, ground: Ground) -> list[Scored]:
        found = plain(slot, ground)
        if len(found) < 2 or found[0].score - found[1].score >= least:
            return found
        options = tuple(dict.fromkeys(one.span.text for one in found[:5]))
        pick = likeliest if by_likelihood else chosen
        best = pick(slot, ground, options)
        return sorted(found, key=lambda one: one.span.text != best)

    return ranked


def chosen(slot: Slot, ground: Ground, options: tuple[str, ...]) -> str:
    """One constrained call over all options."""
    turns = [
        (said, json.dumps({slot.name: str(args[slot.name])}, ensure_ascii=False))
        for said, args in ground.spec.examples
        if slot.name in args
    ]
    prompt = chat(
        f"Choose {slot.words} for {ground.spec.name}. One of: {', '.join(options)}.", turns[:3], ground.reading.text
    )
    schema = {
        "type": "object",
        "properties": {slot.name: {"type": "string", "enum": list(options)}},
        "required": [slot.name],
        "additionalProperties": False,
    }
    try:
        return str(json.loads(runtime().complete(prompt, schema=schema, max_tokens=64).text)[slot.name])
    except ValueError:
        return options[0]


def likeliest(slot: Slot, ground: Ground, options: tuple[str, ...]) -> str:
    """The option with the highest mean log-probability, each written out by force."""
    turns = [(said, json.dumps({slot.name: args[slot.name]}, ensure_ascii=False)) for said, args in ground.spec.examples
             if slot.name in args]  # fmt: skip
    prompt = (
        chat(f"Fill in {slot.words} for {ground.spec.name}.", turns[:3], ground.reading.text) + f'{{"{slot.name}": "'
    )

    def mean(option: str) -> float:
        grammar = f"root ::= {json.dumps(option, ensure_ascii=False)}"
        probs = runtime().complete(prompt, grammar=grammar, max_tokens=48).logprobs
        return sum(probs) / max(1, len(probs))

    return max(options, key=mean)


def measure(title: str, way: Callable[[ToolSpec, Reading], dict[str, Any]]) -> None:
    """Print exact arguments by language and the seconds a case."""
    menu = Menu.of(load_tools("develop"))
    good, count, began = {"en": 0, "zh": 0}, {"en": 0, "zh": 0}, time.perf_counter()
    for case in load_cases("develop"):
        spec = menu.find(case.tool or "")
        if spec is None or case.kind == "follow_up":
            continue
        count[case.lang] += 1
        good[case.lang] += equal_args(spec, case.args, way(spec, Reading(case.text, DAY)))
    each = (time.perf_counter() - began) / sum(count.values())
    print(f"{title:<58}{good['en']:>4}/{count['en']}{good['zh']:>6}/{count['zh']}{each:>9.2f} s", flush=True)


def _shipped(spec: ToolSpec, reading: Reading) -> dict[str, Any]:
    return dict(fill(spec, reading, shared_encoder()).args)


def _with_ranking(ranked: Callable[[Slot, Ground], list[Scored]]) -> Callable[[ToolSpec, Reading], dict[str, Any]]:
    def way(spec: ToolSpec, reading: Reading) -> dict[str, Any]:
        with patch.object(texts, "ranked", ranked):
            return _shipped(spec, reading)

    return way


class _Blind:
    """An encoder to which all texts are alike."""

    def encode(self, texts: Any) -> list[list[float]]:
        return [[1.0] for _ in texts]


def _choices() -> None:
    encoder = shared_encoder()
    by_meaning = by_generator = 0
    for text, name, options, want in CHOICES:
        scores = [float(encoder.encode([text])[0] @ one) for one in encoder.encode(options)]
        by_meaning += options[scores.index(max(scores))] == want
        schema = {"type": "object", "properties": {name: {"type": "string", "enum": list(options)}}, "required": [name]}
        spec = ToolSpec(name=f"set_{name}", description="", schema=freeze(schema))  # type: ignore[arg-type]  # an object
        ground = Ground(spec, Reading(text, DAY), (), encoder)
        by_generator += chosen(slots_of(spec)[0], ground, options) == want
    print(f"\nimplied choices: encoder {by_meaning}/{len(CHOICES)}, generator {by_generator}/{len(CHOICES)}")


def main() -> None:
    """Run every attempt."""
    print(f"{'exact arguments, right tool given':<58}{'en':>7}{'zh':>9}{'a case':>10}")
    measure("rules, cues from examples, encoder (shipped)", _shipped)
    measure("the same without the encoder", lambda spec, reading: dict(arguments.fill(spec, reading, _Blind()).args))
    for least in (0.1, 0.3):
        measure(f"shipped, generator chooses if the lead < {least}", _with_ranking(decided(least, by_likelihood=False)))
    measure("shipped, likelihood decides if the lead < 0.3", _with_ranking(decided(0.3, by_likelihood=True)))
    measure("generator writes all, strings copied", lambda spec, reading: whole_object(spec, reading, copied=True))
    measure("generator writes all, strings free", lambda spec, reading: whole_object(spec, reading, copied=False))
    _choices()


if __name__ == "__main__":
    main()
