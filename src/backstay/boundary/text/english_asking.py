"""The wish to be asked, in English: taken out, the rest is the plain prohibition. See `modifiers`."""

from __future__ import annotations

from backstay.boundary.text.plain_words import Plain
from backstay.core.patterns import Pattern

_YES = (
    r"(?:ok|okay|o\.k\.|approval|permission|consent|confirmation|agreement|go-ahead|say-so|word|sign-off"
    r"|explicit [a-z]+)"
)
_ASKING = (
    rf"(?:ask|check with|consult|confirm with|consult with|clear it with|run it by|notify and ask|get back to) (?:me"
    rf"|us)(?: first)?"
    r"|(?:tell|inform|warn|notify|alert|message|ping) me(?: first)?|let me know(?: first)?|give me a heads[- ]up"
    r"|(?:double[- ]check|clear (?:it|this|that)|sign off|verify|discuss(?: it| this)?) with (?:me|us)(?: first)?"
    r"|(?:run|put) (?:it|this|that) (?:by|past) (?:me|us)(?: first)?|(?:come back|speak|talk) to (?:me|us)(?: first)?"
    rf"|(?:get|obtain|wait for|have|ask for|ask me for|request|await|need|seek) (?:my|our|an?"
    rf"|explicit)(?: explicit)? {_YES}(?: from me| first)?"
    rf"|(?:confirm|ask)(?: first)?"
)
_LEAD = r"(?:please |always |you (?:must|should|have to|need to) |make sure you |make sure to |first )*"
_ASK_BEFORE = Pattern(rf"{_LEAD}(?:{_ASKING}),? (?:before|prior to) (?:you )?(?:ever |actually )?(?P<rest>.+)")
_BEFORE_ASK = Pattern(rf"before (?:you )?(?P<rest>[^,]+), {_LEAD}(?:{_ASKING})[.!]*")
_MUST_AGREE = Pattern(
    r"(?:a (?:person|human|manager|colleague)|someone|somebody|i|we|the user) (?:must|has to|have to|should"
    r"|needs? to|want to|wants to)"
    r" (?:be asked|approve|confirm|agree|sign off|decide|ok it|be consulted)(?: it"
    r"| to it)? before (?:you )?(?P<rest>.+)"
)
_OVER = (
    r"(?P<over{n}> (?:over|above|of more than|exceeding|more than|larger than"
    r"|bigger than|higher than) [^,]{{1,30}}?)?"
)
_ALL = r"(?:every|each|any|all|an?)? ?(?:single )?(?:the )?"
_APPROVE = r"(?:approve|confirm|sign off on|sign off|ok|okay|vet|authori[sz]e|green-?light)"
_REVIEW = rf"(?:{_APPROVE[3:-1]}|review|check|see|look at|look over)"
_BEFOREHAND = r"(?:first|myself|personally|beforehand|before (?:you|they|it|anything|any)(?![a-z]).*)"
_THROUGH = Pattern(
    rf"{_ALL}(?P<noun>[a-z-]+){_OVER.format(n='')} (?:(?:must|has to|have to"
    r"|needs? to|should) )?(?:go(?:es)?|be (?:cleared|run"
    rf"|agreed|discussed|checked)|comes?) (?:through|by|past|with) (?:me|us)(?: first)?[.!]*"
    rf"|(?:run|clear|check|put|discuss|agree) {_ALL}(?P<noun2>[a-z-]+){_OVER.format(n='2')} (?:by|past|with) (?:me|us)"
    r"(?: first| beforehand)?[.!]*"
    r"|(?:let me|(?:i|we)(?:'d)? (?:want to|need to|have to|must|like to|would like to|get to)) (?:personally )?"
    rf"{_APPROVE} (?:every|each|any|all)(?: single)? (?P<noun3>[a-z-]+){_OVER.format(n='3')}(?: {_BEFOREHAND})?[.!]*"
    r"|(?:let me|(?:i|we)(?:'d)? (?:want to|need to|have to|must|like to|would like to)) (?:personally )?"
    rf"{_REVIEW} (?:(?:every|each|any|all)(?: single)? )?(?P<noun4>[a-z-]+){_OVER.format(n='4')} {_BEFOREHAND}[.!]*"
    rf"|{_ALL}(?P<noun5>[a-z-]+){_OVER.format(n='5')},? only with (?:my|our|an?|explicit)(?: explicit)? {_YES}[.!]*"
    rf"|{_ALL}(?P<noun6>[a-z-]+){_OVER.format(n='6')} (?:needs?|requires?|must have) (?:my|our|an?"
    rf"|explicit)(?: explicit| prior)? {_YES}(?: first)?[.!]*"
    rf"|no (?P<noun7>[a-z-]+){_OVER.format(n='7')} (?:goes|go|leaves|gets [a-z]+|is [a-z]+)(?: out)? without (?:my|our)"
    rf"(?: explicit)? {_YES}[.!]*"
)
_SAID_SO = (
    r"(?:i|we)(?:'ve| have)? (?:first )?(?:say so|said so|agreed?|approved?"
    r"|confirm(?:ed)?|ok'?e?d?|okay(?:ed)?|sign off"
    r"|allow(?:ed)?|signed off|seen(?: it)?|reviewed|checked(?: it)?|give "
    r"(?:you )?(?:the|my) (?:ok|okay|go-ahead|green light)|tell you to"
    r"|told you to)"
    r"(?: (?:on )?it)?"
)
_ONLY_IF = Pattern(
    rf"(?:you (?:may|can|must|should) )?only (?P<rest>[^,]+?) (?:after|once|when|if) {_SAID_SO}[.!]*"
    rf"|(?:you (?:may|can|must|should) )?only (?P<rest2>[^,]+?) with (?:my|our)(?: explicit)? {_YES}[.!]*"
)
_ANY = ("", "it", "that", "this", "anything", "everything", "something", "amount", "price", "cost", "total")
_ABOVE = r"(?:over|above|beyond|of more than|more than|exceeding|higher than)"
_IS = r"(?:'s|(?: (?:is|are|costs?|goes|gets|comes|would be|will be|exceeds))(?: to)?)"
_MAY_ASK_ME = rf"{_LEAD}(?:{_ASKING}|ask|you need (?:my|our|an?)(?: explicit)? {_YES})"
_IF_OVER = Pattern(
    rf"(?:if|when|whenever) (?:an? |the |any )?(?P<noun>[a-z]+){_IS} {_ABOVE} "
    rf"(?P<n>[^,:]{{1,30}}?),? {_MAY_ASK_ME}[.!]*"
    rf"|(?:for )?(?:any |an? )?(?P<noun2>[a-z]+)? ?(?<![a-z]){_ABOVE} (?P<n2>[^,:]{{1,30}}?)[,:]? {_MAY_ASK_ME}[.!]*"
    rf"|{_LEAD}(?:{_ASKING}|ask) (?:if|when|whenever) (?:an? |the |any )?"
    rf"(?P<noun3>[a-z]+){_IS} {_ABOVE} (?P<n3>[^,:]{{1,30}}?)[.!]*"
)
_BEYOND = Pattern(
    r"(?P<rest>.{0,60}(?:up to|at most|under|below|less than) [^,]{1,40}?)"
    r"(?: (?:is|are) (?:fine|ok|okay|all right))?(?: without"
    r" (?:asking|checking)(?: me| with me)?)?,? (?:and |but )?(?:for )?"
    rf"(?:anything |everything )?{_ABOVE}(?: that| this| it)?,? {_MAY_ASK_ME}"
    r"[.!]*"
)
"""`Refunds up to 50 EUR are fine, above that ask me.`"""
_UNASKED = Pattern(
    r"(?P<rest>(?:you (?:can|may) )[^,]{0,40}(?:up to|at most|under|below"
    r"|less than) [^,]{1,40}?) without (?:asking|checking)(?: me"
    r"| with me)?(?: first)?[.!]*"
)
_IF_YOU = Pattern(
    r"(?:if|when|whenever|any ?time|every time|should) you(?: ever)?(?: want to| need to| have to| are about to"
    r"|'re about to| plan to| intend to| would like to| wish to| think you (?:need|have) to| feel like| must)"
    rf" (?P<rest>[^,]+),? {_LEAD}(?:{_ASKING})(?: about it)?[.!]*"
)
_NEEDS = Pattern(
    r"(?:every|each|any|all|an?)? ?(?P<noun>[a-z-]+) (?:must|has to|have to|needs? to|should) be (?:approved"
    r"|confirmed|signed off"
    r"|authori[sz]ed|okayed) (?:by (?:me|us|a person|a human|someone)|first)(?: (?:first|before .{1,40}))?[.!]*"
    rf"|(?:every|each|any|all|an?)? ?(?P<noun2>[a-z-]+) (?:needs?|requires?) (?:my|our|an?"
    rf"|explicit)(?: explicit)? {_YES}[.!]*"
    r"|(?:i|we) (?:must|have to|want to|need to|will) (?:approve|confirm|see) (?:every|each|any"
    r"|all) (?P<noun3>[a-z-]+) before .+"
)
_WITHOUT = Pattern(
    rf"(?P<rest>.+?),? (?:without (?:first )?(?:asking|checking with|consulting|confirming with|telling|informing"
    r"|notifying|letting)(?: me| us)?(?: know)?(?: first)?"
    rf"|without (?:my|our|an?|explicit)(?: explicit)? {_YES}"
    r"|without (?:prior |explicit )?(?:confirmation|approval|permission"
    r"|consent|authori[sz]ation)(?: (?:from|by) (?:me|us))?"
    rf"|(?:unless|until|till|before) {_SAID_SO})[.!]*"
)
_NEGATIVE = Pattern(
    r"(?:please |and |but )*(?:never|don't|do not|no |not |you (?:must|may|should|can)(?:n't|not| not| never)"
    r"|must not|nothing)"
)
_NOUN = Pattern(r"(?:any|each|every|an?|the|all) (?P<noun>[a-z-]+)[.!]*\Z")


