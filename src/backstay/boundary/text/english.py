"""The English gate: whether the words around a limit make it a rule of the author's, or a story or a quote."""

from __future__ import annotations

from backstay.boundary.text.acts import Vocabulary
from backstay.boundary.text.lexicon import families, stem
from backstay.boundary.text.limits import Limit
from backstay.boundary.text.words import scope_words, set_of
from backstay.core.patterns import Pattern

_DEEDS = set_of(
    "accept access add allow analyse analyze answer apply approve ask authorise authorize book browse buy call "
    "cancel change charge check choose close collect compare consider contact count create delete deploy do "
    "disclose display discard download edit email exceed exclude execute export extract fetch filter find focus "
    "forward get give go grant ignore include install invite issue keep leave limit list load look mail make "
    "merge message modify move offer omit open order overwrite pay pick post process publish pull purchase push "
    "query read refund register release remove rename reply report request reserve reset respond restrict "
    "retrieve return reveal review rewrite run save scan search select sell send set share ship skip show spend "
    "stay stick stop submit summarise summarize take tell touch transfer update upload use view visit wire "
    "withdraw work write"
)
"""Verbs that order the agent to do something, in the form of an order."""

_NAMING = set_of(
    "a an the any all each every per my our your this these those of in on at to from for with within "
    "during about by and or data order orders record records result results transaction transactions "
    "invoice invoices payment payments email emails message messages item items entries entry log logs "
    "event events sale sales history report reports ticket tickets customer customers refund refunds "
    "delivery deliveries purchase purchases statement statements booking bookings file files document "
    "documents news info information stuff things amount amounts total price budget limit placed made "
    "created dated sent may must should can shall be are is not no new recent single everything anything "
    "us me have has stay remain need needs discount discounts together altogether combined"
)
"""Words that name what a limit is about; a head of nothing else is a fragment such as `refunds under 100 GBP only`."""

