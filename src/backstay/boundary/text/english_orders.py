"""What English sentences order about actions, places, people and tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backstay.boundary.text.drafts import Act
from backstay.boundary.text.english import stripped
from backstay.boundary.text.lexicon import WEAK, families, stem
from backstay.boundary.text.orders import (
    OWN_WORDS,
    Order,
    about_tools,
    all_but,
    forbidden,
    in_order,
    named_order,
    place_order,
)
from backstay.boundary.text.places import Places
from backstay.boundary.text.words import set_of
from backstay.core.patterns import Pattern

_NEG = (
    r"(?:never|don't|do not|(?:(?:you|we|the agent|the assistant) )?(?:must|may|should|shall|can)(?: not|n't|not"
    r"| never)"
    r"|you(?:'re| are) (?:not|never) (?:allowed |permitted )?to|(?:i|we) (?:don't|do not|never) want you to"
    r"|under no circumstances(?: may you| should you)?|refrain from|you are never to|no longer)(?: ever)?"
)
_VERB = (
    r"(?P<v>pay back|top up|roll out|get in touch with|go near|go to|go into|log in to|look at|look up|write to"
    r"|send (?:an? )?(?:e-?mails?|mail"
    r"|messages?) to|send money to|[a-z]{2,}(?: out)?)"
)
_O = r"(?P<o>(?: [a-z'-]+){0,5}?)"
_PREP = (
    r"(?: (?:in|under|underneath|below|beneath|inside|inside of|within|from|to|at|of|into|on|onto|with|over|by|named"
    r"|matching"
    r"|ending in|called|for))?"
)
_MARK = r" ⟦(?P<k>[ahpgtn])(?P<x>[a-z])⟧"
_TAIL = (
    r"(?: (?:please|pls|thanks|either|again|ever|at all|now|then|too|addresses|address|accounts?|people|users?"
    r"|files?|folders?"
    r"|director(?:y|ies)|paths?|domains?|sites?|hosts?|though|for (?:me|now)|directly|there|any ?more"
    r"|as (?:a |your |my )?(?:source|reference)s?|tools?|functions?|ok(?:ay)?|thank you|cheers|instead))*[.!]*"
)
_END = (
    r"(?: (?:please|pls|thanks|either|again|ever|at all|now|too|though|for me|for now|for the time being|any ?more"
    r"|thank you|cheers|ok(?:ay)?|first|instead))*[.!]*"
)
_EXCEPT = r"(?:except(?: for)?|but|other than|apart from|unless(?: it is| it's)?)"
_WIDE_KEEP = r"(?:stay|keep|remain|work|operate|be)(?: only| strictly)? (?:inside|within|in|under|below|to|on)(?: of)?"
_STICK = r"(?:stick to|keep to|(?:limit|restrict|confine) (?:yourself|everything|your work|yourselves|all work) to)"

_DENY: tuple[Pattern, ...] = tuple(
    map(
        Pattern,
        (
            rf"{_NEG} {_VERB}{_O}{_PREP}{_MARK}{_TAIL}",
            rf"(?P<v>avoid|leave)(?P<o>){_PREP}{_MARK}(?: alone| out| untouched)?{_TAIL}",
            rf"(?:stay|keep)(?: well)? (?:away from|out of|clear of|off)(?P<o>){_MARK}{_TAIL}",
            rf"{_VERB}(?P<o> (?:nothing|no [a-z]+))(?: (?:in|under|from|to|at|with|below|inside)){_MARK}{_TAIL}",
            rf"hands off(?P<o>)(?: of)?{_MARK}{_TAIL}",
            rf"⟦(?P<k>[ahpgt])(?P<x>[a-z])⟧(?P<o>) (?:is|are) (?:off limits|off-limits|forbidden|taboo|not allowed"
            rf"|out of bounds){_TAIL}",
            rf"nothing (?:in|under|below|inside|from|to|at)(?P<o>){_MARK}{_TAIL}",
            rf"(?:you (?:can|may) )?{_VERB}(?P<o>(?: [a-z]+)?? (?:anyone|anybody|everyone|everybody|anywhere"
            rf"|everywhere|any(?:thing| one)))(?: (?:in|under"
            rf"|from|to|at|with))?"
            rf" {_EXCEPT}(?: (?:in|under|from|to|at|with))?{_MARK}{_TAIL}",
        ),
    )
)
_ALLOW: tuple[Pattern, ...] = tuple(
    map(
        Pattern,
        (
            rf"(?:(?:you|we|the agent|the assistant) )?(?:may |must |can |should "
            rf"|shall )?only(?: ever)? {_VERB}{_O}{_PREP}{_MARK}{_TAIL}",
            rf"(?P<s>[a-z-]+?) (?:may|must|can|should|shall) (?:only "
            rf"|exclusively )(?:ever )?{_VERB}{_O}{_PREP}{_MARK}{_TAIL}",
            rf"{_VERB}{_O} (?:only|just|exclusively|solely|nothing but|nobody but|no one but|nobody except"
            rf"|no one except"
            rf"|nothing except)(?P<o2>(?: [a-z'-]+){{0,3}}?){_PREP}{_MARK}{_TAIL}",
            rf"{_VERB}{_O}{_PREP}{_MARK}(?: [a-z]+)? only{_TAIL}",
            rf"{_WIDE_KEEP}(?P<o>)(?: the (?:folder|directory))?{_MARK}{_TAIL}",
            rf"{_STICK}(?P<o>)(?: the (?:folder|directory))?{_MARK}{_TAIL}",
            rf"nothing (?:outside|except|but)(?: of)?(?P<o>){_MARK}{_TAIL}",
            rf"{_NEG} {_VERB}{_O} (?:outside(?: of)?|{_EXCEPT})(?P<o2>){_PREP}{_MARK}{_TAIL}",
        ),
    )
)
_FORBID = Pattern(rf"{_NEG} {_VERB}(?P<o>(?: [a-z'-]+){{0,3}}?){_END}|(?P<v2>[a-z]+) (?:nothing|nobody|no one){_END}")
_NO_NOUN = Pattern(rf"no (?:more |further |new |automatic )?(?P<v>[a-z-]+)(?: of any kind)?{_END}")
_BUT = Pattern(
    r"(?:(?:you|we) )?(?:can |may )?(?:do|use|call|try|run) (?:anything|everything|any tool|all tools|whatever)"
    rf"(?: (?:you (?:like|want)|else))?,? {_EXCEPT} (?:⟦t(?P<x>[a-z])⟧"
    rf"|(?P<v>[a-z-]+)(?P<o>(?: [a-z'-]+){{0,3}}?)){_END}"
)
_ALL_BUT = Pattern(
    rf"(?:{_NEG} do anything,? {_EXCEPT}|do nothing,? (?:{_EXCEPT})|nothing,? {_EXCEPT}"
    rf") {_VERB}(?P<o>(?: [a-z'-]+){{0,3}}?){_END}"
)
_VP = r"(?P<v{n}>pay back|top up|roll out|look up|look at|look into|[a-z]{{2,}})(?P<o{n}>(?: [a-z'-]+){{0,4}}?)"
_DUTY = r"(?:always |(?:you|we) (?:must|have to|need to|should|are to|'re to) (?:always )?)?"
_FIRST: tuple[Pattern, ...] = tuple(
    map(
        Pattern,
        (
            rf"{_DUTY}(?:first )?{_VP.format(n=1)}(?: first)?,? (?:before|prior to) "
            rf"(?:you )?(?:ever )?{_VP.format(n=2)}{_END}",
            rf"first,? {_VP.format(n=1)},? (?:and |and only |only )?(?:then|after that"
            rf"|afterwards),? (?:you )?(?:may |can )?{_VP.format(n=2)}{_END}",
            rf"{_VP.format(n=1)} first,? (?:and |and only |only )?(?:then|after that"
            rf"|afterwards),? {_VP.format(n=2)}{_END}",
            rf"before (?:you )?(?:ever )?{_VP.format(n=2)},? (?:always |first |you must "
            rf"|please )*{_VP.format(n=1)}(?: first)?{_END}",
            rf"{_NEG} {_VP.format(n=2)} (?:(?:before|until|unless) you(?:'ve| have)?|before|without)(?: first)?"
            rf" {_VP.format(n=1)}{_END}",
            rf"(?:you (?:may|can|must|should) )?only {_VP.format(n=2)} (?:after|once|when)(?: you(?:'ve| have)?)?"
            rf" {_VP.format(n=1)}{_END}",
            rf"(?:only )?after(?: you(?:'ve| have)?)? {_VP.format(n=1)},? (?:then )?(?:you (?:may|can)|may you|can you)"
            rf" {_VP.format(n=2)}{_END}",
        ),
    )
)
_OWN = Pattern(
    r"(?:(?:you (?:may|must|can|should) )?only|just|exclusively) (?:use|take|mail|email|write to|send (?:it "
    r"|things )?to|contact|open"
    r"|pay|visit) (?:the |those )?(?P<w>[a-z]+(?: [a-z]+)?)(?: that| which)? (?:i|we)(?:'ve| have)? (?:gave|given"
    r"|give|named|name"
    r"|mentioned|mention|listed|list|wrote|written|typed|told|provided|provide)(?: to)?(?: you)?(?: (?:myself|here"
    r"|in this chat))*[.!]*"
    r"|(?:never|don't|do not) (?:make up|invent|guess)(?: any)? (?P<w2>[a-z]+(?: [a-z]+)?)[.!]*"
)
_MEANS = {
    word: meaning
    for meaning, words in {
        "recipient": "address,addresses,recipient,recipients,account,accounts,iban,ibans,contacts",
        "url": "link,links,url,urls,site,sites",
        "path": "path,paths,file,files",
        "id:order": "orders,order numbers,order number,order ids",
    }.items()
    for word in words.split(",")
}
_BRACKETS = Pattern(
    r"(?:none of|not|skip|exclude|leave out|ignore|avoid|drop|without|leave|{neg} (?:use|take|contact|want|include"
    r"|consider|buy from"
    r"|book))(?: any of| all of)?(?: the| those| these)?(?: ones| [a-z]+)?(?: (?:that are|which are|listed|given"
    r"|named|mentioned|standing))?"
    r" (?:in|inside|within|between) (?:the )?(?:brackets|parentheses|parens|round brackets)(?: out)?{tail}".replace(
        "{neg}", _NEG
    ).replace("{tail}", _END)
)
_STOP = set_of(
    "the a an any all of to our your my his her their its every single more further no or and me us you out for some"
    " other in on from at with e-mails"
)
_NEUTRAL = set_of(
    "anything anywhere everywhere everything something nothing anyone anybody someone nobody everyone people it"
    " them stuff"
)


_VERBS = Pattern(
    rf"(?P<head>{_NEG}|only) (?P<verbs>[a-z]+(?:, [a-z]+)*,? (?:or|and) [a-z]+)(?P<rest> (?:any|a|in|under|to|from"
    rf"|at|⟦).*)"
)


_LISTS = Pattern(r" (?:or|and) [a-z]+ ")


def english_orders(places: Places, bracketed: tuple[str, ...]) -> Iterator[Order]:
    """Yield what a clause or a sentence orders; nothing where it is not one order from end to end."""
    text = stripped(places.text).rstrip(" .!")
    several = _VERBS.fullmatch(text) if _LISTS.search(text) else None
    verbs = re.split(r", (?:or |and )?| or | and ", several["verbs"]) if several else []
    if several and all(families(verb, places.verbs) for verb in verbs):
        found = [_order(f"{several['head']} {verb}{several['rest']}", places, bracketed) for verb in verbs]
    else:
        found = [_order(text, places, bracketed)]
    if all(found):
        yield from filter(None, found)


def _order(text: str, places: Places, bracketed: tuple[str, ...]) -> Order | None:
    for hint, read in _READERS:
        order = read(text, places, bracketed) if hint.search(text) else None
        if order is not None:
            return order
    return None


def _own(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    found = _OWN.fullmatch(text)
    meaning = found and _MEANS.get(found["w"] or found["w2"])
    return Order(check=OWN_WORDS, meaning=meaning) if meaning else None


def _brackets(text: str, places: Places, bracketed: tuple[str, ...]) -> Order | None:
    said = text.rpartition(": ")[2]  # `Acme (Berlin): none of those in brackets`
    return named_order(bracketed, allow=False) if bracketed and _BRACKETS.fullmatch(said) else None


def _first(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    for pattern in _FIRST:
        found = pattern.fullmatch(text)
        if found and found["v1"] not in ("ask", "check with"):
            first, then = (_act(found[f"v{n}"], found[f"o{n}"], places) for n in "12")
            if first and then:
                return in_order(first, then)
    return None


def _act(said: str, words: str, places: Places) -> Act | None:
    """What is done, and to what; `issue refunds` is refunding. None where it is no action, or more than one."""
    verb, things = _verb(said, "", "", places), _things(words)
    if things is None or _SELF & {*words.split()}:
        return None
    if stem(said) in _WEAK and things and families(things[0], places.verbs) - {"any", "look"}:
        return Act(verb=things[0], things=things[1:])
    return Act(verb=verb, things=things) if verb else None


def _but(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    found = _BUT.fullmatch(text)
    if found is None:
        return None
    if found["x"]:
        return about_tools(places.values[found["x"]], allow=False)
    act = _act(found["v"], found["o"], places)
    return forbidden(act) if act else None


def _all_but(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    found = _ALL_BUT.fullmatch(text)
    act = _act(found["v"], found["o"], places) if found and "⟦" not in text else None
    return all_but(act) if act and not families(act.verb, places.verbs) <= {"any"} else None


def _allowed(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    return _placed(_ALLOW, text, places, allow=True)


def _denied(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    return _placed(_DENY, text, places, allow=False)


def _placed(patterns: tuple[Pattern, ...], text: str, places: Places, *, allow: bool) -> Order | None:
    for pattern in patterns:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        if found["k"] == "n" and (_KIN.search(text, found.end("x")) or _SELF & set(found["o"].split())):
            continue
        groups = found.groupdict()
        if _is_one(groups.get("o") or "") and found["k"] in "ahn":
            continue
        verb = _verb(groups.get("v") or "", groups.get("s") or "", found["k"], places)
        things = _things(f"{groups.get('o') or ''}{groups.get('o2') or ''}")
        if verb is None or things is None:
            continue
        order = place_order(found["k"], places.values[found["x"]], verb=verb, allow=allow, things=things)
        if order is not None:
            return order
    return None


_KIN = Pattern(
    r"⟧ (?!(?:please|pls|thanks|either|again|ever|at all|now|then|too|though|directly|for (?:me|now)|any ?more"
    r"|only)(?![a-z]))"
)
"""A word behind a name: `the Smith account` is not Smith."""


def _verb(verb: str, subject: str, kind: str, places: Places) -> str | None:
    """The verb as the families know it; None where it is none that orders something."""
    if subject:
        return subject if families(subject, places.verbs) else None
    if verb.startswith("send ") or (verb == "write to" and kind in "ahn"):
        return "transfer" if verb.endswith("money to") else "message" if "message" in verb else "email"
    verb = {
        "get in touch with": "contact",
        "pay back": "payback",
        "top up": "topup",
        "roll out": "rollout",
        "avoid": "touch",
        "leave": "touch",
    }.get(verb, verb)
    verb = (
        verb.removesuffix(" out")
        .removesuffix(" to")
        .removesuffix(" at")
        .removesuffix(" up")
        .removesuffix(" near")
        .removesuffix(" into")
    )
    if kind == "h" and verb == "go":
        return "visit"
    return verb if not verb or families(verb, places.verbs) else None


_WEAK = frozenset(stem(word) for word in WEAK)
_SELF = set_of("me us you him her yourself")
"""`Don't call me Ann` is not about calling Ann."""
_THE_ONE = set_of("it this that these those them the")
_OWNED = set_of("my our your his her their its")


def _is_one(words: str) -> bool:
    """Whether something certain is meant, this time: `send it only to Bob`, `don't cancel the order`, `my order`."""
    found = words.split()
    owned = any(word in _OWNED for word in found) and bool(found) and not found[-1].endswith("s")
    return owned or any(word in _THE_ONE for word in found)


def _things(words: str) -> tuple[str, ...] | None:
    """The nouns among the words between verb and place; None where they say more than nouns do."""
    found = tuple(word for word in words.split() if word not in _STOP and word not in _NEUTRAL)
    return found if len(found) <= 2 and not any("'" in word for word in found) else None


def _nothing(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    if found := _NO_NOUN.fullmatch(text):
        return forbidden(Act(verb=found["v"])) if families(found["v"], places.verbs) - {"any", "look"} else None
    found = _FORBID.fullmatch(text)
    if found is None or "⟦" in text:
        return None
    if text.startswith("never ") and (found["v"] or "").endswith("ed"):  # `never stored` is what something is
        return None
    words = found["o"] or ""
    act = _act(found["v"] or found["v2"], words, places)
    if act is None or families(act.verb, places.verbs) <= {"any", "look"} or _is_one(words) or _SELF & {*words.split()}:
        return None
    return forbidden(act)


# Patterns are compiled when they are first needed: a word that each row cannot do without keeps most of them away.
_READERS = (
    (Pattern(r" (?:i|we)(?:'ve)? |make up|invent|guess"), _own),
    (Pattern(r"bracket|parenthes|parens"), _brackets),
    (Pattern(r"before|prior to|first|until|unless|without|after|once|when"), _first),
    (Pattern(r"except|but|other than|apart from|unless"), _but),
    (Pattern(r"except|but|other than|apart from|nothing"), _all_but),
    (Pattern("⟦"), _allowed),
    (Pattern("⟦"), _denied),
    (Pattern(r"no|n't|never|refrain|circumstances"), _nothing),
)
