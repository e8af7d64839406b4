"""Requirements joined to one agent: each a copy of its own, in the order of their priority."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass

from backstay.agents.requirements.rule import Requirement
from backstay.core.errors import RequirementError
from backstay.core.messages import Json
from backstay.tools.tool import Tool


def bind_all(requirements: Iterable[Requirement], tools: Sequence[Tool]) -> tuple[Requirement, ...]:
    """Bind each to the agent's tools.

    Raises:
        RequirementError: for what is no requirement, and for a target that the agent does not have.
    """
    bound: list[Requirement] = []
    for one in requirements:
        if not callable(getattr(one, "bind", None)) or not callable(getattr(one, "rules", None)):
            raise RequirementError(
                f"requirements= holds {one!r}, which is no requirement; use ConditionalRequirement,"
                " AskPermissionRequirement, or decorate a function with @requirement(targets)"
            )
        bound.append(one.bind(tools))
    return tuple(bound)


def plain(value: object) -> Json:
    """A requirement as JSON for a digest: fields by name, functions as `module:qualname`, their bodies excluded."""
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, *([one.name, plain(getattr(value, one.name))] for one in fields(value))]
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    target = inspect.unwrap(value) if callable(value) else type(value)
    return f"{getattr(target, '__module__', '?')}:{getattr(target, '__qualname__', type(target).__qualname__)}"
