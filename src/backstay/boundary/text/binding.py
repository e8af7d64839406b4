"""Binding: a draft becomes a constraint on the tools that it names, or on every tool that has its meaning."""

from __future__ import annotations

from collections.abc import Sequence

from backstay.boundary.constraints import Author, Constraint, ConstraintStatus
from backstay.boundary.predicates import selects
from backstay.boundary.text.drafts import Draft, ToolWords
from backstay.boundary.text.words import names_tool
from backstay.core.canon import FrozenDict


def bind(
    draft: Draft,
    tools: Sequence[ToolWords],
    *,
    author: Author,
    id: str,
    message_id: str | None = None,
    status: ConstraintStatus = "confirmed",
) -> Constraint:
    """Return the constraint that a draft makes among these tools.

    A scope word narrows the rule to the tools it names that have the meaning too. Where it names none of them the rule
    stays unscoped and reaches every tool with the meaning: stricter, never lost. Source: SPEC B6, B8; DESIGN 8.2.
    """
    return Constraint(
        id=id,
        text=draft.text,
        render=draft.render,
        author=author,
        message_id=message_id,
        span=None if message_id is None else draft.span,
        tools=_named(draft, tools),
        bind=FrozenDict({"meaning": draft.meaning} if draft.meaning else {}),
        check=draft.check,
        on_missing="deny",
        severity="block",
        status=status,
    )


def _named(draft: Draft, tools: Sequence[ToolWords]) -> tuple[str, ...]:
    if not draft.meaning:
        return ()
    return tuple(
        tool.name
        for tool in tools
        if any(selects(draft.meaning, meaning) for meaning in tool.meanings.values())
        and any(names_tool(word, tool.name) for word in draft.scope)
    )
