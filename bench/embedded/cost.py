"""What the embedded model costs in a fresh process: seconds of loading, seconds of a call, memory."""

from __future__ import annotations

import resource
import sys
import time
from datetime import date

from backstay.core.messages import Message, ModelRequest, Text
from backstay.models.embedded.brain import Brain
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.router import ToolRouter
from backstay.models.embedded.runtime import open_runtime
from backstay.models.embedded.weights import locate
from bench.embedded.cases import load_tools

BUDGET = {"load": 2.0, "call": 1.0, "megabytes": 350.0}
SCHEMA = {"type": "object", "properties": {"mood": {"enum": ["glad", "angry", "neutral"]}}, "required": ["mood"]}


def _cpu(began: float) -> float:
    return time.process_time() - began


def print_cost() -> int:
    """Print the figures and return 1 if one is over its budget. Seconds are of the processor, on one thread."""
    before = _megabytes()
    began = time.process_time()
    shared_encoder().encode(["a first sentence"])
    encoder = _cpu(began)
    began = time.process_time()
    runtime = open_runtime(locate(), threads=1)
    generator = _cpu(began)
    brain = Brain(ToolRouter(), shared_encoder(), lambda: runtime)
    tools = load_tools("develop")
    calls = []
    for text in (
        "Where is the parcel of order 1001?",
        "What is the weather in Oslo tomorrow?",
        "李雷最近两周买了什么？",
    ):
        began = time.process_time()
        brain.reply(_request(text, tools), today=date(2026, 11, 30), call_id="c", model="m")
        calls.append(_cpu(began))
    began = time.process_time()
    brain.reply(ModelRequest(messages=_said("I am furious, it broke again"), output_schema=SCHEMA), **_WITH)  # type: ignore[arg-type]
    schema = _cpu(began)
    megabytes = _megabytes()
    print(f"load: encoder {encoder:.2f} s, generator {generator:.2f} s (budget {BUDGET['load']} s)")
    print(f"call: first {calls[0]:.3f} s, then {max(calls[1:]):.3f} s (budget {BUDGET['call']} s)")
    print(f"constrained output: {schema:.2f} s (budget {BUDGET['call']} s)")
    print(
        f"memory: {megabytes:.0f} MB at most, {before:.0f} MB of it before the model (budget {BUDGET['megabytes']:.0f})"
    )
    fits = encoder + generator <= BUDGET["load"] and max(*calls, schema) <= BUDGET["call"]
    return 0 if fits and megabytes <= BUDGET["megabytes"] else 1


def _megabytes() -> float:
    """The most memory that this process has held so far."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6


_WITH = {"today": date(2026, 11, 30), "call_id": "c", "model": "m"}


def _said(text: str) -> tuple[Message, ...]:
    return (Message(id="u", role="user", parts=(Text(text=text),)),)


def _request(text: str, tools: tuple[object, ...]) -> ModelRequest:
    return ModelRequest(messages=_said(text), tools=tools)  # type: ignore[arg-type]
