"""Turns of phrase: what people say in a roundabout way, put as the plain order that it is.

`I'd rather you didn't mail anyone` becomes `don't mail anyone`, `files must not be deleted` becomes `don't delete
files`. A turn stands at the beginning of a clause and says the same as what it becomes, no more; whether that is a rule
is decided by the gates and patterns that read it afterwards. Text is as `segments.plain` makes it, with marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from backstay.boundary.text.lexicon import families
from backstay.core.patterns import Pattern

_Put: TypeAlias = str | Callable[[re.Match[str]], str]

_AT = r"(?P<at>\A|, |: | but | and |\A(?:please|so|ok|also|but|and) )(?P<lead>(?:please |kindly |just )?)"
_PAST = {
    word: verb
    for verb, words in {
        "send": "sent",
        "buy": "bought",
        "pay": "paid",
        "write": "written",
        "overwrite": "overwritten",
        "sell": "sold",
        "give": "given",
        "make": "made",
        "run": "ran",
        "lend": "lent",
        "tell": "told",
        "put": "put",
    }.items()
    for word in words.split()
}
_STRESS = Pattern(
    r",? ?(?<![a-z])(?:absolutely|whatsoever|in any way|on any account|at any point|(?<!under )(?:any|no) circumstances"
    r"|no matter what|whatever (?:you do|happens)|full stop|for (?:heaven|god|goodness|pete)'s sake|the hell|the heck"
    r"|seriously|goddamn|damn|bloody|freaking|even(?! (?:if|though|when|after))|so much as|under any circumstances)"
    r"(?![a-z]),?"
)
_NOUN = r"(?:(?:any|all|more|further|new|automatic|every|each) |the (?=[a-z-]+s(?![a-z])))*(?P<n>[a-z-]+)"
_OFF = (
    r"(?:(?:is|are) (?:strictly |all |completely )?(?:off[- ]limits|off the table|out of the question|out of bounds"
    r"|forbidden|prohibited|banned|taboo|verboten|blocked|a no-go|no-gos?"
    r"|none of your business|not (?:allowed|permitted|ok|okay|acceptable"
    r"|an option)))(?: please)?\Z"
)
_OFF_HINT = "limits|table|question|bounds|forb|proh|ban|taboo|verb|block|no-go|not |business"
_MAY_NOT = r"(?:must|may|should|shall|can)(?: not|n't|not| never)(?: ever)? be "
_SHALL = r"(?:may|must|should|shall|can|is to|are to|gets?|get to|must get) (?:ever )?(?:to )?(?:be )?"
_READ_ONLY = (
    r"(?:(?:(?:please|ok|so|and|strictly|keep (?:it|this|everything|things)|stay|remain|be|go|in|use|work|treat (?:this"
    r"|everything|it|all of it) as|(?:this|it)(?: (?:session|task|run|job|chat))? (?:is|has to be|must be|should be"
    r"|stays|must stay)|you (?:are|have|get|may have)) )*(?:strictly |only )?(?:read|view|look)[- ]only(?: mode| access"
    r"|,? please|,? thanks| for now)*"
    r"|(?:you (?:may|can) )?look,? (?:but )?don't touch(?: anything)?"
    r"|(?:you (?:may|can) )?only (?:look|read|view)(?: please)?|just (?:look|read),? (?:nothing else|nothing more))"
)
_EXCEPT = r"(?:except(?: for)?|but|other than|apart from)"


def _base(word: str) -> str:
    """`sent` and `deleted` as verbs that the families know."""
    return _PAST.get(word, word)


def _acted(found: re.Match[str]) -> str:
    """`don't delete files` for `files must not be deleted`; the words as they were where it is no action."""
    verb = _base(found["v"])
    if not families(verb):
        return found[0]
    return f"{found['at']}don't {verb} {found['n']}{found.groupdict().get('where') or ''}"


def _no_ing(found: re.Match[str]) -> str:
    return f"{found['at']}don't {found['g']}" if families(found["g"]) else found[0]


def _no_noun(found: re.Match[str]) -> str:
    return f"{found['at']}no {found['n']}" if families(found["n"]) - {"any", "look"} else found[0]


def _never_to(found: re.Match[str]) -> str:
    """`don't email to Bob` for `no emails to Bob`."""
    return f"{found['at']}don't {found['n']}{found['to']}" if families(found["n"]) - {"any", "look"} else found[0]


_NUMBERS = r"(?:[0-9]{1,6}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty)"
_TIMES = {"once": "1 time", "twice": "2 times"}
_PER = r"(?: (?:per|a|each|every) (?:day|session)| daily| today| in total| in all)?(?:,? please)?\Z"


def _at_most(found: re.Match[str]) -> str:
    """`at most one refund` for `only one refund`, where what is counted is an action."""
    verb = found.groupdict().get("v") or ""
    if not families(verb or found["n"]) - {"any", "look", "give"}:
        return found[0]
    number = "one" if found["q"] in ("a", "an") else found["q"]
    noun = "refunds" if found["n"] == "refund" and number != "one" else found["n"]
    return f"{found['at']}{verb}{' ' if verb else ''}at most {number} {noun}{found['rest']}"


_TURNS: tuple[tuple[str, Pattern, _Put], ...] = tuple(
    (hint, Pattern(pattern), put)
    for hint, pattern, put in (
        (
            " and ",
            r"(?P<at>)(?<![a-z])(?P<b>at most|up to|no more than|not more than"
            r"|max(?:imum)?) (?P<one>[€$£]?[0-9][^,]{0,30}?)(?:, and|,| and)"
            r" (?P<two>[€$£]?[0-9][0-9.,]* ?[a-z$€£]{0,7})(?= (?:in total|in all"
            r"|altogether|overall|a day|per day|each|per ))",
            r"\g<b> \g<one>, \g<b> \g<two>",
        ),
        ("you", rf"{_AT}(?:don't|do not|never) you (?:dare |ever )*(?:to )?(?=[a-z])", r"\g<at>don't "),
        ("think|dream", rf"{_AT}(?:don't|do not|never) (?:think|dream) (?:about|of) (?=[a-z]+ing)", r"\g<at>don't "),
        (
            "not|never",
            rf"{_AT}(?:try|be careful|make sure|be sure|take care|remember|see to it|be certain|you'd better|better"
            rf"|you had better)(?: to)? (?:not|never)(?: to)? ",
            r"\g<at>don't ",
        ),
        (
            "you",
            rf"{_AT}(?:you(?:'re| are) (?:forbidden|prohibited|banned|barred) (?:to"
            r"|from)|you (?:have no|don't have|do not have)"
            r" (?:the |any )?(?:permission|authori[sz]ation|authority|right|business) "
            r"(?:to|for)|you(?:'re| are|) ?(?:not|aren't)"
            rf" (?:allowed|permitted|authori[sz]ed|supposed) to|(?:i|we) (?:forbid|prohibit) you (?:to|from)"
            rf"|(?:i|we) (?:don't|do not|won't|will not) (?:allow|permit|authori[sz]e|let|want) you(?: to)?) (?=[a-z])",
            r"\g<at>don't ",
        ),
        (
            "allow|permit|auth|toler|accept",
            rf"{_AT}(?:i|we) (?:won't|don't|will not|do not) (?:allow|permit|authori[sz]e"
            rf"|tolerate|accept) {_NOUN}(?=,|\Z)",
            _no_noun,
        ),
        (
            "change",
            rf"{_AT}(?:make no changes|no changes|(?:don't|do not|never) make (?:any )?changes)"
            r" (?:to|in|under|on)(?: anything in)? (?P<m>⟦[pg][a-z]⟧)",
            r"\g<at>don't change anything in \g<m>",
        ),
        ("change", rf"{_AT}make no changes(?=,| please|\Z)", r"\g<at>don't change anything"),
        (
            "change|touch|delete",
            rf"{_AT}(?:i|we) (?:don't|do not) want (?:anything|any files?) (?:in"
            r"|under) (?P<m>⟦[pg][a-z]⟧)(?: to be| being)? (?P<v>changed|touched"
            r"|deleted|modified|edited)",
            r"\g<at>don't \g<v> anything in \g<m>",
        ),
        ("only", rf"{_AT}(?:you )?(?:may|can|must|should) (?=[a-z]+(?: [a-z]+){{0,3}} only )", r"\g<at>"),
        (
            "access",
            rf"{_AT}(?:no access to (?P<m>⟦[ph][a-z]⟧)|access to (?P<m2>⟦[ph][a-z]⟧) {_OFF})",
            lambda found: f"{found['at']}hands off {found['m'] or found['m2']}",
        ),
        ("touches", rf"{_AT}(?:nobody|no one) touches (?=⟦p)", r"\g<at>don't touch "),
        (
            "skip|ignore|exclude|omit|leave out|disregard",
            rf"{_AT}(?:ignore|skip|exclude|leave out|omit|disregard)(?: (?:everything"
            r"|anything|all files) (?:in|under|from|on))? (?P<m>⟦[pgh][a-z]⟧)(?=,"
            r"| please|\Z)",
            r"\g<at>hands off \g<m>",
        ),
        (
            "from|only",
            rf"{_AT}(?:only|just) (?:sources?|pages?|sites?|results?|info|information"
            r"|content|data) (?:from|on|at|of) (?P<m>⟦h[a-z]⟧)",
            r"\g<at>only use \g<m>",
        ),
        ("only", rf"{_AT}(?:sources?|sites?|pages?): (?P<m>⟦h[a-z]⟧) only", r"\g<at>only use \g<m>"),
        (
            "cost|pric|expens|dear",
            r"(?P<at>)(?<![a-z])(?:that|which)? ?(?:costs?|costing|is|are|priced)? ?"
            r"(?:(?:costs?|costing) (?:more than|over|above)|(?:pricier|dearer"
            r"|more expensive|costlier) than|priced (?:over|above|at more than)) "
            r"(?=[^ ]*[0-9€$£])",
            r"over ",
        ),
        (
            "as long as|provided",
            r"(?P<at>\A(?:(?:spend|buy|order|pay|take|do|go ahead|fine|ok|okay"
            r"|sure|yes|all right|alright|no problem|any|anything|that's"
            r"|go)(?: [a-z']+){0,6}?,? )?|, |but )(?:as long as|provided(?: that)?"
            r"|so long as) (?:it|they|that|the (?:price|total|amount))(?:'s| is"
            r"| are"
            r"| stays?| remains?| costs?|'re)?(?: all)? (?=under|below|less than"
            r"|at most|no more than|not more than|within)",
            lambda found: f"{found['at'].rstrip(' ,')}{', ' if found['at'].strip(' ,') else ''}keep it ",
        ),
        (
            "as long as|provided",
            r"(?P<at>\A(?:(?:go ahead|fine|ok|okay|sure|yes|all right|alright|no problem"
            r"|do (?:it|what(?:ever)? you (?:like|want)))[a-z ]{0,20}?,? ))(?:as long as"
            r"|provided(?: that)?|so long as) you (?=don't|do not|never|only)",
            lambda found: f"{found['at'].rstrip(' ,')}, ",
        ),
        ("mind", rf"{_AT}(?:would|do) you mind not ", r"\g<at>don't "),
        (
            "you",
            rf"{_AT}(?:(?:could|would|will) you (?:please |kindly )*(?:not|never) "
            r"(?!find|see|hear|understand|wait|believe|know)|can you (?:please"
            r"|kindly) (?:not|never) )",
            r"\g<at>don't ",
        ),
        (
            "you",
            rf"{_AT}(?:i|we)(?:'d| would)?(?: much| really)? (?:rather|prefer|like"
            r"|appreciate)(?: it)?(?: if| that)? you"
            rf" (?:didn't|don't|not|do not|did not|never|wouldn't|would not)(?: to)? ",
            r"\g<at>don't ",
        ),
        (
            "you",
            rf"{_AT}(?:i|we)(?:'d like| would like| want| need) you (?:to not|not to"
            r"|to never|never to) ",
            r"\g<at>don't ",
        ),
        ("you", rf"{_AT}(?:i|we) (?:don't|do not) want you (?=[a-z]+ing)", r"\g<at>don't "),
        (
            "rather|prefer",
            rf"{_AT}(?:i|we)(?:'d| would) (?:rather|prefer)(?: to)? not(?: to)? "
            r"(?=spend|pay|go over|exceed)",
            r"\g<at>don't ",
        ),
        ("avoid", rf"{_AT}(?:(?:try|do your best) to |best |better )*avoid (?P<g>[a-z]+ing)(?= |\Z)", _no_ing),
        ("avoid", rf"{_AT}(?:(?:try|do your best) to |best |better )*avoid {_NOUN}(?=,|\Z)", _no_noun),
        ("stop|quit|cease", rf"{_AT}(?:stop|quit|cease) (?P<g>[a-z]+ing)(?= |\Z)", _no_ing),
        ("hold|wait", rf"{_AT}(?:hold off|wait)(?: on| with) (?P<g>[a-z]+ing)(?= |\Z)", _no_ing),
        ("hold|wait", rf"{_AT}(?:hold off|wait)(?: on| with) {_NOUN}(?= until| till|,|\Z)", _no_noun),
        (
            "no|zero",
            rf"{_AT}(?:there (?:must|should|shall|will|are to) be|(?:i|we) want"
            r"|make it) (?:no|zero) ",
            r"\g<at>no ",
        ),
        ("zero|not", rf"{_AT}(?:zero|not a single|not one) (?=[a-z])", r"\g<at>no "),
        ("no", rf"{_AT}no (?P<g>[a-z]+ing)(?= [a-z⟦])", _no_ing),
        (
            "be",
            rf"{_AT}(?P<n>(?:(?:the|any|all|my|our|your|these|those|this|that) )?[a-z-]+"
            rf"|⟦[phat][a-z]⟧) {_MAY_NOT}(?P<v>[a-z]+)",
            _acted,
        ),
        ("no", rf"{_AT}no (?P<n>[a-z-]+) {_SHALL}(?P<v>[a-z]+(?:ed|nt|en|ght|id|de|ld))(?= |,|\Z)", _acted),
        (
            "nothing",
            rf"{_AT}no(?P<n>thing)(?P<where> (?:in|under|below|inside|from) ⟦[phg][a-z]⟧)? {_SHALL}"
            r"(?P<v>[a-z]+(?:ed|nt|en|ght|id"
            rf"|de|ld))(?= |,|\Z)",
            lambda found: (
                _acted(found).replace(f" {found['n']}", " anything", 1) if families(_base(found["v"])) else found[0]
            ),
        ),
        (
            "no",
            rf"{_AT}(?:nobody|no one|no agent) (?:should|may|must|shall|can|is to"
            r"|is allowed to) (?:ever )?(?=[a-z])",
            r"\g<at>don't ",
        ),
        (
            "it",
            rf"{_AT}(?:it's|it is|it isn't) (?:(?:strictly )?(?:forbidden|prohibited)"
            r"|(?:not )?(?:ok|okay|allowed|permitted"
            rf"|acceptable|fine)) to ",
            lambda found: f"{found['at']}don't " if re.search("not |isn't|forb|proh", found[0]) else found[0],
        ),
        (
            _OFF_HINT,
            rf"{_AT}(?P<g>[a-z]+ing)(?P<rest>(?: [a-z-]+){{0,3}}(?: ⟦[a-z]{{2}}⟧)?) {_OFF}",
            lambda found: f"{found['at']}don't {found['g']}{found['rest']}" if families(found["g"]) else found[0],
        ),
        (_OFF_HINT, rf"{_AT}{_NOUN} {_OFF}", _no_noun),
        (
            _OFF_HINT,
            rf"{_AT}(?:anything|everything|all files)(?: that is| that's)? outside"
            rf"(?: of)? (?P<m>⟦[ph][a-z]⟧) {_OFF}",
            r"\g<at>nothing outside \g<m>",
        ),
        (
            _OFF_HINT,
            rf"{_AT}(?:(?:anything|everything|all files|the files?)(?: that is| that's)? "
            r"(?:in|under|below|inside|from|on|at) )?(?:the (?:folder|directory"
            rf"|site|tool|domain|file) )?(?P<m>⟦[phatg][a-z]⟧) {_OFF}",
            r"\g<at>hands off \g<m>",
        ),
        (
            "hands|paws|fingers",
            rf"{_AT}(?:keep|take|get) your (?:hands|paws|fingers) (?:off|out)(?: of)? ",
            r"\g<at>hands off ",
        ),
        ("hands off", rf"{_AT}hands off (?:the |any |all )?(?P<n>[a-z]+)(?=,|\Z)", _no_noun),
        ("clear of", rf"{_AT}(?:steer|stay|keep)(?: well)? clear of ", r"\g<at>stay away from "),
        (
            "with|around|near",
            rf"{_AT}(?:don't|do not|never) (?:(?:mess|fiddle|tamper|meddle|monkey"
            r"|play|fool|poke|snoop|dig)(?: around| about)? (?:with|in)"
            rf"|go (?:anywhere )?near|interfere with|lay (?:a hand|hands|a finger) on)(?: anything (?:in|under))? ",
            r"\g<at>don't touch ",
        ),
        (
            "leave|let",
            rf"{_AT}(?:leave|let) (?:(?:everything|anything|all files|the files"
            r"|all) (?:in|under|below|inside) )?(?:the (?:folder"
            rf"|directory|file) )?(?P<m>⟦[phatg][a-z]⟧) (?:(?:well )?alone|be|in peace|untouched)(?=,| please|\Z)",
            r"\g<at>leave \g<m> alone",
        ),
        (
            "leave|let|keep",
            rf"{_AT}(?:leave|keep|let) (?:(?:everything|anything|all files|the files"
            r"|all) (?:in|under|below|inside) )?(?:the (?:folder"
            r"|directory|file) )?(?P<m>⟦[pg][a-z]⟧) (?:as (?:it is|is|they are"
            r"|it was)|(?:just )?the way (?:it is|they are)"
            rf"|unchanged)(?=,| please|\Z)",
            r"\g<at>don't change anything in \g<m>",
        ),
        (
            "as",
            rf"{_AT}(?P<m>⟦[pg][a-z]⟧) (?:stays|remains|is to stay|must stay|has to stay) "
            r"(?:as (?:it is|is)|untouched|the way it is|unchanged)(?=,|\Z)",
            r"\g<at>don't change anything in \g<m>",
        ),
        (
            "leave",
            rf"{_AT}(?:don't|do not|never|you must not) (?:ever )?(?:leave|go out of"
            r"|step out of|venture outside|get out of) (?:the (?:folder|directory"
            r"|site|domain) )?(?P<m>⟦[ph][a-z]⟧)(?=,| please|\Z)",
            r"\g<at>stay inside \g<m>",
        ),
        (
            "read",
            rf"{_AT}treat (?:everything (?:in|under) )?(?P<m>⟦[pg][a-z]⟧) as read[- ]only",
            r"\g<at>don't change anything in \g<m>",
        ),
        ("goes", rf"{_AT}anything goes,? {_EXCEPT} ", r"\g<at>do anything except "),
        (
            "feel free",
            rf"{_AT}feel free to (?P<do>do|use) (?P<any>anything|everything|whatever"
            rf"|any tool),? {_EXCEPT} ",
            r"\g<at>\g<do> anything except ",
        ),
        (
            "fine|ok|allowed",
            rf"{_AT}(?:anything|everything) {_EXCEPT} (?P<n>[a-z]+(?: [a-z]+)?|⟦t[a-z]⟧) "
            r"(?:is|are) (?:fine|ok|okay|allowed|permitted)(?=,|\Z)",
            r"\g<at>do anything except \g<n>",
        ),
        (
            "else",
            r"\A(?P<at>)(?:please )?(?:only )?(?P<do>[a-z]+ (?:[a-z]+ ){0,5}?⟦[phatn][a-z]⟧)"
            r"(?: only)?,? (?:and |but )?(?:nobody|no one|nowhere|nothing|not anywhere"
            r"|not anyone) else(?: please)?\Z",
            r"only \g<do>",
        ),
        (
            "nothing",
            r"(?P<at>\A|, )(?:(?:just|only) )?(?P<w>(?:(?:look at|use|check|take"
            r"|show me) )?(?:the )?(?:last|past) [^,⟦]{1,24}?),? (?:and |but )?nothing "
            r"(?:else|older|more|earlier|before(?: that)?)\Z",
            r"\g<at>only \g<w>",
        ),
        (
            "who",
            r"(?P<at>)(?P<who>anyone|anybody|people|someone|somebody) who (?:is not"
            r"|isn't|are not|aren't) (?:at|from|with|in|on) (?=⟦h)",
            r"\g<who> outside ",
        ),
        (
            "alone|out of|peace",
            rf"{_AT}(?:leave (?P<m>⟦n[a-z]⟧) (?:alone|be|in peace|out of (?:this"
            r"|it|that))|keep (?P<m2>⟦n[a-z]⟧) out of (?:this|it|that|the loop))"
            r"(?=,| please|\Z)",
            lambda found: f"{found['at']}don't contact {found['m'] or found['m2']}",
        ),
        (
            "want",
            rf"{_AT}(?:i|we) (?:don't|do not) want (?:any |the |my )*(?P<n>[a-z-]+)"
            r"(?: to be| being)? (?P<v>[a-z]+(?:ed|nt|en|ght|id|de|ld))(?=,|\Z)",
            _acted,
        ),
        (
            "notice|time being|moment|now",
            r"(?P<at>),? ?(?<![a-z])(?:until further notice|for the time being"
            r"|for the moment|for now),?(?= |\Z)",
            "",
        ),
        ("only", rf"{_AT}you(?:'re| are) only (?:allowed|permitted) to (?=[a-z])", r"\g<at>you may only "),
        (
            "only",
            rf"{_AT}you(?:'re| are) (?:allowed|permitted) to (?P<v>[a-z]+(?: [a-z]+){{0,2}} onl"
            r"y )",
            r"\g<at>\g<v>",
        ),
        (
            "no",
            rf"{_AT}no (?:more |further )?(?P<n>[a-z-]+)(?P<to> (?:to|outside|outside of"
            r"|except to|other than to|with|into) ⟦[ahnp][a-z]⟧)",
            _never_to,
        ),
        (
            "no |without",
            rf"{_AT}(?:no|(?:do (?:it|this|that) )?without(?: using)?) (?P<m>⟦[ht][a-z]⟧)"
            r"(?=,| please|\Z)",
            r"\g<at>don't use \g<m>",
        ),
        ("only|just", r"\A(?P<at>)(?:please )?(?:only|just) (?P<m>⟦[phat][a-z]⟧)(?= please|\Z)", r"stick to \g<m>"),
        ("only", rf"{_AT}only (?P<v>[a-z]+) (?P<q>{_NUMBERS}) (?P<n>[a-z-]+)(?P<rest>{_PER})", _at_most),
        ("only|just", rf"{_AT}(?P<v>[a-z]+) (?:only|just) (?P<q>{_NUMBERS}) (?P<n>[a-z-]+)(?P<rest>{_PER})", _at_most),
        ("only", rf"{_AT}only (?P<q>{_NUMBERS}) (?P<n>[a-z-]+)(?P<rest>{_PER})", _at_most),
        (
            "only|more",
            rf"{_AT}(?:just |a |only )?(?P<q>{_NUMBERS}|single) (?P<n>[a-z-]+)(?P<rest>"
            r"(?: (?:per|a) day)?)(?: only|,? (?:and )?(?:no more|not more|nothing more))"
            r"(?:,? please)?\Z",
            lambda found: _at_most(found).replace("single", "one"),
        ),
        (
            "once|twice",
            r"(?P<at>)(?P<b>at most|more than|max(?:imum)?|no more than) (?P<w>once"
            r"|twice)(?![a-z])",
            lambda found: f"{found['b']} {_TIMES[found['w']]}",
        ),
        (
            "once|twice",
            r"(?P<at>)(?<![a-z])(?P<w>once|twice) (?P<b>at (?:the )?most|max(?:imum)?"
            r"|tops)(?![a-z])",
            lambda found: f"{found['b'].replace('the ', '')} {_TIMES[found['w']]}",
        ),
        (
            "max|most|tops",
            r"(?P<at>), (?P<b>max(?:imum)?|at (?:the )?(?:very )?most|tops)(?P<rest>\.?"
            r"(?: please)?)\Z",
            r" \g<b>\g<rest>",
        ),
        ("read|look|view", rf"\A(?P<at>){_READ_ONLY}\Z", "don't change anything"),
        ("read|look|view", rf"(?P<at>, |: | but | and ){_READ_ONLY}\Z", r"\g<at>don't change anything"),
        ("order", r"(?P<at>)(?<![a-z])plac(?:e|ing) (?:an?|any|the|new|more) (?:new )?orders?(?![a-z])", "order"),
    )
)
_LONGEST = 600


def turned(text: str) -> str:
    """Return the words of a sentence with its turns of phrase put plainly; over 600 characters they stay."""
    if len(text) > _LONGEST:
        return text
    plainer = re.sub(" +", " ", _STRESS.sub(" ", text)).strip()
    text = plainer if len(plainer) > 2 else text
    for hint, pattern, put in _TURNS:
        if any(one in text for one in hint.split("|")):
            text = pattern.sub(put, text)
    return text
