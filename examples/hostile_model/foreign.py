"""Backstay tools out of somebody else's functions, with everything the boundary has to know in one JSON file.

A foreign function has a `name`, a `description` and `parameters`, a pydantic model; a runner calls it:
`run(name, kwargs)` returns `(result, error)`, or an awaitable of that. Nothing about it is believed: what it may do,
which arguments are destinations and which results are other people's text is read from the file, every function has to
stand in it, and a name in it that nobody has is an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import to_jsonable_python

from backstay import (
    Boundary,
    Constraint,
    DateRange,
    FilePath,
    FreeText,
    Id,
    Limits,
    Money,
    Quantity,
    Recipient,
    Risk,
    RunContext,
    Tool,
    ToolError,
    Url,
)
from backstay.core.errors import SetupError
from backstay.core.messages import Args

Runner = Callable[[str, dict[str, Any]], Any]
"""Calls a foreign function by name: `(result, error)`, where an error is a text and means that it failed."""


class Foreign(Protocol):
    """A function of somebody else, as AgentDojo and others have it."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What the model is told of it."""
        ...

    @property
    def parameters(self) -> type[BaseModel]:
        """Its arguments."""
        ...


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RiskByArgument(_Strict):
    """A risk that depends on the arguments."""

    otherwise: Literal["read", "write"] = "write"
    high_if: list[str] = Field(min_length=1, description="arguments that make a call high where they are not empty")


class ToolLabels(_Strict):
    """What the boundary has to know of one function."""

    risk: Literal["read", "write", "high"] | RiskByArgument
    effect: Literal["none", "keyed", "once"] | None = None
    egress: bool = Field(False, description="a read that carries data out, such as fetching a URL")
    untrusted: bool | list[str] = Field(False, description="whether its result is other people's text, or which fields")
    secret: list[str] = Field([], description="fields of its result that are secret")
    sinks: list[str] | None = Field(None, description="arguments that name a destination; default: every text")
    texts: list[str] = Field([], description="arguments that are words for a reader")
    meanings: dict[str, str] = Field({}, description="argument to meaning: recipient, url, path, text, id:mail…")
    constants: list[str] = Field([], description="destinations whose defaults and choices may be believed")
    errors: Literal["clean", "unknown"] = Field("unknown", description="clean: an error means nothing has happened")
    pin: str | None = Field(None, description="`fingerprint` of the function as it was when these labels were written")


class LimitLabels(_Strict):
    """Limits of a run; see `backstay.Limits`."""

    steps: int = 30
    calls: int = 60


class PolicyLabels(_Strict):
    """How questions are asked; see `backstay.Boundary`."""

    provenance: Literal["confirm", "block", "observe", "off"] = "confirm"
    cleared: list[str] = []
    questions: int = 8
    limits: LimitLabels = LimitLabels()


class ConstraintLabels(_Strict):
    """A rule as a record; see docs/boundary.md."""

    id: str
    text: str
    check: dict[str, Any]
    tools: list[str] = []
    argument: str = ""
    meaning: str = ""
    severity: Literal["block", "confirm", "warn"] = "block"
    on_missing: Literal["deny", "ask", "allow"] = "deny"


class Labels(_Strict):
    """The whole file."""

    version: Literal[1]
    policy: PolicyLabels = PolicyLabels()
    constraints: list[str | ConstraintLabels] = []
    tools: dict[str, ToolLabels]

    def boundary(self, **other: Any) -> Boundary:
        """The boundary that the file describes; `other` replaces single settings of it."""
        made: dict[str, Any] = {
            "constraints": [one if isinstance(one, str) else _constraint(one) for one in self.constraints],
            "provenance": self.policy.provenance,
            "cleared": frozenset(self.policy.cleared),
            "questions": self.policy.questions,
            "limits": Limits(steps=self.policy.limits.steps, calls=self.policy.limits.calls),
        }
        return Boundary(**{**made, **other})


def read_labels(source: Path | Mapping[str, Any]) -> Labels:
    """Read a labels file, or what has been read out of one (JSON, or YAML by whoever has a reader for it).

    Raises:
        SetupError: naming every problem.
    """
    where = source.name if isinstance(source, Path) else "labels"
    try:
        data = json.loads(source.read_text("utf-8")) if isinstance(source, Path) else source
        return Labels.model_validate(data)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise SetupError(f"{where}: {told}") from error
    except ValueError as error:
        raise SetupError(f"{where} is not JSON: {error}") from error


