"""The JSON Schema a model is shown: what pydantic makes, without its noise.

No titles made from names, a Decimal in two short lines, bytes as base64, extra keyword arguments where JSON Schema has
them, no other keys in objects that do not speak of them. Source: SPEC T9; case C13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, core_schema

from backstay.core.canon import freeze
from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import Args

SPREAD = "**"
"""The key of a function's model for what went into `**kwargs`; in JSON these keys stand beside the others."""
NUMERIC = r"^[+-]?\d+(\.\d+)?$"
"""What the text of a Decimal looks like, for models and constrained decoders."""


_schemas: WeakKeyDictionary[type[BaseModel], Args] = WeakKeyDictionary()


def model_schema(model: type[BaseModel]) -> Args:
    """Return the frozen JSON Schema of a model's arguments: descriptions, required, enum, examples, no titles.

    Made once for each class.

    Raises:
        ToolDefinitionError: when a field has no JSON form.
    """
    found = _schemas.get(model)
    if found is not None:
        return found
    try:
        schema = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Shown)
        spread = schema.get("properties", {}).pop(SPREAD, None)
        if spread is not None:
            schema["additionalProperties"] = _extra(spread)
        made = _schemas[model] = cast("Args", freeze(schema))
        return made
    except (PydanticInvalidForJsonSchema, PydanticSerializationError, TypeError, ValueError) as error:
        raise ToolDefinitionError(f"{model.__name__}: it has no JSON Schema ({reason(error)})") from error


def result_schema(returns: TypeAdapter[Any]) -> Args:
    """Return the frozen JSON Schema of what `dump_result` makes of a declared return type."""
    try:
        return cast("Args", freeze(returns.json_schema(by_alias=True, mode="serialization", schema_generator=_Shown)))
    except (PydanticInvalidForJsonSchema, PydanticSerializationError, TypeError, ValueError) as error:
        raise ToolDefinitionError(f"the declared return type has no JSON Schema ({reason(error)})") from error


def reason(error: Exception) -> str:
    """Return the first sentence of an error's message."""
    first = next(iter(str(error).strip().splitlines()), "")
    return first.partition(". Set `")[0] or type(error).__name__


def _extra(spread: JsonSchemaValue) -> JsonSchemaValue | bool:
    values = spread.get("additionalProperties", True)
    said = spread.get("description")
    if not said:
        return cast("JsonSchemaValue | bool", values)
    return {"description": said, **(values if isinstance(values, dict) else {})}


def _config(cls: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration of a dataclass or TypedDict: its own, or else that of the model it stands in.

    Whether that model ignores other keys or says nothing of them looks the same in a TypedDict; it counts as nothing.
    """
    own: Mapping[str, Any] = getattr(cls, "__pydantic_config__", None) or {}
    around = schema.get("config", {}).get("extra_fields_behavior")
    if schema["type"] == "typed-dict":
        around = next((one for one in (schema.get("extra_behavior"), around) if one != "ignore"), None)
    return own if around is None else {"extra": around, **own}


class _Shown(GenerateJsonSchema):
    """pydantic's generator, told what a language model has no use for."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012  # pydantic reads it from the class
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        shown = super().generate(schema, mode)
        for named in (shown, *shown.get("$defs", {}).values()):
            named.pop("title", None)
        return shown

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return self._closed(super().model_schema(schema), schema["cls"].model_config)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return self._closed(super().dataclass_schema(schema), _config(schema["cls"], schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return self._closed(super().typed_dict_schema(schema), _config(schema.get("cls"), schema))

    def _closed(self, shown: JsonSchemaValue, config: Mapping[str, Any]) -> JsonSchemaValue:
        """Say that an object takes no other keys, unless its class says what becomes of them; see `validate`."""
        if self.mode == "validation" and "extra" not in config and "properties" in shown:
            shown.setdefault("additionalProperties", False)
        return shown

    def encode_default(self, dft: Any) -> Any:
        try:
            return super().encode_default(dft)
        except UnicodeDecodeError as error:  # bytes that are no text; the default is not shown
            raise PydanticSerializationError(str(error)) from error

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        text = {"type": "string", "pattern": NUMERIC}
        if self.mode == "serialization":
            return {"type": "string"}
        limits = {
            key: float(cast("Any", schema)[key])
            for key in ("multiple_of", "le", "ge", "lt", "gt")
            if schema.get(key) is not None
        }
        number = self.float_schema(core_schema.float_schema(**cast("Any", limits)))
        return {"anyOf": [number, text]}

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        shown = super().bytes_schema(schema)
        if shown.get("format") == "base64url" or self.mode == "serialization":
            del shown["format"]
            shown["contentEncoding"] = "base64"
        return shown
