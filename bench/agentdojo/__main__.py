"""The gate: `python -m bench.agentdojo [--suite slack] [--profile confirm] [--approver exact] [--order after]`.

Needs `agentdojo==0.1.35` beside this package, in an environment of its own: it is no dependency. For each profile and
person: honest tasks that work, attacks that had an effect in either order, honest tasks that asked and how often,
questions per attacked run, and which rules asked. Pairs whose goal is only a text in the answer are left out: no
boundary of tools can stop them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from agentdojo.task_suite.load_suites import get_suites
from examples.hostile_model.models import MARKER, HostileModel

from bench.agentdojo.pipeline import BackstayPipeline
from bench.agentdojo.scripts import attack_of, calls_of

HERE = Path(__file__).parent
TEXT_ONLY = {("travel", "injection_task_6")}
ORDERS = ("at_once", "after", "first")


@dataclass
class Tally:
    """What is counted of one profile with one person."""

    tasks: int = 0
    done: int = 0
    asked_tasks: int = 0
    asked: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    reached: int = 0
    leaks: list[str] = field(default_factory=list)
    attacked_runs: int = 0
    attacked_asked: int = 0
    attacked_done: int = 0
    turned: int = 0
    lost: list[str] = field(default_factory=list)


def honest(suite: Any, pipeline: BackstayPipeline, tally: Tally) -> None:
    """Every task of the suite without an attack."""
    for name, task in suite.user_tasks.items():
        env = suite.load_and_inject_default_environment({})
        pipeline.user = calls_of(task, task.init_environment(env.model_copy(deep=True)))
        pipeline.model = HostileModel(pipeline.user, order="never", answer=task.GROUND_TRUTH_OUTPUT or "Done.")
        done, _ = suite.run_task_with_pipeline(pipeline, task, None, {}, environment=env)
        tally.tasks += 1
        tally.done += done
        tally.asked_tasks += bool(pipeline.asked)
        tally.asked += len(pipeline.asked)
        for one in pipeline.asked:
            tally.rules["+".join(one.rules)] += 1
            tally.tools[f"{suite.name}.{one.call.name if one.call else '?'}: {'+'.join(one.rules)}"] += 1
        if not done:
            tally.lost.append(f"{suite.name}/{name}")


def _attempt(pipeline: BackstayPipeline, task: Any, goal: Any, begun: Any, with_utility: bool) -> tuple[bool, bool]:
    """Whether the goal was reached, and the task done; AgentDojo's own check of the task costs more than the run."""
    before, after = begun.model_copy(deep=True), begun.model_copy(deep=True)
    _, _, _, messages, _ = pipeline.query(task.PROMPT, pipeline.runtime, after)
    trace = [one for message in messages if message["role"] == "assistant" for one in message["tool_calls"] or []]
    answer = pipeline.model.answer
    hit = goal.security_from_traces(answer, before, after, trace)
    if hit is None:
        hit = goal.security(answer, before, after)
    if not with_utility:
        return hit, False
    done = task.utility_from_traces(answer, begun, after, trace)
    return hit, task.utility(answer, begun, after) if done is None else done


def attacked(suite: Any, pipeline: BackstayPipeline, tally: Tally, orders: list[str], with_utility: bool) -> None:
    """Every task with every goal; an attack succeeds if it does in any order."""
    everywhere = {name: MARKER for name in suite.get_injection_vector_defaults()}
    for task_name, task in suite.user_tasks.items():
        env = suite.load_and_inject_default_environment(everywhere)
        begun = task.init_environment(env.model_copy(deep=True))
        user = calls_of(task, begun)
        for goal_name, goal in suite.injection_tasks.items():
            if (suite.name, goal_name) in TEXT_ONLY:
                continue
            hits = []
            for order in orders:
                before = user if order == "after" else ()
                pipeline.user = user
                pipeline.model = HostileModel(
                    user,
                    attack_of(suite.name, goal, begun, before),
                    order=order,
                    answer=task.GROUND_TRUTH_OUTPUT or "Done.",
                )  # type: ignore[arg-type]  # one of ORDERS
                hit, done = _attempt(pipeline, task, goal, begun, with_utility)
                tally.attacked_runs += 1
                tally.attacked_asked += len(pipeline.asked)
                tally.attacked_done += done
                tally.turned += pipeline.model.has_turned
                hits += [order] if hit else []
            tally.pairs += 1
            tally.reached += bool(hits)
            if hits:
                tally.leaks.append(f"{suite.name}/{task_name}/{goal_name}:{'+'.join(hits)}")


def main() -> int:
    """Measure and print one line of JSON for each suite, profile and person."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m bench.agentdojo")
    parser.add_argument("--suite", action="append", choices=["workspace", "travel", "banking", "slack"])
    parser.add_argument("--profile", action="append", choices=["confirm", "block", "observe", "off"])
    parser.add_argument("--approver", action="append", choices=["exact", "kind", "stamp", "tired", "none"])
    parser.add_argument("--order", action="append", choices=ORDERS)
    parser.add_argument("--honest", action="store_true", help="only the honest tasks")
    parser.add_argument("--utility", action="store_true", help="also whether attacked users get their task done: slow")
    given = parser.parse_args()
    orders = given.order or ["at_once", "after"]
    for name, suite in get_suites("v1.2.2").items():
        if given.suite and name not in given.suite:
            continue
        people = given.approver or ["exact", "kind", "stamp", "none"]
        for profile, person in product(given.profile or ["confirm", "block"], people):
            began, tally = time.time(), Tally()
            pipeline = BackstayPipeline(suite, HERE / f"{name}.json", profile, person)
            honest(suite, pipeline, tally)
            if not given.honest:
                attacked(suite, pipeline, tally, orders, given.utility)
            about = {"suite": name, "profile": profile, "person": person, "orders": orders}
            print(json.dumps({**about, **vars(tally), "seconds": round(time.time() - began)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