_LEAD = Pattern(
    r"(?:please|pls|kindly|ok(?:ay)?|hi|hello|hey|but|and|also|so|then|or|again|remember|note|important|reminder|fyi"
    r"|thanks|thank you|btw|by the way|(?:just )?to be clear|for now|from now on|as i said|i said|i told you|i repeat"
    r"|make sure(?: that| to)?(?: you)?|be sure to|ensure(?: that)?(?: you)?|remember to|always|under all circumstances"
    r"|(?:just|only)(?= don't| do not| never| no | make sure)"
    r"|in this (?:session|chat|conversation)|it is important that(?: you)?|ever)(?![a-z'])[:,]? ?"
)
_LABEL = Pattern(r"[a-z][a-z ]{0,40}: ?")
_FRAME = Pattern(
    r"(?:you|we|the agent|the assistant)(?: only| just)? (?:may|can|could|must|should|shall|have to|need to|will"
    r"|are (?:only )?(?:allowed|permitted) to)(?![a-z'])"
    r"|(?:i|we)(?:'d| would| only| just| really| do)* (?:want|need|like|prefer|allow|authori[sz]e|permit|approve|accept"
    r"|agree|care|request|expect)(?![a-z])"
    r"|(?:i|we) (?:don't|do not|never)(?: ever)? (?:want|need|allow|accept|wish|authori[sz]e|like)(?![a-z])"
    r"|(?:can|could|would|will) you(?: please)?"
    r"|(?:i'm|i am|we're|we are)(?: only| just| really)* (?:interested in|looking at|concerned with|after)(?![a-z])"
    r"|you(?:'re| are) (?:only )?(?:allowed|permitted) to(?![a-z])|let(?:'s| us)"
    r"|(?:my|our|the|your) (?:[a-z]+ )?(?:budget|limit|maximum|cap|ceiling|range|scope|period)(?![a-z])"
    r"|(?:it|that|this) (?:must|may|should|shall|can)(?![a-z'])|you(?:'ve| have)(?: only)?(?: got)?(?![a-z])"
    r"|(?:i|we)(?:'m|'re| am| are)? (?:(?:won't|will not|not willing to|not going to|refuse to|don't want to)"
    r" (?:pay|spend|go|accept)|(?:can't|cannot) (?:spend|afford))(?![a-z])"
)
_STORY = Pattern(
    r"(?<![a-z])(?:was|were|did|had|has|have(?! to)|came|went|cost|costs|said|says|bought|paid|spent|got|took|arrived"
    r"|received|happened|shipped|ordered|charged|delivered|refunded|called|moved|what|why|where|how|who|which|whether"
    r"|because|that|think|guess|know|he|she|they|i|it's|i'm|i've)(?![a-z])"
)
_OWN_PAST = Pattern(
    r" (?:that )?(?:i|we)(?:'ve)? (?:placed|made|ordered|sent|received|bought)(?![a-z])| that are(?![a-z])"
)
_TAIL_STORY = Pattern(
    r"\A,? (?:i|he|she|they|we|it|people)(?![a-z])|\A,? you [a-z]+(?:ed"
    r"|nt|t)(?![a-z])|(?<![a-z])(?:was|were|had|has|have|did|came|went"
    r"|arrived|happened"
    r"|passed|ago|i think|i guess)(?![a-z])"
    r"|(?<![a-z])(?:is|are) (?!(?:allowed|relevant|ok|okay|fine|needed|enough|permitted|important|acceptable)(?![a-z]))"
)
_MENTION = (
    r"(?:translate|proofread|summari[sz]e|rewrite|paraphrase|rephrase|reword"
    r"|explain|edit|shorten|correct|check the grammar"
    r"|add|put|write|print|post|publish|say|read out|reply|answer|respond"
    r"|type|paste|insert|send|mail|email|text|tell|draft"
    r"|analy[sz]e|classify|format)(?![a-z])"
)
"""What a colon behind makes words of a text that is being dealt with."""
_REPORTED = Pattern(
    r"(?<![a-z])(?<!i )(?<!i've )(?:said|says|told|tells|claimed|states|stated|writes|wrote|mentioned|insisted"
    r"|promised)(?![a-z])|(?<![a-z])(?:according to|policy|policies|terms (?:say|and)|apparently|supposedly"
    r"|i (?:think|guess|believe|heard)|maybe|perhaps|probably|i don't know"
    r"|not sure|sadly|unfortunately|alas|hopefully|i (?:suppose|assume"
    r"|imagine|hope"
    r"|wonder|was told|used to))(?![a-z])"
    r"|(?<![a-z])(?:translat(?:e|ion)|example|examples|e\.g\.|phrase|proverb"
    r"|motto|slogan|headline|caption|lyrics|joke|title|subject"
    r"|sentence|sign|poster|spell|pronounce|quote|imagine|suppose|pretend|hypothetically)(?: [a-z]+){0,4} ?:"
    rf"|\A(?:please |can you |could you |now )*{_MENTION}[^:]{{0,60}}:"
    r"|\A(?:suppose|imagine|pretend|let's say|let's see|assume|assuming"
    r"|for example|e\.g\.|translate|what if|hypothetically)(?![a-z])"
)
_LOOSENS = Pattern(
    r"(?<![a-z])(?:(?:ignore|disregard|waive|lift|(?<!don't )forget|remove|drop|cancel)"
    r" (?:the|that|this|any|your|my|all)(?: [a-z]+)? (?:limits?|rules?|restrictions?|caps?)"
    r"|no longer"
    r"|(?:don't|do not|doesn't|does not) (?:have|need) to"
    r"|need(?: not|n't)|no need|not (?:only|just|limited|restricted|necessarily)|isn't (?:limited|restricted)|no limit"
    r"|instead of|feel free(?! to (?:do|use) (?:anything|everything|whatever"
    r"|any tool),? (?:except|but|other|apart)))(?![a-z])"
)
_CONDITION = Pattern(
    r"(?<![a-z])(?:if(?! (?:possible|needed|you can|you please))|except|excluding|apart from|other than|unless"
    r"|in case|as long as)(?![a-z])"
)
_POLITE = Pattern(
    r"(?:(?:please|hi|hello|hey|ok|so|and)(?: there)? )*(?:can|could|would|will) you (?:please|kindly|only|just|limit"
    r"|restrict|keep|stick|make sure|avoid|refrain|leave|stay|never)(?![a-z])"
    r"|(?:(?:please|hi|hello|hey|ok|so|and)(?: there)? )*(?:(?:could|would|will) you not|would you mind not)(?![a-z])"
)
_ASKS_AND = Pattern(
    r"(?:(?:please|hi|hello|hey|ok|so|and)[, ]+)*(?:can|could|would|will) you [^?]{1,200}?,? (?:and|but) (?:please )?"
    r"(?:don't|do not|never|only)(?![a-z])"
)
"""`Could you look into it, but don't refund anything?`: what is asked for is followed by an order."""
_TAG = Pattern(r", (?:ok|okay|alright|all right|please|thanks|yes)\Z")
_DEED = "|".join(sorted(_DEEDS, key=len, reverse=True))
_PROHIBITS = Pattern(
    rf"(?:never|don't|do not|under no circumstances(?: should you| may you)?|you (?:must|may|should|shall|can)"
    rf" (?:not|never)|you (?:mustn't|can't|cannot|shouldn't)|you(?:'re| are) not (?:allowed|permitted) to"
    rf"|i (?:don't|do not) (?:want|allow) you to|only)(?: ever)? (?:{_DEED})(?![a-z])"
    r"|(?:stay away from|keep away from|keep out of|stay out of|hands off|refrain from|leave .{1,60} alone)(?![a-z])"
    r"|never (?!say|have|did|mind|fear|again|ever|been|seen|heard|got|had"
    r"|was|did|done|said|told|came|went|made|knew|thought"
    r"|bought|paid|sent"
    r"|gave|took|felt|[a-z]+ed(?![a-z]))[a-z]+ [a-z]"
    r"|no (?:refunds?|transfers?|payments?|e-?mails?|calls?|deletions?|purchases?)"
    r"(?: (?:please|today|until|to|without|before|at all|for|over|above|under|of)(?![a-z])|\Z)"
    r"|(?:check with|ask) (?:me|us)(?: first)? before(?![a-z])|(?:never|don't|do not) do anything(?![a-z])"
)


