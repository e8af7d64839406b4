"""Arguments in, validated objects out, or every problem at once.

Source: SPEC T1, T5, T9; case C07 (the fields of a single model argument, wrapped or not).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from backstay.core.canon import FrozenDict, canonical, freeze, thaw
from backstay.core.schema.canonical import ArgumentsError, Plan, canonical_args, plan_of
from backstay.core.schema.json_schema import SPREAD
from backstay.core.schema.problems import problems, shown

__all__ = ["ArgumentsError", "validate"]

M = TypeVar("M", bound=BaseModel)


def validate(model: type[M], args: BaseModel | Mapping[str, Any]) -> M:
    """Return the validated arguments.

    A mapping may hold JSON, frozen or not, or real objects. A model is validated again from its fields, since it may
    have been changed or never checked. Where the tool takes one object, its fields may stand bare or wrapped in the
    parameter's name; whichever reading drops nothing counts.

    Raises:
        ArgumentsError: with all problems; the model sees each field, what was expected and what it sent.
    """
    plan = plan_of(model)
    given = _given(plan, model, args)
    if plan.sole is None:
        try:
            return model.__pydantic_validator__.validate_python(given)  # type: ignore[no-any-return]  # the core is untyped
        except ValidationError as error:
            return _from_json(model, given, error)
    first: ArgumentsError | None = None
    for reading in _readings(plan.sole, given):
        try:
            return model.__pydantic_validator__.validate_python(reading)  # type: ignore[no-any-return]  # the core is untyped
        except ValidationError as error:
            try:
                return _from_json(model, reading, error)
            except ArgumentsError as refused:
                first = first or refused
    assert first is not None
    raise first


def _given(plan: Plan, model: type[BaseModel], args: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    if type(args) is dict:
        return args
    if isinstance(args, FrozenDict):
        return {key: thaw(value) for key, value in args.items()}
    if isinstance(args, model):
        return _fields(plan, args)
    if isinstance(args, BaseModel):
        return {key: thaw(value) for key, value in canonical_args(args).items()}
    if isinstance(args, Mapping):
        return dict(args)
    raise ArgumentsError([f"arguments: expected an object, got {shown(args)}"])


def _fields(plan: Plan, input: BaseModel) -> dict[str, Any]:
    found = {key: input.__dict__[name] for name, key in plan.keys if name in input.__pydantic_fields_set__}
    extra: dict[str, Any] = found.pop(SPREAD, {})
    return found | extra | (input.__pydantic_extra__ or {})


def _from_json(model: type[M], given: dict[str, Any], error: ValidationError) -> M:
    """Try once more as JSON text: a strict model takes from JSON what it would not take from Python (dates, sets)."""
    try:
        text = canonical(freeze(given))
    except (TypeError, RecursionError):
        raise ArgumentsError(problems(error, given, model)) from error
    try:
        return model.__pydantic_validator__.validate_json(text.encode("utf-8", "surrogatepass"))  # type: ignore[no-any-return]  # the core is untyped
    except ValidationError as second:
        kept = error if any(detail["type"] == "json_invalid" for detail in second.errors(include_url=False)) else second
        raise ArgumentsError(problems(kept, given, model)) from error


def _readings(sole: tuple[str, frozenset[str] | None], given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the ways to read arguments of a tool that takes one object, those first that lose nothing."""
    key, known = sole
    inner = given.get(key)
    wrapped = given.keys() <= {key}
    if wrapped and isinstance(inner, Mapping) and known is not None:
        wrapped = inner.keys() <= known
    bare = known is None or given.keys() <= known
    if wrapped or not bare:
        yield given
    if bare:
        yield {key: given}
