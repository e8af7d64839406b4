"""Reading: a message, or one rule, becomes drafts.

Precision first: a sentence makes a draft only where its wording restricts and is the author's own order, wish or
fragment. Stories, questions, guesses, reported and quoted speech make none. Source: SPEC B7, B8, C7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from backstay.boundary.text import chinese, english
from backstay.boundary.text.drafts import Draft
from backstay.boundary.text.limits import Limit, find_limits
from backstay.boundary.text.render import advice, rendered
from backstay.boundary.text.segments import Sentence, clauses, plain, sentences
from backstay.boundary.text.things import read
from backstay.boundary.text.words import scope_words
from backstay.core.messages import Args
from backstay.core.patterns import Pattern

_HAN = Pattern(r"[\u3400-\u9fff]")
# A sentence without one of these states no rule; most sentences of a chat end here.
_HINT = Pattern(
    r"only|just|solely|exclusively|nothing|never|n't|not|no |most|max|up to|limit|cap|exceed|under|below|less|fewer"
    r"|least|min|within|restrict|keep|stick|stay|away|hands|leave|before|budget|avoid|refrain|tops"
    r"|forbidden|prohibited|exclude|skip|ignore|omit|drop|discard|out of|all i|all we|≤|<=|=<"
    r"|[只仅限别勿莫多高内下低少足到不超禁]|预算|范围|就[行好够看要查可成]|即可|光[看要查]|先问|先告|先征|先通|封顶|忽略|排除|以外|之外|才[要行可算看]"
)
_PER = Pattern(r"\A(?:when|whenever|for|with|on|regarding|as for|about)(?![a-z])|\A(?:当|对于?|关于|在)")


_TOTAL = Pattern(
    r"(?<![a-z])(?:in total|altogether|overall|all together|(?:per|a|each|every) (?:day|week|month|year))(?![a-z])"
    r"|总共|一共|合计|累计|每[天日周月年]"
)
_RULE_END = Pattern(r"[。！？!?；;\n]")
_LONGEST_RULE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the words were written, for whom, when."""

    locale: str
    today: date


def parse(text: str, *, locale: str = "en", zone: str = "UTC", now: float) -> tuple[Draft, ...]:
    """Return the rules that a message states, in its order; most messages state none.

    Args:
        text: the message as it was written. Code, quotations and quoted lines in it are not the author's words.
        locale: BCP 47 tag of the author; the drafts are rendered in its language. Both languages are always read.
        zone: IANA time zone in which `this month` lies.
        now: seconds since 1970.
    """
    if not _HINT.search(plain(text)):
        return ()
    place = _place(locale, zone, now)
    return tuple(draft for one in sentences(text) for draft in _drafts(one, text, place))


def parse_rule(text: str, *, locale: str = "en", zone: str = "UTC", now: float) -> Draft:
    """Return the draft of a text that is known to be one rule, such as a developer's `at most 200 EUR a refund`.

    Nothing is asked of its wording. `check` is None where no bound is recognised, or more than one: such a text should
    be written as several rules.
    """
    place = _place(locale, zone, now)
    parts = [clause for part in _RULE_END.split(text[:_LONGEST_RULE]) for clause in clauses(part)]
    whole = ", ".join(parts)
    checks = {str(limit.check): limit for part in parts for limit in find_limits(read(part, place.today), rule=True)}
    why = "plain" if not checks else "several" if len(checks) > 1 else "condition" if _is_conditional(whole) else ""
    limit = next(iter(checks.values()), None)
    if why or limit is None:
        return _draft(text, (0, len(text)), None, why, whole, place)
    return _draft(text, (0, len(text)), limit.check, limit.why, whole, place)


def _place(locale: str, zone: str, now: float) -> _Place:
    return _Place(locale=locale.lower(), today=datetime.fromtimestamp(now, ZoneInfo(zone)).date())


def _is_conditional(words: str) -> bool:
    return english.is_conditional(words) or chinese.is_conditional(words)


def _drafts(sentence: Sentence, text: str, place: _Place) -> Iterator[Draft]:
    whole = ", ".join(sentence.clauses)
    if not _HINT.search(whole) or _is_no_rule(sentence, whole):
        return
    span = sentence.start, sentence.end
    words = text[sentence.start : sentence.end]
    conditional = _is_conditional(whole)
    seen: list[Args | None] = []
    for index, clause in enumerate(sentence.clauses):
        before = ", ".join(sentence.clauses[max(0, index - 4) : index])
        for limit in _rules(clause, before, place):
            check = None if conditional else limit.check
            if check not in seen:
                seen.append(check)
                about = clause if scope_words(clause) else f"{_condition_of(before)}{clause}"
                yield _draft(words, span, check, "condition" if conditional else limit.why, about, place)
    if not seen and any(english.is_advisory(clause) or chinese.is_advisory(clause) for clause in sentence.clauses):
        yield _draft(words, span, None, "plain", whole, place)


def _rules(clause: str, before: str, place: _Place) -> list[Limit]:
    reading = read(clause, place.today)
    if not reading.things:
        return []
    found = [
        limit
        for limit in find_limits(reading)
        if (chinese if limit.lang == "zh" or _HAN.search(clause) else english).is_rule(reading.text, limit, before)
    ]
    return sorted(found, key=lambda limit: limit.start)


def _is_no_rule(sentence: Sentence, whole: str) -> bool:
    if _HAN.search(whole):
        asks = chinese.is_plain_question(whole) or (
            sentence.asks and english.is_plain_question(whole) and not chinese.is_polite(whole)
        )
        return asks or chinese.is_spoken_for(whole) or english.is_spoken_for(whole)
    return (sentence.asks and english.is_plain_question(whole)) or english.is_spoken_for(whole)


def _condition_of(before: str) -> str:
    """The clause before, where that says when the rule holds: `when you refund an order, at most 200 EUR`."""
    last = before.rpartition(", ")[2]
    return f"{last}, " if _PER.match(last) else ""


def _draft(text: str, span: tuple[int, int], check: Args | None, why: str, about: str, place: _Place) -> Draft:
    scope = scope_words(about)
    total = check is not None and check["op"] != "window" and _TOTAL.search(about) is not None
    return Draft(
        text=text,
        span=span,
        check=check,
        meaning=_meaning(check),
        scope=scope,
        render=advice(why or "plain", place.locale)
        if check is None
        else rendered(check, scope, place.locale, total=total),
    )


def _meaning(check: Args | None) -> str:
    if check is None:
        return ""
    if "money" in check:
        return "money"
    return f"quantity:{check['unit']}" if "number" in check else "window"