_INTRODUCES = Pattern(rf"(?<![a-z]){_MENTION}[^:]{{0,80}}: ?\Z")
_NOTHING_KNOWN = Vocabulary()


def is_spoken_for(sentence: str) -> bool:
    """Whether the sentence reports what somebody else says, guesses, or takes a rule back: it makes no rule."""
    return bool(_REPORTED.search(sentence) or _LOOSENS.search(sentence))


def introduces(sentence: str) -> bool:
    """Whether the words after this one are a text to be dealt with: `Summarise this:`."""
    return _INTRODUCES.search(sentence) is not None


def is_plain_question(sentence: str) -> bool:
    """Whether a sentence with a question mark is more than an order put politely, or one with an `ok?` behind it."""
    return _POLITE.match(sentence) is None and _ASKS_AND.match(sentence) is None and _TAG.search(sentence) is None


def is_conditional(sentence: str) -> bool:
    """Whether it holds under a condition, or with an exception, that no predicate says."""
    return bool(_CONDITION.search(sentence))


def is_rule(clause: str, limit: Limit, before: str, known: Vocabulary = _NOTHING_KNOWN) -> bool:
    """Whether the words around a limit make it a rule: an order, a permission, a wish, or a bare fragment.

    Args:
        clause: the marked clause.
        limit: the bound found in it.
        before: the earlier clauses of the sentence; a fragment that goes on with a story is part of the story.
        known: what the agent's tools are called.
    """
    if _TAIL_STORY.search(clause[limit.end :]) or _STORY.search(_OWN_PAST.sub("", limit.mid)):
        return False
    head = stripped(clause[: limit.start])
    words = head.replace(",", " ").split()
    if _states_a_fact(words, clause, limit) or _describes(words, limit, clause):
        return False
    if not words or all(word in _NAMING or scope_words(word) or stem(word) in known.things for word in words):
        loose = not limit.strong and bool(words)
        return not loose and not _is_story(before) and _mid_is_order(limit, clause)
    if words[0] in _DEEDS or stem(words[0]) in known.verbs:
        return not _STORY.search(_OWN_PAST.sub("", head)) and (
            limit.strong or words[0] in ("stay", "keep", "stick", "search", "look")
        )
    if frame := _FRAME.match(f"{head} {clause[limit.start : limit.end]}"):
        return not _STORY.search(_OWN_PAST.sub("", head[frame.end() :]))
    return False


def _states_a_fact(words: list[str], clause: str, limit: Limit) -> bool:
    """`The sale is for today only`, `today only good news`: a window in a sentence about something else."""
    if limit.check is not None and limit.check["op"] == "window" and {"is", "are"} & set(words):
        return True
    after = clause[limit.end :].split()
    return clause[: limit.end].endswith(" only") and bool(after) and after[0] not in _NAMING | _DEEDS | _GOES_ON


_UNDER = Pattern(r"(?:under|below|less than|fewer than) ⟦")
_HOLDS = set_of("keep stay spend limit hold remain make cap restrict pay")


def _describes(words: list[str], limit: Limit, clause: str) -> bool:
    """`Refund all orders under 50 EUR` says which orders, and limits nothing."""
    is_plain = len(words) > 1 and words[0] in _DEEDS - _HOLDS and not {"only", "just", "solely"} & set(words)
    return is_plain and _UNDER.match(clause, limit.start) is not None


_GOES_ON = set_of("please pls thanks , and or but no nothing though ok okay not")


def stripped(head: str) -> str:
    """The clause without the words that only lead up to an order: `please`, `but`, `remember:`."""
    head = head.strip(" -")
    while lead := _LEAD.match(head) or _LABEL.match(head):
        head = head[lead.end() :].lstrip()
    return head


def _is_story(before: str) -> bool:
    if not _STORY.search(before):
        return False
    first = stripped(before).split(" ", 1)[0]
    return first not in _DEEDS and _FRAME.match(stripped(before)) is None


def _mid_is_order(limit: Limit, clause: str) -> bool:
    """`only` is strong and stands before anything; `just` and `no` are weak: an order or a name has to follow."""
    words = limit.mid.split()
    if not words or not clause.startswith("just", limit.start):
        return True
    return words[0] in _DEEDS or all(word in _NAMING for word in words)


def is_advisory(clause: str) -> bool:
    """Whether a clause forbids or narrows something in words that no predicate says."""
    head = stripped(clause)
    if _PROHIBITS.match(head):
        return True
    found = _NEGATED.match(head)
    return found is not None and bool(families(found["v"]) - _SAYS_LITTLE)


_NEGATED = Pattern(
    r"(?:never|don't|do not|you (?:must|may|should) not|you (?:mustn't"
    r"|shouldn't)) (?:ever )?(?P<v>[a-z]+) [a-z]"
)
_SAYS_LITTLE = frozenset(
    {"any", "look", "give", "stop", "move", "run", "close", "call", "sign", "book", "write", "contact"}
)
"""Families of words that people also say to each other: `don't give up`."""
