"""Arguments in, validated objects out, or every problem at once.

Source: SPEC T1, T5, T9; case C07 (the fields of a single model argument, wrapped or not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from backstay.core.canon import FrozenDict, canonical, freeze, thaw
from backstay.core.schema.canonical import ArgumentsError, Plan, canonical_args, plan_of
from backstay.core.schema.json_schema import SPREAD
from backstay.core.schema.problems import has_unknown_keys, problems, shown

__all__ = ["ArgumentsError", "validate"]

M = TypeVar("M", bound=BaseModel)


def validate(model: type[M], args: BaseModel | Mapping[str, Any]) -> M:
    """Return the validated arguments.

    A mapping may hold JSON, frozen or not, or real objects. A model is validated again from its fields, since it may
    have been changed or never checked. Where the tool takes one object, its fields may stand bare or wrapped in the
    parameter's name; whichever reading drops nothing counts.

    No key is dropped in silence, however deep it lies: one that the object there does not know is a problem, unless the
    object's class says `extra="ignore"` or `extra="allow"` itself.

    Raises:
        ArgumentsError: with all problems; the model sees each field, what was expected and what it sent.
    """
    plan = plan_of(model)
    given = _given(plan, model, args)
    if plan.sole is None:
        return _checked(model, given)
    told: ArgumentsError | None = None
    for reading in _readings(plan.sole, given):
        try:
            return _checked(model, reading)
        except ArgumentsError as refused:
            told = refused if told is None or reading is given else told
    assert told is not None
    raise told


def _checked(model: type[M], given: dict[str, Any]) -> M:
    """Validate as Python values, and once more as JSON text: a strict model takes dates and sets only from there."""
    validator = model.__pydantic_validator__
    try:
        return _closed(model, given, partial(validator.validate_python, given))
    except ArgumentsError as error:
        refused = error
    try:
        text = canonical(freeze(given)).encode("utf-8", "surrogatepass")
    except (TypeError, RecursionError):
        raise refused from refused.__cause__
    try:
        return _closed(model, given, partial(validator.validate_json, text))
    except ArgumentsError as error:
        cause = error.__cause__
        is_no_json = isinstance(cause, ValidationError) and cause.errors(include_url=False)[0]["type"] == "json_invalid"
        raise (refused if is_no_json else error) from cause


def _closed(model: type[M], given: dict[str, Any], validated: Callable[..., Any]) -> M:
    """Validate as if every class inside forbade other keys, and where one was found, as the classes themselves have it.

    What the second validation finds is wrong, and so are keys that only an object which does not speak of them got.
    """
    try:
        return cast("M", validated(extra="forbid"))
    except ValidationError as error:
        if not has_unknown_keys(error):
            raise ArgumentsError(problems(error, given, model)) from error
        unknown, cause = problems(error, given, model, only_unknown=True), error
    try:
        found = cast("M", validated())
    except ValidationError as error:
        raise ArgumentsError(list(dict.fromkeys([*problems(error, given, model), *unknown]))) from error
    if unknown:
        raise ArgumentsError(unknown) from cause
    return found


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


def _readings(sole: tuple[str, frozenset[str] | None], given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the ways to read arguments of a tool that takes one object, those first that lose nothing.

    Where the object's own keys are there beside unknown ones it was meant to be wrapped, and is told as such.
    """
    key, known = sole
    inner = given.get(key)
    bare = known is None or given.keys() <= known
    wrapped = mixed = given.keys() <= {key}
    if wrapped and isinstance(inner, Mapping) and known is not None:
        wrapped, mixed = inner.keys() <= known, not inner.keys().isdisjoint(known)
    if wrapped or not bare:
        yield given
    if bare:
        yield {key: given}
    if mixed and bare and not wrapped:
        yield given
