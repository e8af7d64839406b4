"""Drafting: what was read in a sentence, and what stood beside it, becomes a draft."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from backstay.boundary.predicates import check_problems
from backstay.boundary.text.acts import Vocabulary
from backstay.boundary.text.counts import action_words, counted_acts, span_of, thing_words, total_of
from backstay.boundary.text.drafts import Act, Draft
from backstay.boundary.text.limits import Limit
from backstay.boundary.text.modifiers import Plain
from backstay.boundary.text.orders import Order
from backstay.boundary.text.render import advice, rendered
from backstay.boundary.text.words import scope_words
from backstay.core.canon import FrozenDict
from backstay.core.messages import Args


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the words were written, for whom, when, and what stood in brackets."""

    locale: str
    today: date
    bracketed: tuple[str, ...] = ()
    known: Vocabulary = Vocabulary()
    """What the agent's tools are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words that drafts are made from, and where they stand."""

    text: str
    span: tuple[int, int]
    place: Place
    plain: Plain


def bounded(limit: Limit, clause: str, about: str, counts: str, words: Words) -> Draft:
    """The draft of a limit: on each call, or on what all calls come to.

    Args:
        limit: the bound.
        clause: the words that state it, which say whether it is a total.
        about: these and what was said before them, which say what it is about.
        counts: what it counts, as it was written.
        words: the sentence.
    """
    check, state = limit.check, words.plain
    if check is None:
        return advisory(limit.why, words)
    per, is_total = span_of(clause, today=state.today)
    scope = scope_words(about)
    if not scope and check["op"] != "window":
        scope = action_words(about, words.place.known.verbs)
    things = thing_words(about) if check["op"] != "window" else ()
    acts = counted_acts(about, counts, words.place.known.verbs) if "unit" in check or check["op"] == "count" else ()
    if check.get("unit") == "items" and (thing := _measured(acts)):
        check = FrozenDict({**check, "unit": thing})
    if check["op"] == "count":
        if not per:
            return advisory("count", words)
        check = FrozenDict({**check, "per": per})
        scope = ()
    elif is_total and (total := total_of(check, per)):
        check, is_total = total, False
    elif is_total and "unit" in check and not (acts or scope):  # a total of what nobody named
        return advisory("count", words)
    counts_calls = check["op"] in ("sum", "count", "window")
    return Draft(
        text=words.text,
        span=words.span,
        check=check,
        meaning=_meaning(check),
        scope=scope,
        things=things,
        render=rendered(
            check,
            scope or tuple(act.verb for act in acts),
            words.place.locale,
            total=is_total and not counts_calls,
            severity="confirm" if state.asks else "block",
            until=state.until,
        ),
        acts=acts,
        severity="confirm" if state.asks else "block",
        until=state.until,
        per=per,
        locale=words.place.locale,
    )


def _measured(acts: tuple[Act, ...]) -> str:
    """What a general measure word measures where the action says it: `打印标签不得超过20张`."""
    return next((thing for act in acts for thing in act.things if not thing.isascii() and thing not in _GOODS), "")


_GOODS = frozenset({"商品", "产品", "东西"})


def ordered(order: Order, words: Words) -> Draft:
    """The draft of an order; advisory where no check can say its places."""
    if order.check["op"] != "before" and check_problems(order.check):  # `~/private`, which may be anybody's home
        return advisory("plain", words)
    state, locale = words.plain, words.place.locale
    said = tuple(act.verb for act in order.acts) or order.tools
    shown = FrozenDict({**order.check, "tools": (order.first.verb,)}) if order.first else order.check
    severity = "confirm" if state.asks else "block"
    return Draft(
        text=words.text,
        span=words.span,
        check=order.check,
        meaning=order.meaning,
        render=rendered(shown, said, locale, severity=severity, until=state.until),
        acts=order.acts,
        first=order.first,
        tools=order.tools,
        others=order.others,
        severity="confirm" if state.asks else "block",
        until=state.until,
        locale=locale,
    )


def advisory(why: str, words: Words) -> Draft:
    """The draft of a rule that no predicate says, and why."""
    locale = words.place.locale
    return Draft(text=words.text, span=words.span, check=None, render=advice(why or "plain", locale), locale=locale)


def _meaning(check: Args) -> str:
    if "money" in check:
        return "money"
    if check["op"] == "count":
        return ""
    return f"quantity:{check['unit']}" if "number" in check else "window"
