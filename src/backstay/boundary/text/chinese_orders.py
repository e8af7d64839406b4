"""What Chinese sentences order about actions, places, people and tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backstay.boundary.text.chinese import stripped
from backstay.boundary.text.drafts import Act
from backstay.boundary.text.lexicon import HAN_THINGS, HAN_VERBS, families
from backstay.boundary.text.orders import OWN_WORDS, Order, all_but, forbidden, in_order, named_order, place_order
from backstay.boundary.text.places import Places
from backstay.boundary.text.words import set_of
from backstay.core.patterns import Pattern

_NO = (
    r"(?:千万|绝对|一定|坚决|永远|切记)?(?:不要|别|不准|不许|不得|禁止|严禁|切勿|请勿|勿|不可以|不可|不能|绝不能?"
    r"|不允许|莫)"
    r"(?:再|去|擅自|随便|直接|私自|随意)?"
)
_ONLY = r"(?:你)?(?:只能|只许|只准|只可以|只可|仅能|仅限|仅可|只要|只|仅)"
_V = rf"(?:{'|'.join(HAN_VERBS)})"
_T = rf"(?:{'|'.join(HAN_THINGS)})"
_M = r" ?⟦(?P<k>[ahpgtn])(?P<x>[a-z])⟧ ?"
_AT = r"(?:在|给|从|到|往|向|跟|对|把|和|去|至|于|用|通过|发给|写到|存到)?"
_LOC = (
    r"(?:这个|那个|这些|那些|下面|里面|目录|文件夹|之下|底下|以下|域名|邮箱|地址|用户|网站|网页|文件|东西|内容"
    r"|同事|员工|收件人|任何|所有|下|里|内|中|上|的|人)*"
)
_END = r"(?:就行|就好|了|吧|啊|哦|即可|谢谢)*"
_DET = r"(?:任何|所有|一切|任意|更多|新的?|我的)?(?:人的|的)?"
_DO = rf"(?P<v>{_V})(?:掉|了|过|完|好|一下|一遍|清楚)?{_DET}(?P<o>{_T}{{0,2}})"


def _rows(*patterns: str) -> tuple[Pattern, ...]:
    return tuple(map(Pattern, patterns))


_DENY = _rows(
    rf"(?P<s>{_T})?{_NO}(?P<v>{_V})(?:掉|了)?(?:到|在|给|向|往)?{_DET}(?P<o>{_T}?){_M}{_LOC}{_END}",
    rf"{_NO}{_AT}{_M}{_LOC}{_DO}{_END}",
    rf"{_NO}(?:把|将){_DET}(?P<o>{_T}?)(?P<v>{_V})(?:到|在|给|进|向)?{_M}{_LOC}{_END}",
    rf"(?P<k2>){_M}{_LOC}(?:,)?(?:谁|大家|你)?(?:都|也|全|全都)?{_NO}(?P<v>{_V})(?P<o>){_END}",
    rf"除了?{_M}{_LOC}(?:以外|之外|外)?,? ?(?:其他|别的|其它|其余)?的?(?:地方"
    r"|目录|文件|网站)?(?:都|全)?(?:可以|行|能|随便|随意|任意|任你)"
    rf"(?P<v>{_V})?(?P<o>){_END}",
    rf"(?P<k2>){_M}{_LOC}(?:以外|之外)的?(?:地方|目录|文件|网站)?(?:都|全)?"
    rf"(?:可以|能|随便|随意|任意)(?P<v>{_V})(?P<o>){_END}",
)
_ALLOW = _rows(
    rf"{_NO}{_AT}{_M}(?:以外|之外)的?(?:人|地方|地址|邮箱|目录|网站|文件)?{_DO}{_END}",
    rf"(?P<s>{_T})?{_ONLY}{_AT}{_M}{_LOC}{_DO}{_END}",
    rf"(?P<s>{_T})?{_ONLY}(?P<v>{_V})(?:掉|了)?(?:到|在|给|向|往|至)?{_DET}(?P<o>){_M}{_LOC}{_END}",
    rf"(?P<s>{_T})?{_ONLY}(?P<v>{_V})(?:到|在|给|向|往)?{_DET}(?P<o>{_T}?){_M}{_LOC}{_END}",
    rf"除了(?:给|向|对)?{_M}{_LOC}(?:以外|之外)?,? ?{_NO}(?:给|向|对|跟|和|去|在|从)?(?:任何人|别人|其他人|谁"
    rf"|任何地方|别处|任何)?(?:的)?{_DO}{_END}",
)
_NAME = r"(?P<n>[\u4e00-\u9fff]{2,12}?(?:(?:、|,|和|与|或|跟|以及)[\u4e00-\u9fff]{2,12}?){0,7})"
_DENY_NAMES = _rows(
    rf"{_NO}(?P<v>联系|打扰|骚扰|联络|通知|提醒|邀请){_DET}(?P<o>){_NAME}{_END}",
    rf"{_NO}(?:给|向|对|跟|和|找){_NAME}{_DO}{_END}",
    rf"{_NO}(?:从|向|跟|找){_NAME}(?:那里|那边|那儿|家|处)?{_DO}{_END}",
    rf"除了{_NAME}(?:以外|之外)?,? ?(?:其他|别的|其它|哪家|谁)?的?都(?:可以|行|能|能选|可以选)(?P<v>)(?P<o>){_END}",
)
_ALLOW_NAMES = _rows(
    rf"除了(?:给|向|对|跟|和)?{_NAME}(?:以外|之外)?,? ?{_NO}(?:给|向|对|跟|和|从|找)(?:任何人|别人|其他人|谁"
    rf"|任何一家|别家){_DO}{_END}",
    rf"除了{_NAME}(?:以外|之外)?,? ?{_NO}(?P<v>联系|打扰|骚扰)(?P<o>)(?:任何人|别人|其他人|谁){_END}",
    rf"{_ONLY}(?:给|向|对|跟|和|从){_NAME}{_DO}{_END}",
    rf"{_ONLY}(?P<v>联系)(?P<o>){_NAME}{_END}",
)
_FORBID = _rows(
    rf"(?:任何|所有|一切|一[封个条份笔次张])?的?(?P<s>{_T})?(?:一律|全部|都|也)?{_NO}{_DO}{_END}",
)
_BUT = Pattern(
    rf"除了{_DO}(?:以外|之外)?,? ?(?:什么|其他|别的|其它|其余|干什么|做什么)?的?(?:事|操作)?都(?:可以|行|能|好)(?:做"
    rf"|用|干)?{_END}"
)
_ALL_BUT = Pattern(
    rf"除了?{_DO}(?:以外|之外|外)?,? ?(?:什么|其他|别的|其它|其余|任何)?的?"
    rf"(?:事情?|操作)?(?:都|也)?{_NO}(?:做|干|动|碰|操作){_END}"
)
_D1, _D2 = (_DO.replace("<v>", f"<v{n}>").replace("<o>", f"<o{n}>") for n in (1, 2))
_D1P = _D1.replace("|了|过|完", "")
_D1D = rf"(?P<v1>{_V})(?:了|过|完|好){_DET}(?P<o1>{_T}{{1,2}})"
_MUST = r"(?:必须|必需|务必|一定|要|得|请|应该|应当|应|需要|需|都|总是)*"
_FIRST = _rows(
    rf"(?:每次)?(?:都|要|得|请|必须|一定|务必)*先(?:去)?{_D1}(?:一下)?,? ?(?:(?:然后|之后|接着|才能|才可以|才"
    rf"|最后)再?|再)(?:去|来|能)?{_D2}{_END}",
    rf"(?:每次|在)?{_D2}(?:之前|以前|前),? ?{_MUST}先?(?:去)?{_D1P}(?:一下)?{_END}",
    rf"(?:没|没有|未|不)(?:先)?{_D1}(?:之前|以前|前|的话)?,? ?(?:就|都)?{_NO}{_D2}{_END}",
    rf"(?:只有)?{_D1D}(?:之后|以后|后)?,? ?(?:才能?|才可以?|才准|才许|再)(?:去|来)?{_D2}{_END}",
)
_OWN = Pattern(
    rf"{_ONLY}(?:能|可以)?(?:使用|用|发给|发到|打开|访问)(?:我|我们)(?:已经)?(?:给|提供|说|列|写|发|提到"
    rf"|指定)(?:给)?(?:过|出|到)?(?:你)?(?:过)?的"
    rf"(?:那些|那几个)?(?P<w>邮箱地址|地址|邮箱|收件人|账号|账户|链接|网址|网站|文件|路径|订单号){_END}"
    rf"|{_NO}(?:编造|瞎编|乱编|编|猜)(?P<w2>邮箱地址|地址|邮箱|收件人|账号|链接|网址|路径|订单号){_END}"
)
_OWN_MEANS = {
    word: meaning
    for meaning, words in {
        "recipient": "邮箱地址 地址 邮箱 收件人 账号 账户",
        "url": "链接 网址 网站",
        "path": "文件 路径",
        "id:order": "订单号",
    }.items()
    for word in words.split()
}
_BRACKETS = Pattern(
    r"括号(?:里|内|中|里面|里头)(?:面)?(?:写|列|提到)?的?(?:那|这)?(?:几|两|三|些|个)?(?:家|个|些|位|种|项|款"
    r"|样)?[\u4e00-\u9fff]{0,4}?"
    r"(?:都|全都?|全部|一概|一律|统统|通通|请)*(?:不要|不用|别要|别用|别选|不选|不考虑|别考虑|别联系|不算|排除|跳过"
    r"|去掉|剔除|除外|忽略)(?:掉)?"
    r"(?:了|吧|啊|哦)*\Z"
)
_GENERIC = Pattern(
    r"什么|别的|其它|客户|顾客|用户|前任|前妻|前夫|家人|父母|亲戚|朋友"
    r"|邻居|孩子|学生|同学|周末|星期|今天|明天|昨天|晚上|早上|上午"
    r"|下午|节日|假期|假日|时候|期间|现在|下雨|"
    r"任何|别人|他人|人家|大家|员工|同事|供应商|公司的|部门|领导|老板|陌生|外人|外部|所有|全部|其他"
    r"|我|你|他|她|它|谁|这|那|哪|的"
    r"|媒体|记者|邮箱|地址|账户|文件|目录|频道|群|国外|境外|海外|地方"
)
_ACTION = Pattern(_V)


def chinese_orders(places: Places, bracketed: tuple[str, ...]) -> Iterator[Order]:
    """Yield what a clause or a sentence orders; nothing where it is not one order from end to end."""
    text = re.sub(r"(?<=[^\x00-\x7f⟧]) (?=[^\x00-\x7f])", "", stripped(places.text)).strip(" .!,")
    for hint, read in _READERS:
        order = read(text, places, bracketed) if hint.search(text) else None
        if order is not None:
            yield order
            return


def _own(text: str, _places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    found = _OWN.fullmatch(text)
    return Order(check=OWN_WORDS, meaning=_OWN_MEANS[found["w"] or found["w2"]]) if found else None


def _brackets(text: str, _places: Places, bracketed: tuple[str, ...]) -> Order | None:
    return named_order(bracketed, allow=False) if bracketed and _BRACKETS.search(text) else None


def _things(words: str) -> tuple[str, ...]:
    found = Pattern(_T).findall(words)
    return tuple(found)


def _first(text: str, _places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    for pattern in _FIRST:
        if found := pattern.fullmatch(text):
            first = Act(verb=found["v1"], things=_things(found["o1"]))
            return in_order(first, Act(verb=found["v2"], things=_things(found["o2"])))
    return None


def _but(text: str, _places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    found = _BUT.fullmatch(text)
    return forbidden(Act(verb=found["v"], things=_things(found["o"]))) if found else None


def _all_but(text: str, _places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    found = _ALL_BUT.fullmatch(text)
    if found is None or families(found["v"]) <= {"any"}:
        return None
    return all_but(Act(verb=found["v"], things=_things(found["o"])))


def _named(text: str, _places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    for patterns, allow in ((_ALLOW_NAMES, True), (_DENY_NAMES, False)):
        for pattern in patterns:
            found = pattern.fullmatch(text)
            if found is None:
                continue
            names = [name for name in re.split(r"[、,]|以及|[和与或跟]", found["n"]) if name]
            if any(len(name) < 2 or _GENERIC.search(name) or _ACTION.search(name) for name in names):
                continue
            order = named_order(names, verb=_verb(found["v"], found["o"]), allow=allow, things=_things(found["o"]))
            if order is not None:
                return order
    return None


def _verb(verb: str, things: str) -> str:
    """`发邮件` is mailing, `发消息` is messaging; everything else is what its verb says."""
    known = families(things) if things else frozenset()
    return things if verb in ("发", "写", "寄", "打", "转") and known else verb


def _placed_only(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    return _placed(_ALLOW, text, places, allow=True)


def _placed_never(text: str, places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    return _placed(_DENY, text, places, allow=False)


def _placed(patterns: tuple[Pattern, ...], text: str, places: Places, *, allow: bool) -> Order | None:
    for pattern in patterns:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        groups = found.groupdict()
        words = f"{groups.get('s') or ''}{groups.get('o') or ''}"
        things = _things(words)
        verb = _verb(groups.get("v") or "动", things[0] if things else "")
        if (found["k"] == "h" and verb in ("发", "寄")) or (found["k"] == "a" and verb in ("发", "写", "寄")):
            verb = "邮件"
        order = place_order(found["k"], places.values[found["x"]], verb=verb, allow=allow, things=_foreign(things))
        if order is not None:
            return order
    return None


_SAME = set_of("文件 文档 东西 内容 网页 页面 网站 邮箱 目录 文件夹 人 用户 任何人")


def _foreign(things: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(thing for thing in things if thing not in _SAME)


def _nothing(text: str, _places: Places, _bracketed: tuple[str, ...]) -> Order | None:
    for pattern in _FORBID:
        found = pattern.fullmatch(text)
        if found and "⟦" not in text and not families(found["v"]) <= {"any", "look"}:
            return forbidden(Act(verb=found["v"], things=_things(f"{found['s'] or ''}{found['o']}")))
    return None


# Patterns are compiled when they are first needed: a word that each row cannot do without keeps most of them away.
_READERS = (
    (Pattern("我|编|猜"), _own),
    (Pattern("括号"), _brackets),
    (Pattern("先|前|没|未|不|再|才"), _first),
    (Pattern("除"), _but),
    (Pattern("除"), _all_but),
    (Pattern("[给向对跟和找从]|联系|联络|打扰|骚扰|通知|提醒|邀请|除了"), _named),
    (Pattern("⟦"), _placed_only),
    (Pattern("⟦"), _placed_never),
    (Pattern("[不别禁勿莫]"), _nothing),
)