def english_asking(text: str) -> Plain | None:
    """The prohibition behind the wish; None where none is stated."""
    for pattern in (_ASK_BEFORE, _BEFORE_ASK, _MUST_AGREE):
        if found := pattern.fullmatch(text):
            noun = _NOUN.match(found["rest"])
            return Plain(f"no {noun['noun']}" if noun else f"never {found['rest']}", asks=True)
    for pattern in (_BEYOND, _UNASKED):
        if found := pattern.fullmatch(text):
            return Plain(found["rest"], asks=True)
    if found := _IF_OVER.fullmatch(text):
        which = next(n for n in ("", "2", "3") if found[f"n{n}"])
        about = found[f"noun{which}"] or ""
        over = f"over {found[f'n{which}']}"
        return Plain(f"nothing {over}" if about in _ANY else f"no {about} {over}", asks=True)
    if found := _IF_YOU.fullmatch(text):
        return Plain(f"never {found['rest']}", asks=True)
    if found := _ONLY_IF.fullmatch(text):
        return Plain(f"never {found['rest'] or found['rest2']}", asks=True)
    if found := _THROUGH.fullmatch(text):
        which = next(n for n in ("", *"234567") if found[f"noun{n}"])
        return Plain(f"no {found[f'noun{which}']}{found[f'over{which}'] or ''}", asks=True)
    if found := _NEEDS.fullmatch(text):
        return Plain(f"no {found['noun'] or found['noun2'] or found['noun3']}", asks=True)
    if (found := _WITHOUT.fullmatch(text)) and _NEGATIVE.match(found["rest"]):
        return Plain(found["rest"], asks=True)
    return None
