"""python -m bench.tokens [fit] [--wheels FOLDER]

How far the estimator is from o200k, by kind of text, on the half of each corpus that it was not fitted to; and how well
a session's calibration predicts the next request's size under three tokenizers. `fit` prints fresh weights.
Needs `pip install 'backstay[tokenizer]'`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from backstay.core.messages import Message, ModelRequest, Text, ToolSpec, Usage
from backstay.memory.bpe import ENCODINGS, Encoding
from backstay.memory.counting import Calibration, request_tokens
from backstay.memory.estimator import CLASSES, estimate
from bench.tokens.corpora import corpora, missing
from bench.tokens.fit import fit, halves

SESSIONS = 40
TURNS = 40


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.tokens")
    parser.add_argument("what", nargs="?", choices=["report", "fit"], default="report")
    parser.add_argument("--wheels", type=Path, help="folder with the unpacked packages named in corpora.py")
    options = parser.parse_args()
    found = corpora(options.wheels)
    count = Encoding("o200k").count
    if absent := missing(found):
        print(f"not here, so not counted: {', '.join(absent)}\n")
    if options.what == "fit":
        for name, weight in zip(CLASSES, fit(found, count), strict=True):
            print(f"{name:18} {weight}")
        return
    _by_kind(found, count)
    _speed(found)
    _sessions(found)


def _by_kind(found: Mapping[str, Sequence[str]], count: Callable[[str], int]) -> None:
    print(f"{'kind':16} {'texts':>6} {'len/4':>7} {'ours':>7} {'p5':>7} {'p95':>7}   (estimate / o200k)")
    errors, plain_errors = list[float](), list[float]()
    for kind, texts in found.items():
        _, mine = halves(texts)
        true = [count(text) for text in mine]
        ours = [estimate(text) for text in mine]
        whole = sum(ours) / sum(true)
        single = sorted(one / max(1, other) for one, other in zip(ours, true, strict=True))
        plain = sum(len(text) / 4 for text in mine) / sum(true)
        low, high = (single[int(len(single) * share)] for share in (0.05, 0.95))
        errors.append(abs(whole - 1))
        plain_errors.append(abs(plain - 1))
        print(f"{kind:16} {len(mine):6} {plain:7.2f} {whole:7.2f} {low:7.2f} {high:7.2f}")
    print(f"mean error of a kind: {statistics.mean(errors):.1%}, of len/4 {statistics.mean(plain_errors):.1%}\n")


def _speed(found: Mapping[str, Sequence[str]]) -> None:
    text = "\n".join(text for texts in found.values() for text in texts)
    began = time.process_time()
    estimate(text)
    print(f"speed: {len(text) / 1e6 / (time.process_time() - began):.1f} million characters a CPU second\n")


def _sessions(found: Mapping[str, Sequence[str]]) -> None:
    """Mixed sessions: what the next request was predicted to have, against what it has."""
    print(
        f"{'next request':12} {'p1':>8} {'p50':>8} {'p99':>8}   uncalibrated p50   ({SESSIONS} sessions, {TURNS} turns)"
    )
    kinds = list(found)
    for name in ENCODINGS:
        encoding, anchored, plain = Encoding(name), list[float](), list[float]()
        for number in range(SESSIONS):
            dice = random.Random(number)
            mixed = dice.sample(kinds, k=min(5, len(kinds)))
            _one_session(found, mixed, dice, encoding, anchored, plain)
        anchored.sort()
        low, middle, high = (anchored[int(len(anchored) * share)] for share in (0.01, 0.5, 0.99))
        print(f"{name:12} {low:+8.1%} {middle:+8.1%} {high:+8.1%}   {statistics.median(plain):+8.1%}")


def _one_session(
    found: Mapping[str, Sequence[str]],
    kinds: Sequence[str],
    dice: random.Random,
    encoding: Encoding,
    anchored: list[float],
    plain: list[float],
) -> None:
    tool = ToolSpec(name="find", description="Find something.", schema={"type": "object", "properties": {}})
    messages: list[Message] = []
    calibration, true = Calibration(), 60
    for turn in range(TURNS):
        text = dice.choice(found[dice.choice(kinds)])
        messages.append(Message(id=f"m{turn}", role="user", parts=(Text(text=text),)))
        true += encoding.count(text) + 5
        guess = request_tokens(ModelRequest(messages=tuple(messages), tools=(tool,)))
        if turn > 2:
            anchored.append(calibration.predict(guess) / true - 1)
            plain.append(guess / true - 1)
        calibration = calibration.observed(guess, Usage(input_tokens=true))


if __name__ == "__main__":
    main()
