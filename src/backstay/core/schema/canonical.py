"""The one frozen form of validated arguments: judged, journalled, executed, cached.

`validate(model, canonical_args(input))` is equal to `input`. Defaults are in it, coercions are undone, keys are the
names the model uses. A default that JSON cannot hold, or that its own parameter would refuse, is left out while it is
the default: validating fills it in again. Source: SPEC B1, T6, T8.
"""

from __future__ import annotations

import base64
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, cast
from weakref import WeakKeyDictionary

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    create_model,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, PydanticUndefined, SchemaError, to_jsonable_python

from backstay.core.canon import FrozenDict, canonical, freeze, thaw
from backstay.core.errors import ToolInputError
from backstay.core.messages import Json
from backstay.core.schema.json_schema import SPREAD
from backstay.core.schema.names import Names

LEFT_OUT: Final = object()
"""Of a default: canonical arguments have no such key while it is the default."""
AS_IT_IS: Final = object()
"""Of a default: it stands for itself."""
_SIMPLE = frozenset({str, int, bool, type(None)})
_EXACT = 2**53
"""Below it 1.0 and 1 are one number to every reader of JSON, and are written alike."""
NO_SCHEMA = (PydanticSchemaGenerationError, PydanticUndefinedAnnotation, PydanticUserError, SchemaError, RecursionError)
"""What pydantic raises for a type it cannot validate."""


class Form(NamedTuple):
    """How values without a JSON form of their own become text."""

    bytes_mode: str
    """How bytes are read again: `utf8`, `base64`, `hex`."""
    for_result: bool = False
    """In results secrets stay hidden; in arguments they must validate to themselves again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is known of a model class beforehand, so that a call costs no reflection."""

    keys: tuple[tuple[str, str], ...]
    """Field and the key it has in JSON."""
    accepted: frozenset[str]
    """Every key it can be given under, aliases included."""
    form: Form
    odd: Mapping[str, tuple[object, Any]]
    """Field → a default that does not stand for itself in canonical arguments, and what does: see `carried`."""
    sole: tuple[str, frozenset[str] | None] | None = None
    """The key of the only parameter, an object, and the keys of that object (None: any)."""


class ArgumentsError(ToolInputError):
    """Arguments that do not fit. `problems` has one line per problem, all of them at once.

    Args:
        problems: as `problems()` gives them.
    """

    def __init__(self, problems: list[str]) -> None:
        lines = "\n".join(f"- {problem}" for problem in problems)
        super().__init__(f"the arguments do not fit and nothing was done; mend them and call again:\n{lines}")
        self.problems = tuple(problems)


@dataclass(slots=True)
class _UnfitError(Exception):
    """A value in the arguments that JSON cannot hold."""

    what: str
    path: list[str] = field(default_factory=list)
    final: bool = False
    """No serializer of the user's may be asked: the value is an ordinary one, only impossible."""


_plans: WeakKeyDictionary[type[BaseModel], Plan] = WeakKeyDictionary()


def plan_of(model: type[BaseModel]) -> Plan:
    """Return the plan of a model class, made at its first use."""
    found = _plans.get(model)
    return found if found is not None else plan(model, odd={})


def plan(
    model: type[BaseModel],
    *,
    odd: Mapping[str, tuple[object, Any]],
    sole: tuple[str, frozenset[str] | None] | None = None,
) -> Plan:
    """Make and keep the plan of a model class.

    Args:
        model: complete; that is, without annotations still to be resolved.
        odd: of defaults that stand in the model as factories; see `Plan.odd`.
        sole: see `Plan.sole`.
    """
    config = model.model_config
    made = Plan(
        keys=tuple((name, key_of(name, field, config)) for name, field in model.model_fields.items()),
        accepted=frozenset(key for name, field in model.model_fields.items() for key in _accepted(name, field, config)),
        form=Form(config.get("val_json_bytes", "utf8")),
        odd=MappingProxyType({**_odd_defaults(model), **odd}),
        sole=sole,
    )
    _plans[model] = made
    return made


def key_of(name: str, field: FieldInfo, config: ConfigDict) -> str:
    """Return the key under which a field stands in the arguments."""
    return _accepted(name, field, config)[0]


