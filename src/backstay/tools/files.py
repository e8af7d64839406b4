"""Files among a tool's arguments: which tools take some, and opening their handles before the tool runs.

Source: SPEC T4 ("other tools accept the handle").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from backstay.core.context import RunContext
from backstay.core.files import FORMAT, File
from backstay.core.messages import Json


def takes_files(schema: Json) -> bool:
    """Whether a JSON Schema of arguments has a handle of a file anywhere."""
    if isinstance(schema, Mapping):
        return schema.get("format") == FORMAT or any(takes_files(one) for one in schema.values())
    return isinstance(schema, list | tuple) and any(takes_files(one) for one in schema)


async def open_files(input: BaseModel, ctx: RunContext[Any]) -> None:
    """Give every file in validated arguments its bytes, and the call the label of all it has opened.

    Raises:
        ToolInputError: when this conversation has no file of such a handle.
    """
    for file in _files_in(input):
        await ctx.open(file)


def _files_in(value: object) -> Iterator[File]:
    if isinstance(value, File):
        yield value
    elif isinstance(value, BaseModel):
        yield from _files_in({**value.__dict__, **(value.__pydantic_extra__ or {})})
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _files_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _files_in(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _files_in(getattr(value, one.name, None))