def foreign_tools(functions: Iterable[Foreign], labels: Labels, run: Runner) -> list[Tool]:
    """Make a tool of every function.

    Args:
        functions: what there is; each has to stand in the labels.
        labels: see `Labels`.
        run: calls one by name.

    Raises:
        SetupError: with every function that has no labels, every name in the labels that nobody has, and every
            function that is not what it was when it was labelled.
    """
    known = {one.name: one for one in functions}
    problems = [f"the function {name!r} has no labels" for name in known if name not in labels.tools]
    problems += [f"labels for {name!r}, which is no function here" for name in labels.tools if name not in known]
    for name in known.keys() & labels.tools.keys():
        problems += [f"{name}: {told}" for told in _problems(known[name], labels.tools[name])]
    if problems:
        raise SetupError("; ".join(sorted(problems)))
    tools: list[Tool] = [ForeignTool(one, labels.tools[name], run) for name, one in known.items()]
    problems = [told for tool in tools for told in _believed(tool, labels.tools[tool.name])]
    if problems:
        raise SetupError("; ".join(problems))
    return tools


def fingerprint(function: Foreign) -> str:
    """SHA-256 over name, description and schema: what a model would be shown of the function."""
    shown = [function.name, function.description, function.parameters.model_json_schema()]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


class ForeignTool(Tool):
    """A foreign function as a tool. Foreign code may keep state, so its calls run one after the other."""

    sequential = True

    def __init__(self, function: Foreign, labels: ToolLabels, run: Runner) -> None:
        self.name = function.name
        self.description = function.description
        self.input_schema = _marked(function.parameters, labels)
        self.risk = labels.risk if isinstance(labels.risk, str) else _risk(labels.risk)
        self.effect = labels.effect
        self.egress = labels.egress
        self.untrusted = labels.untrusted if isinstance(labels.untrusted, bool) else frozenset(labels.untrusted)
        self.secret = frozenset(labels.secret)
        self.sinks = None if labels.sinks is None else frozenset(labels.sinks)
        self.max_attempts = 1
        self.is_clean = labels.errors == "clean"
        self.call = run

    async def _run(self, input: BaseModel, context: RunContext[Any]) -> object:
        done = await asyncio.to_thread(self.call, self.name, input.model_dump())
        result, error = await done if isawaitable(done) else done
        if error:
            raise ToolError(str(error), applied=False if self.is_clean else None)
        return to_jsonable_python(result)


def _risk(labels: RiskByArgument) -> Callable[[Args], Risk]:
    def risk(args: Args) -> Risk:
        return "high" if any(args.get(name) for name in labels.high_if) else labels.otherwise

    return risk


def _constraint(labels: ConstraintLabels) -> Constraint:
    return Constraint.of(
        labels.text,
        labels.check,
        id=labels.id,
        tools=labels.tools,
        argument=labels.argument,
        meaning=labels.meaning,
        severity=labels.severity,
        on_missing=labels.on_missing,
    )


_MARKS: Mapping[str, Callable[[str], object]] = {
    "recipient": lambda _: Recipient(),
    "url": lambda _: Url(),
    "path": lambda _: FilePath(),
    "text": lambda _: FreeText(),
    "id": Id,
    "money": Money,
    "quantity": Quantity,
    "date_range": lambda bound: DateRange(bound if bound in ("start", "end") else "whole"),  # type: ignore[arg-type]  # narrowed
}


def _problems(function: Foreign, labels: ToolLabels) -> list[str]:
    """What is wrong with the labels of one function."""
    arguments = set(function.parameters.model_fields)
    high_if = labels.risk.high_if if isinstance(labels.risk, RiskByArgument) else []
    named = [*(labels.sinks or ()), *labels.texts, *labels.meanings, *labels.constants, *high_if]
    found = [f"it has no argument {name!r}" for name in dict.fromkeys(named) if name not in arguments]
    for name, meaning in labels.meanings.items():
        if meaning.partition(":")[0] not in _MARKS:
            found.append(f"{name} cannot mean {meaning!r}; expected one of {', '.join(_MARKS)}")
    if labels.pin is not None and labels.pin != fingerprint(function):
        found.append("name, description or schema have changed since it was labelled; look at it and pin it anew")
    return found


def _believed(tool: Tool, labels: ToolLabels) -> list[str]:
    """Destinations that a foreign schema names itself, as a default or a choice, and that nobody here has agreed to."""
    facts = tool.facts(None)
    names = sorted(name for name in facts.sinks & facts.constants.keys() if name not in labels.constants)
    return [f"{tool.name}: its schema names values of the destination {name!r}; list it in constants" for name in names]


def _marked(model: type[BaseModel], labels: ToolLabels) -> type[BaseModel]:
    """The same model with the meanings of the file."""
    meanings = {name: "text" for name in labels.texts} | labels.meanings
    fields: dict[str, Any] = {}
    for name, meaning in meanings.items():
        kind, _, of = meaning.partition(":")
        field = model.model_fields[name]
        fields[name] = (Annotated[field.annotation, _MARKS[kind](of)], field)
    return create_model(model.__name__, __base__=model, **fields) if fields else model