def _accepted(name: str, field: FieldInfo, config: ConfigDict) -> list[str]:
    alias = field.validation_alias
    if alias is None or config.get("validate_by_alias") is False:
        return [name]
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    keys = [choice for choice in choices if isinstance(choice, str)]
    keys += [str(choice.path[0]) for choice in choices if isinstance(choice, AliasPath) and len(choice.path) == 1]
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    return [*keys, name] if by_name or not keys else keys


def _odd_defaults(model: type[BaseModel]) -> dict[str, tuple[object, Any]]:
    found: dict[str, tuple[object, Any]] = {}
    for name, info in model.model_fields.items():
        if info.default is PydanticUndefined:
            continue
        said = carried(info.rebuild_annotation(), info.default, model.model_config)
        if said is not AS_IT_IS:
            found[name] = (info.default, said)
    return found


def carried(annotation: Any, default: object, config: ConfigDict, local: Names = MappingProxyType({})) -> Any:
    """Return how a default stands in canonical arguments.

    `LEFT_OUT` where JSON, or its own type, would not give it back; another text than its own where validation turns it
    into something equal (0 for a Decimal is "0"); else `AS_IT_IS`.

    Args:
        annotation: of the field, what `Field` says included.
        default: never validated itself, as in Python.
        config: of the model the field stands in.
        local: names local to functions, for classes that name each other.
    """
    if type(default) in _SIMPLE and annotation is type(default):
        return AS_IT_IS
    form = Form(config.get("val_json_bytes", "utf8"))
    try:
        plain = _plain(default, form)
    except _UnfitError:
        return LEFT_OUT
    try:
        probe: type[BaseModel] = create_model("Probe", __config__=config, probed=(annotation, ...))
        if not probe.__pydantic_complete__:
            probe.model_rebuild(_types_namespace=dict(local))
    except NO_SCHEMA:
        return AS_IT_IS
    try:
        key = key_of("probed", probe.model_fields["probed"], config)
        found = probe.__pydantic_validator__.validate_python({key: thaw(plain)}).probed
        if found != default:
            return LEFT_OUT
        again = _plain(found, form)
    except Exception:  # the default's own `==`, or a validator of the user's
        return LEFT_OUT
    return AS_IT_IS if canonical(again) == canonical(plain) else again


def adapter(declared_type: Any, declared_config: ConfigDict, local_names: Mapping[str, Any]) -> TypeAdapter[Any]:
    """Return pydantic's adapter of any type; the configuration counts where the type has none of its own.

    The argument names are long because pydantic takes the locals of this frame for names the type may use.
    """
    try:
        made: TypeAdapter[Any] = TypeAdapter(declared_type, config=declared_config)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        made = TypeAdapter(declared_type)
    if not getattr(made, "pydantic_complete", True):  # pydantic 2.9 has raised already
        made.rebuild(_types_namespace=dict(local_names))
    return made


def canonical_args(input: BaseModel) -> FrozenDict:
    """Return the canonical JSON of validated arguments.

    Equal arguments give equal JSON: defaults are filled in, `"1"` for an int is 1, sets are sorted, a Decimal is text,
    bytes are base64 (where the model reads base64; the arguments of functions do).

    Raises:
        ArgumentsError: when a value was given that JSON cannot hold, such as NaN for a parameter of any type.
    """
    try:
        return _model(input)
    except _UnfitError as unfit:
        path = ".".join(reversed(unfit.path))
        raise ArgumentsError([f"{path or 'arguments'}: expected a value JSON can hold, got {unfit.what}"]) from None
    except RecursionError:
        raise ArgumentsError(["arguments: nested too deeply or inside themselves"]) from None


def jsonable(value: object) -> Json:
    """Return what a tool returned as frozen JSON, bytes as base64, sets sorted, secrets hidden.

    Raises:
        TypeError: when JSON cannot hold it.
    """
    try:
        return _plain(value, Form("base64", for_result=True))
    except _UnfitError as unfit:
        path = ".".join(reversed(unfit.path))
        raise TypeError(f"{unfit.what} at {path}" if path else unfit.what) from None


def _model(input: BaseModel) -> FrozenDict:
    plan = plan_of(type(input))
    odd, values, out = plan.odd, input.__dict__, {}
    for name, key in plan.keys:
        value = values[name]
        if type(value) in _SIMPLE and not odd:
            out[key] = value
        elif name in odd and (value is odd[name][0] or name not in input.__pydantic_fields_set__):
            if odd[name][1] is not LEFT_OUT:
                out[key] = odd[name][1]
        elif key == SPREAD:
            for extra, item in value.items():
                out[extra] = _at(extra, item, plan.form)
        else:
            _put(out, input, name, key, value, plan.form)
    for extra, item in (input.__pydantic_extra__ or {}).items():
        out[extra] = _at(extra, item, plan.form)
    return FrozenDict(out)


