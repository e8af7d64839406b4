"""The definition of an agent: what it is made of, checked and compiled once, without any conversation in it.

Source: SPEC G1, D7; DESIGN 8.14.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

from backstay.agents.middleware import Chains
from backstay.agents.output import FinalAnswerTool, OutputType
from backstay.agents.own_tools.catalogue import RecallTool
from backstay.agents.own_tools.memory import RememberTool, SearchMemoryTool
from backstay.agents.own_tools.plan import FixPlanTool
from backstay.agents.own_tools.questions import AskUserTool
from backstay.agents.prompts import Prompts
from backstay.agents.requirements import Requirement, plain
from backstay.boundary.budgets import Budget
from backstay.boundary.constraints import Constraint
from backstay.boundary.policy import Boundary, Limits
from backstay.boundary.reach import Shape, reports
from backstay.boundary.session_check import Reach, reach
from backstay.boundary.text import ToolWords, bind, parse_rule
from backstay.core.canon import digest
from backstay.core.context import Principal, RunContext
from backstay.core.errors import ConstraintError, SetupError
from backstay.core.messages import PLAIN, Args, Json, Label, ToolSpec
from backstay.memory.block import constraint_block
from backstay.memory.counting import tools_tokens
from backstay.memory.longterm.entry import LongTermMemory
from backstay.memory.longterm.remembering import REMEMBERING, Remembering
from backstay.memory.policies import WindowPolicy
from backstay.memory.window import SHARES, Shares
from backstay.models.model import ChatModel, Price
from backstay.models.prices import known_price, price_of
from backstay.tools.toolset import Toolset

Instructions: TypeAlias = "str | Callable[[RunContext[Any]], str | Awaitable[str]]"
DepsFor: TypeAlias = "Callable[[Principal, str], object]"
_OFFERS = 64
"""So many sets of tools have their tokens remembered."""


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
    role: str = ""
    notes: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    """Bound to its tools."""
    output: OutputType = field(default_factory=OutputType)
    prompts: Prompts = field(default_factory=Prompts)
    shares: Shares = SHARES
    """Who may have how much of the model's window."""
    summariser: ChatModel | None = None
    """Sums up what leaves the window; its own model where none is named."""
    memory_model: ChatModel | None = None
    """Proposes the working memory; its own model where none is named."""
    long_term: LongTermMemory | None = None
    """What outlives its sessions; the tools over it are in its toolset."""
    policy: WindowPolicy | None = None
    """How much of a session its requests show, inside the model's window; None: all that fits."""
    remembering: Remembering = REMEMBERING
    """What it looks up there for an input, and what it keeps there after a run."""
    reports: tuple[str, ...] = field(default=())
    """What a person should know of the rules: which are advisory, which reach no tool."""
    _tokens: dict[int, tuple[Sequence[ToolSpec], int]] = field(default_factory=dict, repr=False, compare=False)
    """Identity of a set of specs, which is kept here, and its tokens."""

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
            "prompts": digest([self.role, self.notes, self.prompts.texts]),
            "requirements": digest([plain(one) for one in self.requirements]),
            "version": digest(self.version),
            **_parts_of_memory(self.policy, self.remembering),
            **{f"tool:{tool.name}": digest([tool.spec.description, tool.facts(None).digest]) for tool in self.toolset},
        }

    @cached_property
    def price(self) -> Price:
        """What its model costs."""
        return price_of(self.model)

    @cached_property
    def tool_tokens(self) -> int:
        """Tokens that its tools take in a request, estimated."""
        return self.tokens_of(self.toolset.offered(self.toolset.names))

    def tokens_of(self, tools: Sequence[ToolSpec]) -> int:
        """Tokens of the tools that a request offers, counted once for each set that its toolset keeps."""
        known = self._tokens.get(id(tools))
        if known is None or known[0] is not tools:
            if len(self._tokens) >= _OFFERS:
                self._tokens.clear()
            known = self._tokens[id(tools)] = (tools, tools_tokens(tools))
        return known[1]

    @cached_property
    def rules_text(self) -> str:
        """The constraint block of a session that has added no rule."""
        return constraint_block(self.constraints)

    @cached_property
    def rules_digest(self) -> str:
        """SHA-256 of that block."""
        return digest(self.rules_text)

    @cached_property
    def policy_digest(self) -> str:
        """SHA-256 over the rules in force and the limits: what a question names as the policy that asked it."""
        policy = self.boundary
        return digest(
            [
                [_plain(one) for one in self.constraints],
                [_plain(policy.limits), _plain(policy.budgets)],
                _plain(policy.deciders),
                [policy.mode, policy.provenance, policy.plan, sorted(policy.cleared)],
                {name: _named(one) for name, one in policy.functions.items()},
                {kind: _named(one) for kind, one in policy.owners.items()},
            ]
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all parts: what runs, traces and approvals carry."""
        return digest(dict(self.parts))

    @cached_property
    def reach(self) -> Reach:
        """What its tools can do of what may not come together where nobody is asked."""
        return reach([tool.facts(None) for tool in self.toolset])

    def reach_with(self, label: Label) -> Reach:
        """The same for a session that has heard something of this label."""
        return self.reach if label == PLAIN else reach([tool.facts(None) for tool in self.toolset], label)

    @cached_property
    def words(self) -> tuple[ToolWords, ...]:
        """What a rule read from chat can bind to."""
        return tool_words(self.toolset)


def tool_words(toolset: Toolset) -> tuple[ToolWords, ...]:
    """Name, description, meanings and declared risk of every tool but the framework's own."""
    return tuple(
        ToolWords(
            name=tool.name,
            description=tool.description,
            meanings=tool.facts(None).meanings,
            risk=tool.risk if isinstance(tool.risk, str) else "",
        )
        for tool in toolset
        if not isinstance(
            tool, RecallTool | RememberTool | SearchMemoryTool | FixPlanTool | FinalAnswerTool | AskUserTool
        )
    )


def _parts_of_memory(policy: WindowPolicy | None, remembering: Remembering) -> dict[str, str]:
    """A digest of what an agent does with its memory otherwise than by default."""
    if policy is None and remembering == REMEMBERING:
        return {}
    return {"memory": digest([_settings_of(policy), _plain(remembering)])}


def _settings_of(value: object) -> Json:
    """A policy by its class and settings; functions by their names."""
    if value is None or not is_dataclass(value):
        return _plain(value) if value is None or isinstance(value, int | float | str) else _named(type(value))
    made = {one.name: getattr(value, one.name) for one in fields(value)}
    settings: dict[str, Json] = {
        name: _named(one) if callable(one) else _settings_of(one) for name, one in made.items()
    }
    return [type(value).__qualname__, settings]


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
    shapes = [Shape(tool.facts(None), tool.spec.schema) for tool in toolset if not isinstance(tool, FinalAnswerTool)]
    rules: list[Constraint] = []
    told: list[str] = []
    for number, rule in enumerate(boundary.constraints, 1):
        made = (
            bind(parse_rule(rule, now=time.time(), tools=words), words, author="developer", id=f"c{number}")
            if isinstance(rule, str)
            else rule
        )
        told += reports(made, shapes, boundary)
        rules.append(made)
    _refuse_doubled(rules)
    return tuple(rules), tuple(told)


def _refuse_doubled(rules: Iterable[Constraint]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            raise ConstraintError(f"two rules have the id {rule.id!r}; give each its own")
        seen.add(rule.id)


def check_limits(limits: Limits, model: ChatModel, budgets: Iterable[Budget] = ()) -> None:
    """Refuse a limit or a budget that could never be kept.

    Raises:
        SetupError: code `limits`, for a USD limit on a model whose price is unknown.
    """
    price = known_price(model)
    if limits.usd is not None and price is None:
        raise SetupError(
            f"Limits(usd={limits.usd}) cannot be kept: the price of {model.name} is unknown. Give the model a price,"
            " or limit tokens instead",
            code="limits",
        )
    over = next((one for one in budgets if one.usd is not None), None)
    if over is not None and price is None:
        raise SetupError(
            f"Budget(per={over.per!r}, usd={over.usd}) cannot be kept: the price of {model.name} is unknown. Give the"
            " model a price, or a budget of tokens instead",
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
