"""Binding: a draft becomes a constraint on the tools that it names, or on every tool that has its meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from backstay.boundary.constraints import Author, Constraint, ConstraintStatus, OnMissing
from backstay.boundary.predicates import selects
from backstay.boundary.text.acts import names_tool, speaks_of, tools_of
from backstay.boundary.text.drafts import Act, Draft, ToolWords
from backstay.boundary.text.lexicon import families
from backstay.boundary.text.render import advice, rendered
from backstay.boundary.text.things import counted
from backstay.core.canon import FrozenDict
from backstay.core.messages import Args


class _Fit(NamedTuple):
    """What a draft comes to among some tools; no check where they have nothing that it is about."""

    check: Args | None
    meaning: str = ""
    tools: tuple[str, ...] = ()


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

    A limit on money, dates or quantities narrows to the tools that its words name; where they name none it reaches
    every tool with the meaning: stricter, never lost. A rule about an action (`never delete files`, `at most three
    refunds`, `only write under /srv`) reaches the tools that do it, and is advisory where there are none: it would
    forbid what nobody spoke of. Source: SPEC B6, B8; DESIGN 8.2.
    """
    fit = _fitted(draft, tools)
    return Constraint(
        id=id,
        text=draft.text,
        render=_rendered(draft, fit),
        author=author,
        message_id=message_id,
        span=None if message_id is None else draft.span,
        tools=fit.tools,
        until=draft.until if fit.check is not None else None,
        bind=FrozenDict({"meaning": fit.meaning} if fit.meaning else {}),
        check=fit.check,
        on_missing=_on_missing(fit.check),
        severity=draft.severity if fit.check is not None else "block",
        status=status,
    )


def _fitted(draft: Draft, tools: Sequence[ToolWords]) -> _Fit:
    if draft.check is None:
        return _Fit(None)
    match draft.check["op"]:
        case "forbid":
            return _known(draft.check, "", _forbidden(draft, tools))
        case "before":
            first = _doing((draft.first,) if draft.first else (), tools)
            then = tuple(name for name in _doing(draft.acts, tools) if name not in first)
            return _known(FrozenDict({"op": "before", "tools": first}), "", then) if first else _Fit(None)
        case "count":
            return _known(draft.check, "", _doing(draft.acts, tools))
    having = [tool for tool in tools if _has(tool, draft.meaning)]
    if _is_countable(draft):
        named = _doing(draft.acts, tools)
        with_it = tuple(tool.name for tool in having if tool.name in named)
        if with_it:
            return _Fit(draft.check, draft.meaning, with_it)
        having = []  # how many times it is done, then: it has no such number
    if _is_countable(draft) and not having:
        count = counted(str(draft.check["op"]), Decimal(str(draft.check["number"])), draft.per)
        return _known(count, "", _doing(draft.acts, tools)) if count else _Fit(None)
    if not having and draft.meaning.startswith("quantity:"):
        return _Fit(None)  # a number of what nothing here counts
    if draft.acts and not _is_countable(draft):
        return _known(draft.check, draft.meaning, _doing(draft.acts, having))
    return _Fit(draft.check, draft.meaning, _scoped(draft.scope, having) or _about(draft.things, having))


def _about(things: Sequence[str], tools: Sequence[ToolWords]) -> tuple[str, ...]:
    """The tools whose names speak of a thing that a limit is about: `no bonus above 500 USD`."""
    return tuple(tool.name for tool in tools if any(speaks_of(thing, tool) for thing in things))


def _scoped(scope: Sequence[str], tools: Sequence[ToolWords]) -> tuple[str, ...]:
    """The tools that scope words name: by their names; where none is, by what their descriptions begin with.

    `pay` stands in many a description, and a limit on paying is one on all of it: that word narrows by name alone.
    """
    own = [word for word in scope if families(word) != {"pay"}]
    by_name = tuple(
        tool.name for tool in tools if any(names_tool(word, replace(tool, description="")) for word in own)
    ) or tuple(tool.name for tool in tools if own != list(scope) and "pay" in tool.name.lower())
    narrow = [word for word in scope if not families(word) & {"pay", "send", "charge"}]
    return by_name or tuple(tool.name for tool in tools if any(names_tool(word, tool) for word in narrow))


def _known(check: Args | None, meaning: str, names: tuple[str, ...]) -> _Fit:
    return _Fit(check, meaning, names) if names else _Fit(None)


def _has(tool: ToolWords, meaning: str) -> bool:
    return any(selects(meaning, one) for one in tool.meanings.values())


def _is_countable(draft: Draft) -> bool:
    """Whether it limits a number of things that may as well be a number of calls: `at most five mails`."""
    return draft.check is not None and "unit" in draft.check and bool(draft.acts)


def _doing(acts: Iterable[Act], tools: Sequence[ToolWords]) -> tuple[str, ...]:
    found = {tool.name for act in acts for tool in tools_of(act, tools)}
    return tuple(tool.name for tool in tools if tool.name in found)


def _forbidden(draft: Draft, tools: Sequence[ToolWords]) -> tuple[str, ...]:
    if not draft.tools:
        named = _doing(draft.acts, tools)
        return tuple(tool.name for tool in tools if tool.name not in named) if draft.others and named else named
    known = {tool.name for tool in tools}
    if draft.others:
        return tuple(tool.name for tool in tools if tool.name not in draft.tools) if known >= set(draft.tools) else ()
    return tuple(name for name in draft.tools if name in known)


def _on_missing(check: Args | None) -> OnMissing:
    """Nothing given is nothing that a list of refusals names, and nothing made up; a folder may be the default one."""
    of = check.get("of") if check is not None and check["op"] == "not" else None
    refuses = check is not None and check["op"] in ("not_in", "own_words")
    return "allow" if refuses or (isinstance(of, Mapping) and of["op"] in ("glob", "host")) else "deny"


def _rendered(draft: Draft, fit: _Fit) -> str:
    if fit.check is None:
        return advice("nothing" if draft.check is not None else "", draft.locale) or draft.render
    if not draft.acts and not draft.tools:
        return draft.render
    return rendered(fit.check, fit.tools or draft.scope, draft.locale, severity=draft.severity, until=draft.until)
