"""The wish to be asked, in Chinese: taken out, the rest is the plain prohibition. See `modifiers`."""

from __future__ import annotations

from backstay.boundary.text.plain_words import Plain
from backstay.core.patterns import Pattern

_ZH_YES = r"(?:看过|过目|审过|同意|允许|批准|许可|确认|点头|认可|授权|审批|审核)"
_ZH_ASKED = (
    r"(?:(?:问|请示|请教|告诉|通知|告知|询问|知会)(?:过|一下|问|一声)?(?:我|人工|主管|负责人)(?:一下|一声)?"
    rf"|(?:征得|征求|经过?|得到|获得|取得|等|拿到|有)(?:我|人工|人|主管|负责人|用户)的?(?:明确)?(?:{_ZH_YES}|意见)"
    rf"|(?:跟|和|找|向|与)(?:我|主管|负责人)(?:{_ZH_YES}|打招呼|打个招呼"
    r"|商量|核实|说|讲|讲声|说声|汇报|报备|过一遍|对一下)(?:一声|一下|下"
    rf"|清楚)?|让(?:我|人)(?:{_ZH_YES})"
    rf"|(?:我|人工|人){_ZH_YES}|经过我|(?:给|让|叫)我(?:先)?(?:看|过目|审)"
    r"(?:一下|一眼|看|过)?|(?:说|打|知会|吱|通报)(?:一)?声(?:招呼)?|打个招呼"
    r"|征得同意|得到(?:同意|批准)|问过?一?声?我|先过我这[关边里儿])"
)
_ZH_MUST = r"(?:必须|必需|务必|一定|要|得|请|应该|应当|应|需要|需|都|一律|总是|,| )*"
_ZH_BEFORE = Pattern(
    r"(?:每次|在|凡是|请)?(?:所有|任何|一切|每[封次笔个条]|一切)?的?(?P<rest>.+?)"
    rf"(?:之前|以前|前),? ?{_ZH_MUST}(?:先)?{_ZH_ASKED}(?:才行|才可以|才能)?[.!]*"
)
_ZH_OVER = Pattern(
    r"(?:凡是?|如果|要是|只要|一旦|假如|若是?)?(?P<rest>.*(?:超过|超出"
    rf"|高于|大于|多于).+?)(?:时|的时候|的话)?,? ?{_ZH_MUST}先?{_ZH_ASKED}"
    r"(?:才行"
    rf"|才可以)?[.!]*"
)
_ZH_WITHOUT = Pattern(
    rf"(?:没有?|未|不)(?:经过?|征得|得到|获得|取得)?(?:我的?|(?<=经)|(?<=征得)){_ZH_YES}"
    r"(?:之前|以前|前|的话|的情况下)?,? ?(?:都"
    rf"|就)?(?P<rest>.+)"
)
_ZH_UNASKED = Pattern(
    r"(?:没有?|未|不)(?:先)?(?:问|请示|告诉|通知)过?我(?:之前|以前|前|的话)?,? ?(?:就|都)?(?P<rest>.+)"
)
_ZH_TOPIC = Pattern(
    rf"(?:要|想|凡是)?(?P<rest>[^,]{{1,12}}?){_ZH_MUST}先{_ZH_MUST}{_ZH_ASKED}(?:才行|才可以|才能)?[.!]*"
)
_ZH_NEEDS = Pattern(
    r"(?:所有|任何|一切|每一?[次笔封个条份]|凡是)?的?(?P<rest>[^,我]{1,14}?)"
    r"(?:都|一律)?(?:必须|需要|需|要|得)(?:先)?(?:由"
    r"|经过?|等|有|得到|征得|取得)?我来?的?"
    rf"{_ZH_YES}(?:才能?[^,]{{0,4}}|后才能?[^,]{{0,4}}|过)?[.!]*"
)
_ZH_NOT_YET = Pattern(
    rf"(?:在)?我(?:没有?|还没有?|未)(?:说|表示|点)?(?:{_ZH_YES}|可以|头"
    r"|行|发话)(?:之前|以前|前|的话)?,? ?(?:就|都)?(?P<rest>.+)"
)
_ZH_BANS = Pattern(
    r"(?:严禁|禁止|不得|不许|不准|不要|别)(?:未经|没有|没经过?|不经过?)"
    rf"(?:我的?|任何人的?)?{_ZH_YES}(?:就|而|擅自)*(?P<rest>.+)"
)
_ZH_THEN = Pattern(
    r"(?:必须|要|得|一定|务必)*(?:先)?(?:等|等到|得到|经过?|征得|获得|取得"
    rf"|有了?|由)我的?(?:{_ZH_YES}|说可以|发话)(?:了|过)?(?:之后|以后|后)?,? ?"
    r"(?:再|才能?|才可以?|才准|方可|方能)(?:去|来)?(?P<rest>.+)"
)
_ZH_AMOUNT = Pattern(r"(?P<n>.{1,12}?)(?:以上|往上|开外)的?(?P<v>.{1,8})")
_ZH_WHEN = Pattern(
    r"(?:每次|每回|凡是|只要|如果|要是|假如|若是?|万一)(?:你)?(?:真的?)?"
    r"(?:要|想要?|需要|打算|准备|涉及|得)?(?P<rest>[^,我]{1,12}?)(?:的话"
    r"|的时候|时|之前|前)?,? ?"
    rf"(?:都|也|就|一律|必须|务必|一定|要|得|请|应该|需要|需|先|总是|,| )*{_ZH_ASKED}"
    r"(?:才行|才可以|才能|再说|再做|再动手|再操作)?[.!]*"
)
_ZH_EVERY = Pattern(
    rf"(?:你)?(?:要|想|需要|打算|准备|涉及)?(?P<rest>[^,我]{{1,12}}?)(?:的话|的时候|时)?,? ?"
    rf"(?:都|也|就|一律|必须|务必|一定|要|得|请|应该|需要|需|先|总是|,| )*{_ZH_ASKED}"
    r"(?:才行|才可以|才能|再说|再做|再动手|再操作)?[.!]*"
)
"""`要删文件先跟我说`, `每次退款都要问我`, `如果要退款，先问我`: what comes before has to be an action."""
_ZH_NEGATIVE = Pattern(r"(?:千万|绝对)?(?:不要|别|不准|不许|不得|禁止|严禁|切勿|勿|不可|不能)")


def chinese_asking(text: str) -> Plain | None:
    """The prohibition behind the wish; None where none is stated."""
    if found := _ZH_OVER.fullmatch(text):
        return Plain(f"{found['rest']}的不要", asks=True)
    if found := _ZH_BEFORE.fullmatch(text):
        return Plain(f"不要{found['rest']}", asks=True)
    if found := _ZH_THEN.fullmatch(text):
        return Plain(f"不要{found['rest']}", asks=True)
    if found := _ZH_WHEN.fullmatch(text):
        return Plain(f"不要{found['rest']}", asks=True)
    for pattern in (_ZH_WITHOUT, _ZH_UNASKED, _ZH_NOT_YET, _ZH_BANS):
        if (found := pattern.fullmatch(text)) and (pattern is _ZH_BANS or _ZH_NEGATIVE.match(found["rest"])):
            return Plain(f"{'不要' if pattern is _ZH_BANS else ''}{found['rest']}", asks=True)
    if found := _ZH_NEEDS.fullmatch(text) or _ZH_TOPIC.fullmatch(text) or _ZH_EVERY.fullmatch(text):
        over = _ZH_AMOUNT.fullmatch(found["rest"])
        return Plain(f"超过{over['n']}的{over['v']}的不要" if over else f"不要{found['rest']}", asks=True)
    return None
