"""`Tool`: a name, a description, an input schema and an async `_run`; what it declares about its risk and its effect.

`run` is the fixed pipeline and cannot be overridden. Source: SPEC T1, T2, T4, T12, T13.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any, ClassVar, final, get_args

from pydantic import BaseModel, TypeAdapter

from backstay.core.canon import EMPTY, digest, freeze
from backstay.core.context import Effect, RunContext, ToolFacts
from backstay.core.errors import ToolDefinitionError
from backstay.core.fields import fields_named
from backstay.core.files import FORMAT, File
from backstay.core.hiding import hide_json, hide_result
from backstay.core.ids import new_span_id
from backstay.core.messages import PLAIN, Args, Artifact, Json, Label, Risk, ToolCall, ToolResult, ToolSpec
from backstay.core.schema import (
    ArgumentsError,
    constants_of,
    dump_result,
    meanings_of,
    model_schema,
    result_meanings,
    validate,
)
from backstay.core.schema.marks import ANY_KEY
from backstay.tools import pipeline
from backstay.tools.cache import Cache
from backstay.tools.danger import danger_in
from backstay.tools.files import takes_files
from backstay.tools.outside import outside_context
from backstay.tools.summary import IDS, summarise, words_of

_FIXED = ("run", "validate", "result", "facts", "spec", "is_hidden", "undeclared_danger", "check")
_RISKS = get_args(Risk)
_EFFECTS = get_args(Effect)
_NOT_SINKS = ("text", "money:", "quantity:", "date_range:")


class Tool(ABC):
    """Something an agent can do. Subclass it, or make one from a function with `@tool`.

    A subclass sets `name`, `description` and `input_schema`, says its `risk`, and implements `_run`.
    """

    name: str
    """What the model calls it: letters, digits, `_` and `-`, at most 64 characters."""
    description: str
    input_schema: type[BaseModel]

    risk: Risk | Callable[[Args], Risk] | None = None
    """`read` runs; `write` runs and is audited; `high` is never shown to the model, only proposed to a person.
    Deletion, bulk change, payment and what cannot be undone are high. A function gets the canonical arguments.
    None: `write`."""
    effect: Effect | None = None
    """`none` may repeat, `keyed` repeats with the same `idempotency_key`, `once` runs at most once. Default: a read has
    none, everything else happens at most once."""
    egress: bool = False
    """A read that carries data out, such as fetching a URL."""
    untrusted: bool | frozenset[str] = False
    """Whether its output is other people's text; or the fields of it that are, wherever they stand. A result with such
    a field makes the conversation untrusted, since what it has read it has read; its other fields may be believed."""
    secret: frozenset[str] = frozenset()
    """Fields of its output that are secret."""
    sinks: frozenset[str] | None = None
    """Arguments that name a destination. Default: every text of a write or high tool not marked `FreeText`."""
    keep: tuple[str, ...] = ()
    """Fields of its data that stay verbatim when a result shrinks: names, dotted ends of paths, `*` for any letters.
    Default: ids, and fields that the return type gives a meaning (`Money`, `Id`...)."""
    downstream: str | None = None
    """What it depends on; tools of one downstream share a circuit. Default: its own name."""
    timeout: float = 60.0
    """Seconds one attempt may take."""
    max_attempts: int = 2
    cache: Cache | None = None
    """Only for reads without effect."""
    sequential: bool = False
    """Run in order with the other calls of its step instead of beside them."""
    examples: Sequence[tuple[str, Args]] = ()
    """Pairs of a user's text and the arguments it should lead to."""
    version: str = ""
    """Part of cache keys: raise it when the same input gives another result."""
    undo: Callable[..., Any] | None = None
    """How what it did can be undone; present means reversible."""
    reconcile: Callable[[str], Awaitable[ToolResult | None]] | None = None
    """Given an idempotency key, find out after a crash whether the effect happened: its result; None: cannot tell."""
    returns: ClassVar[Any] = None
    """The type of what `_run` returns, if its dump depends on it."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for fixed in _FIXED:
            if getattr(cls, fixed) is not getattr(Tool, fixed):
                raise ToolDefinitionError(
                    f"{cls.__name__}.{fixed} overrides the fixed pipeline; implement `_run`,"
                    " and change how a call is done with middleware"
                )

    @abstractmethod
    async def _run(self, input: Any, context: RunContext[Any]) -> object:
        """Do it. `input` is an instance of `input_schema`; return anything JSON can hold, or a `ToolResult`."""

    async def preview(self, input: Any, context: RunContext[Any]) -> str:
        """Say in a few words, from live state, what the call would do; shown to the person who decides."""
        return ""

    @final
    async def run(self, input: BaseModel | Args, ctx: RunContext[Any] | None = None) -> ToolResult:
        """Take one call through the pipeline: validated, judged, bounded in time, recorded.

        Args:
            input: the arguments, as a mapping or an instance of `input_schema`.
            ctx: the context of the run it belongs to; without one it is the program's own call, judged by nobody.

        Returns:
            A result in every case: a failure is `ok=False` with an error and a code, never an exception.
        """
        args = pipeline.arguments_of(input)
        outer: RunContext[Any] | None = None
        if ctx is None:
            ctx = outside_context(self.name, args)
        elif ctx.call is None or ctx.call.name != self.name or ctx.call.args is not args:
            outer, ctx = ctx, _nested(self.name, args, ctx)
        call = ctx.call
        if call is None:
            raise ToolDefinitionError(f"{self.name} was run with a context that names no call")
        result = await pipeline.run(self, call, ctx)
        if outer is not None:  # what the body returns may be made of it
            outer.label = outer.label.join(result.label)
        return result

    @final
    def validate(self, args: Args) -> list[str]:
        """Every problem of the arguments at once, each naming field, expectation and value; empty if there is none."""
        try:
            validate(self.input_schema, args)
        except ArgumentsError as error:
            return list(error.problems)
        return []

    @final
    def facts(self, args: Args | None) -> ToolFacts:
        """What the boundary may know of the tool; with arguments the risk is resolved for them."""
        static = self._static_facts
        if args is None or not callable(self.risk):
            return static
        risk = self.risk(args)
        if risk not in _RISKS:
            raise ToolDefinitionError(f"{self.name}: its risk function returned {risk!r}, expected one of {_RISKS}")
        return static if risk == static.risk else replace(static, risk=risk, effect=self._effect(risk))

    @final
    def result(self, value: object, ctx: RunContext[Any]) -> ToolResult:
        """Wrap what `_run` returned: JSON for programs, a bounded text for the model, the labels it must carry.

        Registered credentials are gone from it before anything is cut, kept or shown.

        Raises:
            ToolError: when JSON cannot hold it, or a file in it is larger than may be kept.
        """
        if isinstance(value, ToolResult):
            return self._completed(hide_result(value), ctx)
        files = list[File](ctx.attached)
        data = hide_json(dump_result(value, self._returns, files))
        label = self._static_facts.label.join(ctx.label)
        artifacts = self._kept_files((), files, label, ctx) if files else ()
        told = None if isinstance(value, File) else data
        shown = summarise(told, ctx.result_tokens, keep=self.keep, artifacts=artifacts)
        return ToolResult(
            ok=True,
            summary=shown.text,
            data=data,
            keep=self.keep or self._typed_results,
            ref=_ref(ctx) if shown.is_cut else None,
            artifacts=artifacts,
            label=label,
            labels=self._labels_in(data, ctx.label),
        )

    def _completed(self, given: ToolResult, ctx: RunContext[Any]) -> ToolResult:
        """The tool's own result with what it must carry; what it says itself stands."""
        data, words, keep = freeze(given.data), words_of(given), given.keep or self.keep
        label = self._static_facts.label.join(ctx.label).join(given.label)
        artifacts = self._kept_files(given.artifacts, ctx.attached, label, ctx)
        shown = summarise(words or data, ctx.result_tokens, keep=keep, artifacts=artifacts)
        return replace(
            given,
            summary=shown.text,
            data=words if shown.is_cut and words and data is None else data,  # what is cut off is read again out of it
            keep=keep or self._typed_results,
            ref=given.ref or (_ref(ctx) if shown.is_cut else None),
            artifacts=artifacts,
            label=label,
            labels=self._labels_in(data, ctx.label.join(given.label)),
        )

    def _kept_files(
        self, given: Sequence[Artifact], files: Sequence[File], label: Label, ctx: RunContext[Any]
    ) -> tuple[Artifact, ...]:
        """The files of a result, each once, handed over to be kept."""
        made = {one.ref: one for one in given}
        for file in files:
            if file.ref not in made:
                made[file.ref] = ctx.host.attach(file, label)
        return tuple(made.values())

    def _labels_in(self, data: Json, beside: Label) -> tuple[tuple[str, Label], ...]:
        """The labels of single fields, by where these are in the data.

        Nothing, which means that the label of the whole is every field's, where a declared field is not there, since
        nobody knows then where its text is, and where something beside the declaration has a label.
        """
        if not self._static_facts.field_labels or self.untrusted is True or beside != PLAIN:
            return ()
        found: dict[str, Label] = {}
        for name, label in self._static_facts.field_labels.items():
            paths = {field.path for field in fields_named(data, (name,))}
            if not paths or any("." in step or not step for path in paths for step in path):
                return ()
            for path in sorted(".".join(path) for path in paths):
                found[path] = found.get(path, PLAIN).join(label)
        return tuple(found.items())

    @cached_property
    def _typed_results(self) -> tuple[str, ...]:
        """What stays when a result shrinks and nothing is named: ids, and what the return type gives a meaning.

        Empty where that is ids alone, which is what no name means.
        """
        marked = [path for path, meaning in self._result_meanings.items() if meaning != "text"]
        return (*IDS, *marked) if marked else ()

    @property
    def takes_context(self) -> bool:
        """Whether its result may depend on who asks; a subclass is taken to."""
        return True

    @property
    def is_reversible(self) -> bool:
        """Whether what it does can be undone."""
        return self.undo is not None

    @property
    def is_hidden(self) -> bool:
        """Whether no model is ever shown it: statically high."""
        return self.risk == "high"

    @final
    def check(self) -> None:
        """Refuse declarations that cannot be kept; called where the tool is made and where it joins a toolset.

        Raises:
            ToolDefinitionError: naming the tool and the declaration.
        """
        if not (self.risk is None or callable(self.risk) or self.risk in _RISKS):
            raise ToolDefinitionError(f"{self.name}: risk={self.risk!r}, expected one of {_RISKS} or a function")
        if self.effect is not None and self.effect not in _EFFECTS:
            raise ToolDefinitionError(f"{self.name}: effect={self.effect!r}, expected one of {_EFFECTS}")
        known = self._schema.get("properties", {})
        for unknown in sorted((self.sinks or frozenset()).difference(known if isinstance(known, Mapping) else ())):
            raise ToolDefinitionError(f"{self.name}: sinks names {unknown!r}, which is no parameter of it")
        if self.cache is not None and self.risk != "read":
            raise ToolDefinitionError(f"{self.name}: only a tool declared risk='read' may have a cache")
        if self.cache is not None and takes_files(self._schema):
            raise ToolDefinitionError(
                f"{self.name}: takes a file, so it cannot have a cache: a file belongs to one conversation"
            )
        if not self.timeout > 0 or self.max_attempts < 1:
            raise ToolDefinitionError(f"{self.name}: timeout must be above 0 seconds and max_attempts at least 1")

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as a model is shown it."""
        examples = tuple((text, args) for text, args in self.examples)
        return ToolSpec(name=self.name, description=self.description, schema=self._schema, examples=examples)

    @property
    def undeclared_danger(self) -> str | None:
        """The word of high impact in its name or description, if nobody has said what its risk is."""
        return danger_in(self.name, self.description) if self.risk is None else None

    @cached_property
    def _schema(self) -> Args:
        return model_schema(self.input_schema)

    @cached_property
    def _meanings(self) -> Mapping[str, str]:
        return meanings_of(self.input_schema)

    @cached_property
    def _result_meanings(self) -> Mapping[str, str]:
        return result_meanings(self.returns) if self.returns is not None else EMPTY

    @cached_property
    def _returns(self) -> TypeAdapter[Any] | None:
        return TypeAdapter(self.returns) if self.returns is not None else None

    def _effect(self, risk: Risk) -> Effect:
        return self.effect or ("none" if risk == "read" else "once")

    @cached_property
    def _static_facts(self) -> ToolFacts:
        risk: Risk = "write" if self.risk is None or callable(self.risk) else self.risk
        effect = self._effect(risk)
        sinks = self.sinks if self.sinks is not None else self._default_sinks(risk)
        required = freeze(self._schema.get("required", ()))
        declared: Json = "depends" if callable(self.risk) else risk
        fields = self._field_labels()
        return ToolFacts(
            name=self.name,
            digest=digest(
                {"name": self.name, "risk": declared, "effect": effect, "sinks": sorted(sinks), "required": required}
            ),
            risk=risk,
            effect=effect,
            egress=self.egress,
            sinks=sinks,
            texts=frozenset(name for name, meaning in self._meanings.items() if meaning == "text"),
            meanings=self._meanings,
            label=reduce(Label.join, fields.values(), Label(trusted=False) if self.untrusted is True else PLAIN),
            field_labels=fields,
            constants=constants_of(self._schema),
        )

    def _meaning_of(self, name: str) -> str:
        """What an argument means; of an object with keys of its own, what its values mean."""
        return self._meanings.get(name) or self._meanings.get(f"{name}.*", "")

    def _field_labels(self) -> dict[str, Label]:
        labels = (
            {name: Label(trusted=False) for name in self.untrusted} if isinstance(self.untrusted, frozenset) else {}
        )
        for name in self.secret:
            labels[name] = labels.get(name, PLAIN).join(Label(secrecy="secret"))
        return labels

    def _default_sinks(self, risk: Risk) -> frozenset[str]:
        if risk == "read" and not self.egress:
            return frozenset()
        properties = self._schema.get("properties", {})
        if not isinstance(properties, Mapping):
            return frozenset()
        others = self._schema.get("additionalProperties")  # what goes into `**kwargs` names a destination like any text
        named = {**properties, ANY_KEY: {"type": "string"} if others is True else others}
        return frozenset(
            name
            for name, schema in named.items()
            if _holds_text(schema) and not self._meaning_of(name).startswith(_NOT_SINKS)
        )


def _holds_text(schema: Json) -> bool:
    if isinstance(schema, Mapping):
        kinds = [one.get("type") for one in schema.get("anyOf", ()) if isinstance(one, Mapping)]  # type: ignore[union-attr]  # a schema's anyOf is an array
        if "number" in kinds:
            return False
        if schema.get("format") == FORMAT:  # a file says what goes out, not where
            return False
        return schema.get("type") == "string" or "$ref" in schema or any(_holds_text(one) for one in schema.values())
    return isinstance(schema, list | tuple) and any(_holds_text(one) for one in schema)


def _ref(ctx: RunContext[Any]) -> str | None:
    return f"{ctx.run_id}:{ctx.call.slot}" if ctx.call and ctx.run_id else None


def _nested(name: str, args: Args, ctx: RunContext[Any]) -> RunContext[Any]:
    """The context of a call that another call's body makes: judged like any, its effect under a key of its own."""
    ctx.nested += 1
    outer = ctx.call
    call = ToolCall(
        id=f"{outer.id}/{ctx.nested}" if outer else ctx.new_id("c"),
        name=name,
        args=args,
        slot=outer.slot if outer else 0,
    )
    key = f"{ctx.idempotency_key}/{ctx.nested}" if ctx.idempotency_key else call.id
    return ctx.child(call=call, span_id=new_span_id(), key=key)
