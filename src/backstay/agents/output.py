"""What an agent's answers are held to: text, or a type that a model fills by a tool or under a schema.

An answer is validated whole or not at all: free text is never searched for something that looks like JSON.
Source: SPEC G4; cases C75, C77.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from inspect import isfunction
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter, ValidationError, create_model

from backstay.core.canon import canonical, thaw
from backstay.core.context import RunContext
from backstay.core.errors import BackstayError, OutputError
from backstay.core.hiding import hide_json
from backstay.core.messages import Args, Json, ToolResult
from backstay.core.redaction import has_secrets
from backstay.core.schema import canonical_args, model_schema, validate
from backstay.core.schema.typed_dicts import accept_typed_dicts
from backstay.models.model import ModelProfile
from backstay.tools.tool import Tool

FINAL = "final_answer"
"""Name of the tool by which a model gives an answer of a type."""
MOST = 3
"""So many answers in a row that cannot be taken end the run: two are given back to the model."""
How: TypeAlias = Literal["text", "tool", "schema"]
_FENCED = re.compile(r"```[a-zA-Z]*\s*\n(.*)\n\s*```", re.DOTALL)
_VALUE = "value"


class OutputType:
    """An agent's output type, with the schema that a model is shown.

    Args:
        kind: `str` or None for text; a pydantic model, a dataclass, a TypedDict, a list, a union, and whatever pydantic
            can validate. What is no object in JSON stands under the one key `value`.

    Raises:
        OutputError: code `output.type`, for a type that has no JSON Schema.
    """

    def __init__(self, kind: Any = None) -> None:
        self.is_text = kind is None or kind is str
        self.takes_text = self.is_text or (get_origin(kind) in (Union, UnionType) and str in get_args(kind))
        self._kind = kind
        self._model: type[BaseModel] | None = None
        self.schema: Args = {}
        if self.is_text:
            return
        self._is_wrapped = not _is_object(kind)
        try:
            if isfunction(kind):
                raise TypeError("a function is no type")
            accept_typed_dicts(kind, {})
            self._model = _wrapped(kind) if self._is_wrapped else kind
            self.schema = model_schema(cast("type[BaseModel]", self._model))
        except Exception as error:  # pydantic has a dozen ways to refuse a type
            told = error.message if isinstance(error, BackstayError) else f"{type(error).__name__}: {error}"
            raise OutputError(
                f"output_type={kind!r} has no JSON Schema ({told.splitlines()[0]}); use text, a pydantic model, a"
                " dataclass, a TypedDict, or a list or union of such types",
                code="output.type",
            ) from error

    @property
    def model(self) -> type[BaseModel]:
        """The model of what a model fills in."""
        if self._model is None:
            raise OutputError("an agent that answers with text has no model of its answer", code="output.type")
        return self._model

    def how(self, profile: ModelProfile) -> How:
        """By what a model of this profile answers: words, JSON of a schema it is held to, or a call of the tool."""
        if self.is_text:
            return "text"
        return "schema" if profile.schema_output or not profile.tools else "tool"

    def read(self, text: str) -> object:
        """The value of an answer's JSON, which has to be the whole text (a code fence around all of it is taken off).

        Raises:
            OutputError: code `output.invalid`, with every problem by its field, as the model is told.
        """
        parsed = self.parsed(text)
        try:
            return self.value(validate(self.model, parsed))
        except BackstayError as error:
            raise OutputError(error.message) from error

    def parsed(self, text: str) -> dict[str, Any]:
        """The object that an answer's JSON is, or that it stands in; not validated.

        Raises:
            OutputError: code `output.invalid`, for a text that is no JSON, or none of an object where one is wanted.
        """
        whole = _FENCED.fullmatch(text.strip())
        try:
            parsed = json.loads(whole[1] if whole else text)
        except ValueError as error:
            raise OutputError(f"The answer is not JSON: {error}. Answer with JSON of the schema alone.") from None
        if has_secrets():
            parsed = thaw(hide_json(parsed))  # one that was written as escapes is none until it is read
        if self._is_wrapped and not (isinstance(parsed, dict) and parsed.keys() == {_VALUE}):
            return {_VALUE: parsed}
        if not isinstance(parsed, dict):
            raise OutputError(f"The answer is not an object but {type(parsed).__name__}. Answer with one object.")
        return parsed

    def inside(self, parsed: dict[str, Any]) -> Any:
        """What of an answer's object, whole or not, is the answer: all of it, or what stands under `value`."""
        return parsed[_VALUE] if self._is_wrapped and parsed.keys() == {_VALUE} else parsed

    def so_far(self, value: Json) -> object:
        """An answer that is still written: of the type where that much validates, else the JSON value as it is."""
        try:
            return self._adapter.validate_python(value, experimental_allow_partial="trailing-strings")
        except ValidationError:
            return value

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._kind)

    def value(self, valid: BaseModel) -> object:
        """What the program gets of the validated model."""
        return getattr(valid, _VALUE) if self._is_wrapped else valid


TEXT = OutputType()
"""Words, and nothing else."""


class FinalAnswerTool(Tool):
    """Gives the answer: it validates, and the run ends with what it was given."""

    name = FINAL
    description = "Give the final answer. Use it when you know all that the answer needs; call nothing beside it."
    risk = "read"
    sinks = frozenset()

    def __init__(self, output: OutputType) -> None:
        self.input_schema = output.model

    async def _run(self, input: BaseModel, context: RunContext[Any]) -> ToolResult:
        return ToolResult(ok=True, summary="The answer is given.", data=canonical_args(input))


def answer_text(result: ToolResult) -> str:
    """The answer that a call of the tool has given, as JSON text."""
    return canonical(result.data)


def _is_object(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, RootModel)


def _wrapped(kind: Any) -> type[BaseModel]:
    fields: dict[str, Any] = {_VALUE: (kind, Field(description="The answer."))}
    return create_model(FINAL, __config__=ConfigDict(extra="forbid"), **fields)
