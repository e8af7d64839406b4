"""The names an annotation may use, and the annotation with every name in it resolved.

Source: SPEC T9 (postponed annotations, models local to a function); case C03.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
import typing
from collections import ChainMap, abc
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, get_type_hints

from pydantic import JsonValue

from backstay.core.context import RunContext
from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import Json

Names: TypeAlias = Mapping[str, Any]

_OURS: dict[str, Any] = {
    "RunContext": RunContext,
    "Json": JsonValue,
    "Mapping": abc.Mapping,
    "Sequence": abc.Sequence,
}
"""Names found even where the module imports them for type checkers only."""


def undecorated(function: Any) -> Any:
    """Return the plain function at the bottom of partials, methods, wrappers and callable objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType | staticmethod | classmethod):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isclass(function):
            return function.__init__
        elif callable(function) and not inspect.isroutine(function):
            function = type(function).__call__
        else:
            return function


def local_names(function: Any, frame: types.FrameType | None) -> dict[str, Any]:
    """Return what the function sees of the functions around it: its closure, and the frames that still run.

    Args:
        function: what is made into a tool.
        frame: the decorating frame; it and its callers count where the function was written inside them.
    """
    plain = undecorated(function)
    names: dict[str, Any] = {}
    for outer in reversed([found for found in _around(plain, frame) if found.f_code.co_flags & inspect.CO_OPTIMIZED]):
        names |= outer.f_locals
    for name, cell in zip(
        getattr(getattr(plain, "__code__", None), "co_freevars", ()),
        getattr(plain, "__closure__", None) or (),
        strict=False,
    ):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names | {str(one): one for one in getattr(plain, "__type_params__", ())}


def names_for(function: Any, frame: types.FrameType | None, local: Mapping[str, Any]) -> Names:
    """Return the names an annotation of `function` may use: as Python would look them up, then where else it may be.

    A class body comes after the builtins, since a method called `list` must not hide `list`.
    """
    plain = undecorated(function)
    module: dict[str, Any] = getattr(plain, "__globals__", {})
    bodies = [dict(found.f_locals) for found in _around(plain, frame)]
    here = [dict(frame.f_locals)] if frame else []
    chain = ChainMap({}, dict(local), module, vars(builtins), *bodies, *here, *_owners(function), _OURS)
    if isinstance(chain.get("Json"), str) and chain["Json"] == Json:
        chain.maps[0]["Json"] = JsonValue  # our alias names itself in a string, which pydantic cannot follow
    return chain


def _around(plain: Any, frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """Yield the frames whose code the function stands in, innermost first."""
    qualname: str = getattr(plain, "__qualname__", "")
    module = getattr(plain, "__globals__", None)
    while frame is not None:
        code = frame.f_code
        inside = qualname.startswith((f"{code.co_qualname}.<locals>.", f"{code.co_qualname}."))
        if frame.f_globals is module and (inside or code.co_name == "<module>"):
            yield frame
        frame = frame.f_back


def _owners(function: Any) -> list[dict[str, Any]]:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, types.MethodType):
        function = function.__self__
    elif inspect.isroutine(function):
        return []
    owner = function if inspect.isclass(function) else type(function)
    return [dict(vars(cls)) for cls in owner.__mro__ if cls is not object]


def resolve(where: str, annotation: Any, names: Names) -> Any:
    """Return the annotation with every string in it resolved.

    Args:
        where: how an error names the place, such as `parameter 'x' of f`.
        annotation: as `inspect.signature` gives it.
        names: see `names_for`.

    Raises:
        ToolDefinitionError: when a name in it leads nowhere or it is not a type.
    """
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(holder, globalns={}, localns=typing.cast("dict[str, Any]", names), include_extras=True)[
            "it"
        ]
    except NameError as error:
        if _names_context(annotation, names):
            return RunContext
        raise ToolDefinitionError(
            f"{where}: its annotation {annotation!r} names {error.name!r}, which is not defined at run time; import or "
            f"define it before the tool (an import under TYPE_CHECKING does not count)"
        ) from error
    except (AttributeError, TypeError, SyntaxError) as error:
        raise ToolDefinitionError(
            f"{where}: its annotation {annotation!r} is not a type ({error}); annotate it with a type"
        ) from error


def _names_context(annotation: Any, names: Names) -> bool:
    """Whether a postponed annotation is `RunContext[X]` with an X nobody can see: the X does not matter."""
    if not isinstance(annotation, str) or "[" not in annotation:
        return False
    head, *rest = annotation.split("[")[0].strip("'\" ").split(".")
    found = names.get(head)
    for name in rest:
        found = getattr(found, name, None)
    return found is RunContext
