"""A Python function as a tool sees it: what a model is shown, what validates its arguments, how it is called.

Source: SPEC T9, T10, T11; cases C01, C03, C05, C11.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import FrameType, MappingProxyType
from typing import Any, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter

from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import Args
from backstay.core.schema.canonical import adapter
from backstay.core.schema.docstring import read
from backstay.core.schema.marks import meanings_of, result_meanings
from backstay.core.schema.model import BUILD_FAILURES, arguments_model
from backstay.core.schema.names import Names, local_names, names_for, resolve
from backstay.core.schema.parameters import ABSENT, EMPTY, Parameter, bare, parameters_of, reserved_by, with_fields
from backstay.core.schema.typed_dicts import accept_typed_dicts

Call: TypeAlias = Callable[[BaseModel, object], Any]

_RETURNS = ConfigDict(arbitrary_types_allowed=True, ser_json_bytes="base64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """All that a function says of itself, read once."""

    name: str
    description: str
    """The docstring's summary and body, without its sections on arguments and result."""
    model: type[BaseModel]
    """Validates the arguments a model sees. Its fields are named otherwise where pydantic needs the name."""
    schema: Args
    """JSON Schema of the arguments, frozen."""
    meanings: Mapping[str, str]
    """Argument → meaning, such as `money:EUR`; fields inside an object are dotted."""
    context_parameter: str | None
    """The parameter that gets the `RunContext`; not in the schema, and refused by name when a model sends it."""
    is_async: bool
    """Whether the call returns an awaitable."""
    returns: TypeAdapter[Any] | None
    """Of the declared return type; None where none is declared, or where pydantic has no schema for it."""
    result_meanings: Mapping[str, str]
    """Field of the result → meaning, as the declared return type has it."""
    _call: Call
    _parameters: tuple[Parameter, ...]

    def call(self, input: BaseModel, context: object) -> Any:
        """Call the function with the validated objects, each by its kind of parameter.

        Args:
            input: an instance of `model`, as `validate` returns it.
            context: given to the context parameter, whatever the arguments say.

        Returns:
            What the function returns; a coroutine where `is_async`.
        """
        return self._call(input, context)

    def call_other(self, function: Callable[..., Any], input: BaseModel, context: object) -> Any:
        """Call another function that takes the same parameters, such as a preview of what this one would do."""
        return _caller(function, list(self._parameters))(input, context)


def signature_of(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    frame: FrameType | None = None,
) -> Signature:
    """Read a function, method, partial or callable object.

    What `functools.partial` has bound by keyword is settled: it is not in the schema and no model can set it.

    Args:
        function: called later with real objects.
        name: of the tool; the function's own where left out.
        description: of the tool; the docstring's where left out. `""` is taken as it is.
        frame: the decorating frame, in which postponed annotations may name classes local to a function.

    Raises:
        ToolDefinitionError: naming the parameter that cannot work, code `tool.definition`; code `tool.undescribed`
            when there is no description.
    """
    if not callable(function):
        hint = "; put @tool below @classmethod" if isinstance(function, classmethod) else ""
        raise ToolDefinitionError(f"{type(function).__name__} is not callable and so no tool{hint}")
    _refuse_unbound(function, frame)
    said = name or _name(function)
    local = local_names(function, frame)
    names = names_for(function, frame, local)
    parameters, returned = parameters_of(function, said, names)
    docs = read(_docstring(function), [one.name for one in parameters])
    if description is None and not docs.description:
        raise ToolDefinitionError(
            f"tool {said!r} has no description; write a docstring or pass description=", code="tool.undescribed"
        )
    parameters = with_fields(parameters, docs)
    model, schema = arguments_model(said, parameters, reserved_by(function, parameters), local)
    returns, awaits, returned_meanings = _returns(returned, f"return of {said}", names, local)
    return Signature(
        name=said,
        description=docs.description if description is None else description,
        model=model,
        schema=schema,
        meanings=MappingProxyType(meanings_of(model, names)),
        context_parameter=next((one.name for one in parameters if one.field is None), None),
        is_async=awaits or _is_async(function),
        returns=returns,
        result_meanings=MappingProxyType(returned_meanings),
        _call=_caller(function, parameters),
        _parameters=tuple(parameters),
    )


def _refuse_unbound(function: Any, frame: FrameType | None) -> None:
    """Refuse a method taken in its class body, where `self` would become an argument of the model's."""
    in_class_body = (
        frame is not None and not frame.f_code.co_flags & inspect.CO_OPTIMIZED and "__qualname__" in frame.f_locals
    )
    if in_class_body and inspect.isfunction(function):
        first = next(iter(inspect.signature(function).parameters.values()), None)
        if first is not None and first.name in ("self", "cls") and first.annotation is EMPTY:
            raise ToolDefinitionError(
                f"parameter {first.name!r} of {function.__qualname__}: a method has no instance yet; make the tool of "
                f"the bound method, tool(instance.{function.__name__})"
            )


def _name(function: Any) -> str:
    function = bare(function)
    found = getattr(function, "__name__", None) or type(function).__name__
    if found == "<lambda>":
        raise ToolDefinitionError("a lambda has no name; pass name= and description=, or write a function")
    return str(found)


def _docstring(function: Any) -> str | None:
    """Return the text written on the function; for a callable object that of `__call__`, then that of its class."""
    function = bare(function)
    if inspect.isroutine(function) or inspect.isclass(function) or hasattr(function, "__wrapped__"):
        return inspect.getdoc(function)
    return type(function).__call__.__doc__ or inspect.getdoc(type(function))


def _is_async(function: Any) -> bool:
    function = bare(function)
    return inspect.iscoroutinefunction(function) or (
        not inspect.isroutine(function)
        and not inspect.isclass(function)
        and inspect.iscoroutinefunction(type(function).__call__)
    )


def _returns(
    declared: Any, where: str, names: Names, local: Mapping[str, Any]
) -> tuple[TypeAdapter[Any] | None, bool, dict[str, str]]:
    """Return the adapter of the declared type, whether an awaitable of it is declared, and what its fields mean."""
    if declared is EMPTY:
        return None, False, {}
    annotation = resolve(where, declared, names)
    awaits = get_origin(annotation) in (Awaitable, Coroutine)
    if awaits:
        annotation = get_args(annotation)[-1]
    accept_typed_dicts(annotation, names)
    try:
        return adapter(annotation, _RETURNS, local), awaits, result_meanings(annotation, names)
    except BUILD_FAILURES:  # dumped by what it is
        return None, awaits, {}


def _caller(function: Callable[..., Any], parameters: list[Parameter]) -> Call:
    positions = tuple(one.field for one in parameters if one.how == "position")
    keywords = tuple((one.name, one.field) for one in parameters if one.how == "keyword")
    rest = next((one.field for one in parameters if one.how == "positions"), None)
    more = next((one.field for one in parameters if one.how == "keywords"), None)

    def call(input: BaseModel, context: object) -> Any:
        values = input.__dict__
        args = [context if field is None else values[field] for field in positions]
        if rest is not None:
            args.extend(values[rest])
        if not keywords and more is None:
            return function(*args)
        named = {name: context if field is None else values[field] for name, field in keywords}
        named = {name: value for name, value in named.items() if value is not ABSENT}
        if more is not None:
            named |= values[more]
        return function(*args, **named)

    return call
