"""Reading: a message, or one rule, becomes drafts.

Precision first: a sentence makes a draft only where its wording restricts and is the author's own order, wish or
fragment. Stories, questions, guesses, reported and quoted speech make none. Source: SPEC B7, B8, C7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from backstay.boundary.text import chinese, chinese_turns, english, english_turns
from backstay.boundary.text.acts import vocabulary
from backstay.boundary.text.brackets import SPOKEN_OF, bracketed
from backstay.boundary.text.chinese_orders import chinese_orders
from backstay.boundary.text.drafting import Place, Words, advisory, bounded, ordered
from backstay.boundary.text.drafts import Draft, ToolWords
from backstay.boundary.text.english_orders import english_orders
from backstay.boundary.text.limits import Limit, find_limits
from backstay.boundary.text.modifiers import Plain, without_asking, without_lifetime
from backstay.boundary.text.orders import Order
from backstay.boundary.text.places import Places, mark_places
from backstay.boundary.text.segments import Sentence, clauses, own_words, pieces, plain, sentences
from backstay.boundary.text.spelling import respelled
from backstay.boundary.text.things import read
from backstay.boundary.text.words import scope_words
from backstay.core.patterns import Pattern

_HAN = Pattern(r"[\u3400-\u9fff]")
# A sentence without one of these states no rule; most sentences of a chat end here.
_HINT = Pattern(
    r"except|only|just|solely|exclusively|nothing|nobody|no one|never|n't|not|no |most|max|up to|limit|cap|exceed|under"
    r"|below|less|fewer"
    r"|least|min|within|restrict|narrow|confine|keep|stick|stay|away|hands"
    r"|leave|before|budget|avoid|refrain|tops|first|without"
    r"|until|any(?:one|where)|every(?:one|where)|none"
    r"|forbidden|prohibited|exclude|skip|ignore|omit|drop|discard|out of|all i|all we|anything|bracket|parenthes"
    r"|approv|≤|<=|=<|read|look|view|stop|quit|cease|hold off|steer|zero|rather|mind|enough|will do|plenty|suffice"
    r"|through me|by me|with me|let me|tell me|forget|care|once|twice|last|past|single|back|wait|sign off|through us"
    r"|my (?:ok|perm|cons|conf|go|say|yes)|ask (?:me|us|first)|check with"
    r"|nowhere|everything|off the|off-|question|allowed|banned|taboo|no-go"
    r"|older"
    r"|[只仅限别勿莫多高内下低少足到不超禁先]|预算|范围|就[行好够看要查可成]|即可|光[看要查]|封顶|忽略|排除|以外"
    r"|之外|除了|括号|同意|批准"
    r"|[停免没远过除避]|屏蔽|忽略|跳过|保持|[跟和]我|给我|让我|才[要行可算看能许准]|[问请示确认]{1,2}我|由我|我[同批确审认许点]|前"
)
_PER = Pattern(r"\A(?:when|whenever|for|with|on|regarding|as for|about)(?![a-z])|\A(?:当|对于?|关于|在)")
# A clause like this says when the order of another clause holds, which no predicate says.
_CIRCUMSTANCE = Pattern(
    r"\A(?:when|whenever|while|if|in case|on|at|during|for|as long as|once|after|before|unless|until|with|regarding"
    r"|in|since|over|through|throughout|outside|starting|from|as of|tomorrow|tonight|next|between|within|by|every"
    r"|weekends|weekdays|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|because|should|except|as for)(?![a-z])|\A(?:如果|要是|假如|若|当|在|遇到|赶上|碰到|凡|对于?|逢|周末|节假日"
    r"|除了|除非|只要是)"
    r"|(?:时|的时候|的话|期间|之前|以前|之后|以后)\Z"
)
_AND = Pattern(
    r",? and (?=(?:don't|do not|never|only|please|no)(?![a-z]))"
    r"|,? but (?=(?:don't|do not|never|only|please|no|not|leave|keep|stay|ask)(?![a-z]))"
)
# A limit on what goes to one place or person says nothing of the others.
_NARROWS = Pattern(r"⟦[ahnp][a-z]⟧")
_RULE_END = Pattern(r"[。！？!?；;\n]")
_LONGEST_RULE = 2_000


def parse(
    text: str,
    *,
    locale: str = "en",
    zone: str = "UTC",
    now: float,
    before: str = "",
    tools: Sequence[ToolWords] = (),
) -> tuple[Draft, ...]:
    """Return the rules that a message states, in its order; most messages state none.

    Args:
        text: the message as it was written. Code, quotations and quoted lines in it are not the author's words.
        locale: BCP 47 tag of the author; the drafts are rendered in its language. Both languages are always read.
        zone: IANA time zone in which `this month` lies.
        now: seconds since 1970.
        before: the author's message before this one, for `none of those in brackets`. Nothing else is read in it.
        tools: what the agent has: their names are words that rules are stated in too.
    """
    if not _HINT.search(respelled(plain(text))):
        return ()
    own, place = own_words(text), _place(locale, zone, now, tools)
    found: list[Draft] = []
    for one in sentences(text):
        found += _drafts(one, text, own, before, place)
        if _introduces(one):
            break
    return tuple(found)


def parse_rule(
    text: str, *, locale: str = "en", zone: str = "UTC", now: float, tools: Sequence[ToolWords] = ()
) -> Draft:
    """Return the draft of a text that is known to be one rule, such as a developer's `at most 200 EUR a refund`.

    Nothing is asked of its wording. `check` is None where no bound is recognised, or more than one: such a text should
    be written as several rules.
    """
    place = _place(locale, zone, now, tools)
    parts = [turned(clause) for part in _RULE_END.split(text[:_LONGEST_RULE]) for clause in clauses(part)]
    whole, span = ", ".join(parts), (0, len(text))
    places = _turned(mark_places(text[:_LONGEST_RULE].strip(), place.known.verbs))
    for state in _states(places.text.rstrip("。.!"), place):
        words = Words(text=text, span=span, place=place, plain=state)
        if orders := _orders(state.text, places, place):
            return ordered(orders[0], words)
        if state.asks or state.until:
            found = _limited(pieces(state.text), places, words, rule=True)
            if len(found) == 1 and found[0].meaning != "window":
                return found[0]
    found = _limited(parts, None, Words(text=text, span=span, place=place, plain=Plain("")), rule=True)
    checks = {str(draft.check) for draft in found}
    if len(checks) == 1 and not _is_conditional(whole):
        return found[0]
    why = "plain" if not checks else "several" if len(checks) > 1 else "condition"
    return advisory(why, Words(text=text, span=span, place=place, plain=Plain("")))


def _introduces(sentence: Sentence) -> bool:
    """Whether the rest of the message is a text that its author wants dealt with."""
    words = plain(sentence.words[-200:])
    return words.endswith(":") and (english.introduces(words) or chinese.introduces(words))


def turned(words: str) -> str:
    """The words with turns of phrase put plainly, in the language that they are in."""
    return chinese_turns.turned(words) if _HAN.search(words) else english_turns.turned(words)


def _turned(places: Places) -> Places:
    return replace(places, text=turned(places.text))


def _in_turn(sentence: Sentence, places: Places) -> Sentence:
    """The sentence with clauses put plainly; a turn may have joined two of them: `three mails a day, max`."""
    whole = turned(places.text)
    if whole != places.text and not places.values:
        return replace(sentence, clauses=pieces(whole))
    return replace(sentence, clauses=tuple(map(turned, sentence.clauses)))


def _place(locale: str, zone: str, now: float, tools: Sequence[ToolWords]) -> Place:
    today = datetime.fromtimestamp(now, ZoneInfo(zone)).date()
    return Place(locale=locale.lower(), today=today, known=vocabulary(tools))


def _is_conditional(words: str) -> bool:
    return english.is_conditional(words) or chinese.is_conditional(words)


def _drafts(sentence: Sentence, text: str, own: str, before: str, place: Place) -> Iterator[Draft]:
    whole = ", ".join(sentence.clauses)
    if not _HINT.search(whole) or _is_no_rule(sentence, whole):
        return
    if SPOKEN_OF.search(whole):
        place = replace(place, bracketed=bracketed(own, sentence.end, before))
    span = sentence.start, sentence.end
    words = text[sentence.start : sentence.end]
    places = mark_places(sentence.words, place.known.verbs)
    sentence, places = _in_turn(sentence, places), _turned(places)
    for state in _states(places.text, place):
        said = Words(text=words, span=span, place=place, plain=state)
        found = list(_read(sentence, places, said))
        if found and _fits(found, state):
            yield from found
            return
    if any(english.is_advisory(clause) or chinese.is_advisory(clause) for clause in sentence.clauses):
        yield advisory("plain", Words(text=words, span=span, place=place, plain=Plain("")))


def _states(text: str, place: Place) -> Iterator[Plain]:
    """The words without their modifiers, the barest first, and as they stand last."""
    lead = (chinese if _HAN.search(text) else english).stripped(text)
    if lasting := without_lifetime(lead, place.today):
        if asking := without_asking(lasting.text):
            yield asking._replace(until=lasting.until, today=lasting.today)
        yield lasting
    if asking := without_asking(lead):
        yield asking
    yield Plain(text)


def _fits(found: Sequence[Draft], state: Plain) -> bool:
    """Whether what was read without the modifiers is something that they can modify: `only today` is a window."""
    if not (state.asks or state.until):
        return True
    return all(draft.check is not None and draft.meaning != "window" for draft in found)


def _read(sentence: Sentence, places: Places, words: Words) -> Iterator[Draft]:
    state = words.plain
    is_bare = not (state.asks or state.until)
    if orders := _orders(state.text, places, words.place):
        yield from (ordered(order, words) for order in orders)
        return
    parts = [one for part in pieces(state.text) for one in _AND.split(part)]
    read_in = [_clause(part, places, words) for part in parts] if len(parts) > 1 else [[]]
    if any(read_in):
        yield from _by_clause(parts, read_in, places, words)
        return
    limited = sentence.clauses if is_bare and not places.values else parts
    yield from _limited(limited, places, words)


def _clause(part: str, places: Places, words: Words) -> list[Draft]:
    """What one clause of several orders, with modifiers of its own: `tidy up, but ask me before you delete`."""
    for state in _states(part, words.place):
        own = replace(words, plain=_both(words.plain, state))
        if orders := _orders(state.text, places, words.place):
            return [ordered(order, own) for order in orders]
        found = _limited([state.text], places, own) if state.asks or state.until else []
        if found and _fits(found, state):
            return found
    return []


def _both(outer: Plain, inner: Plain) -> Plain:
    return Plain(inner.text, outer.asks or inner.asks, outer.until or inner.until, outer.today or inner.today)


def _by_clause(
    parts: Sequence[str], read_in: Sequence[Sequence[Draft]], places: Places, words: Words
) -> Iterator[Draft]:
    if any(_CIRCUMSTANCE.search(part) for part, drafts in zip(parts, read_in, strict=True) if not drafts):
        yield advisory("condition", words)
        return
    for index, (part, drafts) in enumerate(zip(parts, read_in, strict=True)):
        before = ", ".join(parts[max(0, index - 4) : index])
        yield from drafts or _limited([part], places, words, before=before)


def _orders(text: str, places: Places, place: Place) -> list[Order]:
    found = replace(places, text=text)
    return list((chinese_orders if _HAN.search(text) else english_orders)(found, place.bracketed))


def _limited(
    parts: Sequence[str], places: Places | None, words: Words, *, before: str = "", rule: bool = False
) -> list[Draft]:
    """The drafts of the limits in some clauses, each check once."""
    bare = [Places(text=part, values=places.values).bare() if places else part for part in parts]
    whole = ", ".join(bare)
    conditional = not rule and _is_conditional(whole)
    found: list[Draft] = []
    for index, clause in enumerate(bare):
        context = ", ".join([*filter(None, [before]), *bare[max(0, index - 4) : index]])
        for limit, counts in _limits(clause, context, words.place, rule=rule):
            about = clause if rule or scope_words(clause) else f"{_about(context, bool(found))}{clause}"
            named = _NARROWS.search(parts[index]) and limit.check is not None and limit.check["op"] != "window"
            draft = (
                advisory("condition", words)
                if conditional or named
                else bounded(limit, whole if rule else clause, whole if rule else about, counts, words)
            )
            if draft.check not in [one.check for one in found]:
                found.append(draft)
    return found


def _limits(clause: str, before: str, place: Place, *, rule: bool) -> list[tuple[Limit, str]]:
    """The limits of a clause that are rules of the author's, each with what it counts."""
    reading = read(clause, place.today)
    if not reading.things:
        return []
    found = [
        limit
        for limit in find_limits(reading, rule=rule)
        if rule
        or (chinese if limit.lang == "zh" or _HAN.search(clause) else english).is_rule(
            reading.text, limit, before, place.known
        )
    ]
    return [(limit, reading.things[limit.key].text) for limit in sorted(found, key=lambda limit: limit.start)]


def _is_no_rule(sentence: Sentence, whole: str) -> bool:
    if _HAN.search(whole):
        asks = chinese.is_plain_question(whole) or (
            sentence.asks and english.is_plain_question(whole) and not chinese.is_polite(whole)
        )
        return asks or chinese.is_spoken_for(whole) or english.is_spoken_for(whole)
    return (sentence.asks and english.is_plain_question(whole)) or english.is_spoken_for(whole)


def _about(before: str, goes_on: bool) -> str:
    """The clause before, where this one is about the same: `when you refund an order, at most 200 EUR`.

    With `goes_on` that clause stated a limit too: `at most two refunds, and no more than 50 EUR each`.
    """
    last = before.rpartition(", ")[2]
    return f"{last}, " if _PER.match(last) or goes_on else ""
