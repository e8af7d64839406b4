"""Labels of files: what a conversation that has read untrusted or secret text writes is read back as such.

Before a write goes out, the session's label is joined to the label of every path that it names as a destination, in
the store and for the tenant, and to that of the folders around it. Whatever a tool later says of such a path, in any
session of the tenant on that store, carries the label. The label of a path is never taken back: nobody can see from
here whether a file was emptied. Tools without a path among their arguments cost nothing. Source: SPEC B11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from backstay.agents.journal import Journal
from backstay.boundary.places import around, inside_of, key_of, paths_in
from backstay.core.canon import FrozenDict
from backstay.core.context import ToolFacts
from backstay.core.errors import DecisionError
from backstay.core.messages import PLAIN, Args, Json, Label, Secrecy, ToolResult

_TRIES = 100
"""Other sessions may write the same label in between; each try sees a stricter one, so few are needed."""


class PathLabels:
    """The labels of paths, as one run sees and writes them.

    Args:
        journal: of the run: its store, its fence, its session's label and tenant.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def write(self, args: Args, tool: ToolFacts) -> None:
        """A call is about to write: its paths take the session's label."""
        label = self._journal.state.label
        if tool.risk == "read" or label == PLAIN:
            return
        for path in paths_in(args, tool, sinks_only=True):
            for key in (key_of(path), *around(path)):
                await self._join(key, label)

    async def read(self, args: Args, tool: ToolFacts, result: ToolResult) -> ToolResult:
        """The result of a call with the labels of the paths that it has looked at."""
        if result.via in ("refused", "held"):
            return result
        label = PLAIN
        for path in paths_in(args, tool):
            label = label.join(await self._of((key_of(path), inside_of(path))))
        return result if label == PLAIN else replace(result, label=result.label.join(label), labels=())

    async def _of(self, keys: Iterable[str]) -> Label:
        label = PLAIN
        for key in keys:
            found = await self._journal.store.board_get(self._scope, key)
            label = label.join(_label(found[0]) if found else PLAIN)
        return label

    async def _join(self, key: str, label: Label) -> None:
        store, fence = self._journal.store, self._journal.fence
        for _ in range(_TRIES):
            value, version = await store.board_get(self._scope, key) or (None, 0)
            known = _label(value)
            joined = known.join(label)
            if joined == known:
                return
            said = FrozenDict(trusted=joined.trusted, secrecy=joined.secrecy)
            try:
                await store.board_put(fence, self._scope, key, said, expect=version)
            except DecisionError:
                continue
            return

    @property
    def _scope(self) -> str:
        return f"labels:{self._journal.row.principal.tenant}"


def _label(value: Json) -> Label:
    if not isinstance(value, Mapping):
        return PLAIN
    return Label(trusted=value["trusted"] is True, secrecy=cast("Secrecy", value["secrecy"]))
