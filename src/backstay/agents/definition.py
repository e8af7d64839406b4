"""The definition of an agent: what it is made of, checked and compiled once, without any conversation in it.

Source: SPEC G1, D7; DESIGN 8.14.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

from backstay.agents.middleware import Chains
from backstay.boundary.constraints import Constraint
from backstay.boundary.policy import Boundary, Limits
from backstay.boundary.predicates import check_problems, selects
from backstay.boundary.text import ToolWords, bind, parse_rule
from backstay.core.canon import digest
from backstay.core.context import Principal, RunContext
from backstay.core.errors import ConstraintError, SetupError
from backstay.core.messages import Args, Json
from backstay.memory.block import constraint_block
from backstay.models.model import ChatModel, Price
from backstay.tools.toolset import Toolset

Instructions: TypeAlias = "str | Callable[[RunContext[Any]], str | Awaitable[str]]"
DepsFor: TypeAlias = "Callable[[Principal, str], object]"


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What an agent is made of. Reusable by any number of runs at once."""

    name: str
    description: str
    instructions: Instructions
    model: ChatModel
    toolset: Toolset
    boundary: Boundary
    constraints: tuple[Constraint, ...]
    """The boundary's rules, read and bound to the tools."""
    chains: Chains
    deps_for: DepsFor | None = None
    """Makes what a run needs from principal and run id, when a process resumes a run it did not start."""
    settings: Args | None = None
    concurrency: int = 8
    """Calls of one step that run at once."""
    version: str = ""
    reports: tuple[str, ...] = field(default=())
    """What a person should know of the rules: which are advisory, which reach no tool."""

    @cached_property
    def parts(self) -> Mapping[str, str]:
        """A digest for each part, so that a report can name what changed."""
        return {
            "instructions": digest(
                self.instructions if isinstance(self.instructions, str) else _named(self.instructions)
            ),
            "boundary": self.policy_digest,
            "model": digest(self.model.name),
            "settings": digest(self.settings),
            "version": digest(self.version),
            **{f"tool:{tool.name}": digest([tool.spec.description, tool.facts(None).digest]) for tool in self.toolset},
        }

    @cached_property
    def price(self) -> Price:
        """What its model costs."""
        return Price(self.model.profile.price)

    @cached_property
    def rules_text(self) -> str:
        """The constraint block of a session that has added no rule."""
        return constraint_block(self.constraints)

    @cached_property
    def policy_digest(self) -> str:
        """SHA-256 over the rules in force and the limits: what a question names as the policy that asked it."""
        return digest([[_plain(one) for one in self.constraints], _plain(self.boundary.limits), self.boundary.mode])

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all parts: what runs, traces and approvals carry."""
        return digest(dict(self.parts))

    @cached_property
    def words(self) -> tuple[ToolWords, ...]:
        """What a rule read from chat can bind to."""
        return tool_words(self.toolset)


def tool_words(toolset: Toolset) -> tuple[ToolWords, ...]:
    """Name, description and meanings of every tool."""
    return tuple(
        ToolWords(name=tool.name, description=tool.description, meanings=tool.facts(None).meanings) for tool in toolset
    )


def _plain(value: object) -> Json:
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _named(function: Callable[..., object]) -> str:
    """`module:qualname` of a callable; its body is not part of a version."""
    target = inspect.unwrap(function)
    return f"{getattr(target, '__module__', '?')}:{getattr(target, '__qualname__', type(target).__qualname__)}"


def compile_rules(boundary: Boundary, toolset: Toolset) -> tuple[tuple[Constraint, ...], tuple[str, ...]]:
    """Read and bind the rules of a boundary; returns them with the reports about them.

    Raises:
        ConstraintError: for a record that names a tool or an argument nobody has, or whose check is wrong.
    """
    words = tool_words(toolset)
    rules: list[Constraint] = []
    reports: list[str] = []
    for number, rule in enumerate(boundary.constraints, 1):
        made = (
            bind(parse_rule(rule, now=time.time()), words, author="developer", id=f"c{number}")
            if isinstance(rule, str)
            else rule
        )
        reports += _report(made, toolset)
        rules.append(made)
    _refuse_doubled(rules)
    return tuple(rules), tuple(reports)


def _refuse_doubled(rules: Iterable[Constraint]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise ConstraintError(f"two rules have the id {rule.id!r}; give each its own")
        seen.add(rule.id)


def _report(rule: Constraint, toolset: Toolset) -> list[str]:
    if rule.check is None:
        return [f"{rule.id} {rule.text!r} is advisory: it is shown to the model and cannot be enforced"]
    problems = check_problems(rule.check)
    if problems:
        raise ConstraintError(f"rule {rule.id!r}: {'; '.join(problems)}")
    for name in rule.tools:
        if toolset.get(name) is None:
            raise ConstraintError(f"rule {rule.id!r} names the tool {name!r}, which this agent does not have")
    argument = rule.bind.get("argument")
    reached = [tool.name for tool in toolset if _reaches(rule, tool.name, toolset, argument)]
    if argument is not None and not reached:
        raise ConstraintError(f"rule {rule.id!r} names the argument {argument!r}, which none of its tools has")
    if not reached:
        return [f"{rule.id} {rule.text!r} reaches no tool: none has an argument of that meaning"]
    return []


def _reaches(rule: Constraint, name: str, toolset: Toolset, argument: str | None) -> bool:
    tool = toolset.get(name)
    if tool is None or (rule.tools and name not in rule.tools):
        return False
    if argument is not None:
        properties = tool.spec.schema.get("properties", {})
        return isinstance(properties, Mapping) and argument in properties
    meaning = rule.bind.get("meaning")
    return meaning is None or any(selects(meaning, has) for has in tool.facts(None).meanings.values())


def check_limits(limits: Limits, model: ChatModel) -> None:
    """Refuse a limit that could never be kept.

    Raises:
        SetupError: code `limits`, for a USD limit on a model whose price is unknown.
    """
    if limits.usd is not None and model.profile.price is None:
        raise SetupError(
            f"Limits(usd={limits.usd}) cannot be kept: the price of {model.name} is unknown. Give the model a price,"
            " or limit tokens instead",
            code="limits",
        )


def limits_with(base: Limits, given: Args | None) -> Limits:
    """The limits of one input: the definition's with what the input's record says over them."""
    if not given:
        return base
    values = {one.name: getattr(base, one.name) for one in fields(base)}
    for key, value in given.items():
        values[key] = Decimal(str(value)) if key == "usd" and value is not None else value
    return Limits(**values)