def _put(out: dict[str, Any], input: BaseModel, name: str, key: str, value: object, form: Form) -> None:
    try:
        out[key] = _plain(value, form)
    except _UnfitError as unfit:
        unfit.path.append(key)
        if name not in input.__pydantic_fields_set__:
            return
        if unfit.final:
            raise
        try:
            dumped = type(input).__pydantic_serializer__.to_python(input, mode="json", include={name}, by_alias=False)
            out[key] = freeze(dumped[name])
        except (PydanticSerializationError, TypeError, ValueError, KeyError):
            raise unfit from None


def _at(step: str, value: object, form: Form) -> Json:
    try:
        return _plain(value, form)
    except _UnfitError as unfit:
        unfit.path.append(step)
        raise


def _plain(value: object, form: Form) -> Json:  # one row per kind of value
    kind = type(value)
    if kind in _SIMPLE:
        return cast("Json", value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _UnfitError(str(value), final=True)
        return int(value) if value.is_integer() and abs(value) < _EXACT else float(value)
    if isinstance(value, Enum):
        return _plain(value.value, form)
    if isinstance(value, BaseModel) and value.__pydantic_root_model__:  # importing RootModel would build a model
        return _plain(value.root, form)  # type: ignore[attr-defined]  # a root model has one
    if isinstance(value, BaseModel) and not form.for_result:
        return _model(value)
    if isinstance(value, Mapping):
        return _mapping(value, form)
    if isinstance(value, list | tuple | deque):
        return tuple(_at(str(index), item, form) for index, item in enumerate(value))
    if isinstance(value, set | frozenset):
        return _sorted([_plain(item, form) for item in value])
    if is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, form)
    return _scalar(value, form)


def _mapping(value: Mapping[Any, Any], form: Form) -> FrozenDict:
    made = FrozenDict({(text := _key(key)): _at(text, item, form) for key, item in value.items()})
    if len(made) != len(value):
        raise _UnfitError("two keys that become the same text", final=True)
    return made


def _scalar(value: object, form: Form) -> Json:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return text_of(bytes(value), form.bytes_mode)
    if isinstance(value, SecretStr | SecretBytes) and not form.for_result:
        return _plain(value.get_secret_value(), form)
    try:
        made = to_jsonable_python(value)
    except (PydanticSerializationError, TypeError, ValueError):
        made = value
    if made is value or not isinstance(made, str | int | float):
        _refuse(value)
    return cast("Json", made)


def _refuse(value: object) -> NoReturn:
    raise _UnfitError(f"a {type(value).__name__}")


def text_of(value: bytes, mode: str) -> str:
    """Return bytes as the text that gives them again."""
    if mode == "base64":
        return base64.b64encode(value).decode("ascii")
    if mode == "hex":
        return value.hex()
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise _UnfitError("bytes that are no UTF-8 text", final=True) from None


def _key(key: object) -> str:
    if isinstance(key, str):
        return key.value if isinstance(key, Enum) else key
    try:
        return str(next(iter(to_jsonable_python({key: None}))))
    except (PydanticSerializationError, TypeError, ValueError):
        _refuse(key)


def _sorted(items: list[Json]) -> tuple[Json, ...]:
    try:
        return tuple(sorted(cast("list[Any]", items)))
    except TypeError:
        return tuple(sorted(items, key=canonical))


def _dataclass(value: Any, form: Form) -> FrozenDict:
    infos: Mapping[str, FieldInfo] = getattr(type(value), "__pydantic_fields__", {})
    config: ConfigDict = getattr(type(value), "__pydantic_config__", ConfigDict())
    form = Form(config.get("val_json_bytes", form.bytes_mode), form.for_result)
    out = {}
    for one in fields(value):
        if not one.init:
            continue
        key = key_of(one.name, infos[one.name], config) if one.name in infos else one.name
        item = getattr(value, one.name)
        try:
            out[key] = _at(key, item, form)
        except _UnfitError:
            if one.default is MISSING or item is not one.default:
                raise
    return FrozenDict(out)
