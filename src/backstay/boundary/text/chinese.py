"""The Chinese gate: whether the words around a limit make it a rule of the author's, or a story or a quote."""

from __future__ import annotations

from backstay.boundary.text.acts import Vocabulary
from backstay.boundary.text.lexicon import HAN_THINGS, HAN_VERBS
from backstay.boundary.text.limits import Limit
from backstay.core.patterns import Pattern

_LEAD = Pattern(
    r"(?:(?:就是|只是|只求|反正)(?=别|不要|不许|不能)|请|麻烦|拜托|帮我"
    r"|但是|但|不过|而且|并且|另外|记住|注意|还有|然后|好的|嗯|你好|您好"
    r"|我说了|我说|以后|今后"
    r"|从现在起|规则|无论如何|不管怎样"
    r"|务必|一定|那就|那|而|并|且|也|都|你(?!们)|您|一律|全部)[:：]? ?"
)
_REPORTED = Pattern(
    r"(?<!我)(?<!我是)(?<!没)说(?!明|一?声|一下)|表示|告诉我|规定|政策"
    r"|条款|写着|标着|据说|听说|好像|大概|可能|我觉得|我猜|应该(?:是|不会"
    r"|也就|不超过|没)|估计|差不多|也就|恐怕|假如我说|比如|例如|譬如|翻译"
    r"|造句|我爸|我妈|页面|网站上"
    r"|网页上|官网|(?:翻译|翻成|译成|润色|改写|校对|总结|概括|解释|念|朗读"
    r"|复述)[^:]{0,20}:|\A[^,:]{0,10}(?:写|念|读|回复|标题|主题|告示|内容"
    r"|标语|口号|歌词|台词|谚语|笑话)[^,:]{0,8}:"
    r"|(?:告诉|转告|提醒|嘱咐|叮嘱|通知)(?!我|你|您|大家)[^,:]{1,24}?(?:不要"
    r"|别|不许|不能|不准|不得|最多|至多|只能|不超过)"
    r"|(?:告诉|提醒|转告|嘱咐|叮嘱|吩咐|叫|让|请|通知|要求|命令)(?!我|你"
    r"|您|大家|各位)[\u4e00-\u9fff]{2,4}?(?:(?:周|星期|今天|明天)[^,]{0,4})?"
    r"(?:不要|别|不许|不能|不准|先)"
)
_LOOSENS = Pattern(
    r"(?:别|不要|不用|不必|(?<!能)不能|不该|不应该?)(?:再)?(?:只|光|仅)(?![能许准可])"
    r"|(?:不用|不必|不需要|无需|没必要|用不着)(?:每次|都|再|先|来|总是)*"
    r"(?:问|请示|征求|通知|告诉|跟我|经过我|我)(?!.{0,12}(?:超过|超出|以上))"
    r"|(?<!不)(?:可以|允许).{0,4}超过|超过[^,]{0,12}(?:也|都)(?:可以|行"
    r"|没关系|没事|无所谓)\Z|超过[^,]{0,8}(?:没关系|没事|无所谓)\Z|以上"
    r"(?:也|都)(?:可以|行|没关系)\Z"
    r"|(?:不用|不必|无需|不需要|没必要|别|不要|不再)(?:再)?(?:限制|限定"
    r"|局限)|不用只|不必只|不只|不仅|不光|不限|没有上限|无上限|不受限|"
    r"(?:取消|解除|放宽|忽略).{0,14}(?:限制|上限|规则)"
)
_ASKS = Pattern(
    r"吗|呢$|什么(?!都|也)|哪[些个里]|多少|几(?=件|个|天|次)|为何|怎么|是不是|有没有|是否|多久|能不能|可不可以|能否"
)
_POLITE = Pattern(r"(?:请问?|麻烦)?(?:你|您)?(?:能不能|可不可以|可以|能否|能)(?:请|麻烦)?(?:你|您)?(?:只|仅)")
_CONDITION = Pattern(r"如果|假如|假设|要是|倘若|若(?!干)|除了|的话")
# What looks like the perfective 了 and 过 and is none.
_NOT_PAST = Pattern(
    r"(?<=[别不甭勿])(?:要|用|准|许|再)?[看管查要发退删动改提碰用做买订算理写转付]{1,2"
    r"}了|免了|算了|就了|除了|为了|了解|[行好够成]了|可以了|说了|罢了|才行"
    r"|超过|不过|过去|通过|经过|过期|过滤|胜过"
)
_PAST = Pattern(r"[了过]|已经|已(?=超)|上次|的时候|昨天|当时|曾")
_STORY_START = Pattern(r"我|他|她|它|你们|别的|别人|别家|客户|客服|公司|商家|店家|这|那|上次|老板|对方|卖家")
_FRAME = Pattern(
    r"我们?(?:只|就|仅)?(?:要|想|需|希望|允许|同意|接受|授权|关心|看)|我们?的?(?:预算|上限|限额)|我们?最多(?:只|能"
    r"|可以)*(?:付|花|出|接受)"
    r"|这次|这个(?:任务|报表|会话)"
)
_WEAK = Pattern(r"不(?:超过|超出|高于|大于|多于)|低于|少于|小于|不足|不到|⟦|最多|至多|顶多|最高|上限|限额")
_WEAK_HEAD = Pattern(
    r"(?:每[次笔个单天日人件周月年]|每个?(?:星期|礼拜|月)|单[次笔个]|一次|最多|总共?|合计|一共|数量|金额|价格?|花费"
    r"|费用|预算|返利|返现|回扣|佣金|利率|税率|费率|比例|额度|只|仅|请|不|退款?|付款?|支付|转账|汇款|"
    r"邮件|处理|联系|发送|打开|返回"
    r"|处理的?订单|从|自|看|查|用|取|金额|折扣|优惠|购买|买|删除?|取消|控制|限制|保持|[a-z0-9 的在要能给您你]|,)*"
)
_ACTION_HEAD = Pattern(
    rf"(?:{'|'.join(HAN_VERBS)}|{'|'.join(HAN_THINGS)}|每[次笔个单天日]|一[次单笔天]|请|的|,|累计|合计|总共|一共|总额"
    r"|加起来|单价|金额|费用|价格|数量)*"
)
"""A head that names an action and what it is done to: `删文件最多删10个`."""
_NO = (
    r"(?:千万|绝对|一定|坚决|永远|切)?(?:不要|别|不准|不许|不得|禁止|严禁|切勿|勿|不可以|不可|不能"
    r"|绝不能?|绝不要|不允许)"
)
_DEED = (
    r"动|碰|用|删|发|寄|联系|取消|转|汇|付|支付|退|改|动用|打开|访问|透露|泄露|泄漏|告诉|分享|提交|购买|下单|买|执行"
    r"|运行|覆盖|"
    r"公开|外传|预订|打扰|骚扰|关闭|移动|重置|格式化|安装|下载|上传|回复|抄送|处理|通知|查看|读取|修改|调用|部署"
    r"|发布|看|写|卖|打电话|致电"
)
_ALARM = Pattern(
    r"(?:不要|别|不用)(?:发呆|发火|发愁|发脾气|动气|动怒|动不动|紧|急|着急|担心|忘|客气|误会|介意|生气|怕)"
)
_NO_BIE = Pattern(r"[分特区级性类个辨识差派]别|别(?:名|墅|号|致|针|国|家|称|提多|处)")
"""别 in a word of its own: `分别`, `别名`."""
_DOUBLE = Pattern(r"不得[已了]|(?:别|不要|不得|不能|不可|不许|不准)不")
"""`不得不`: what is negated twice is no prohibition."""
_PROHIBITS = Pattern(
    rf"{_NO}(?:再|去|擅自|随便|直接|私自)?(?:(?:{_DEED})|(?:把|给|对|向|跟|和|让).{{1,24}}?(?:{_DEED}))"
    rf"|(?:只能|只许|只准|只可以?|仅能|仅可|只|仅)(?:使用|用|联系|发给|回复)"
    r"|.{0,12}(?:不要|别|不得|不能|不许|不准|不可)超过[0-9.]+(?![0-9.天年月日个小周])"
    r"|.{0,12}(?:之前|以前|前)(?:必须|务必|请|要|都要)?先?(?:问|请示|征求|通知|告诉)(?:一下)?我"
)
_FORBIDS = Pattern(
    r"(?:[^,]{0,12}?(?:就|都|也|一律))?(?:千万|绝对|务必)?(?:(?:不得|严禁|禁止|不许|不准|切勿|请勿)[^的吗]{2,}"
    r"|(?:不要|别)(?!再?(?:超过|紧|急|着急|担心"
    r"|忘|客气|误会|介意|生气|怕|难过|哭|笑|闹|傻|慌|灰心|放弃|怪|理|见怪|谢|逗|开玩笑|的|人|处|是|让|管|看了|说了"
    r"|想|太|这么|那么|提了))[^了吧啊]{3,})"
)
_SOMEBODY = Pattern(
    r"我|他|她|它|你们|别人|人家|客户|客服|公司|商家|店家|老板|对方|卖家|上次|谁|大家|有人|经理|老师|妈|爸"
)
_FORBIDS_LATER = Pattern(rf"[^,]{{1,16}}?{_NO}(?:再|去|擅自|随便|直接|私自)?(?:{_DEED})")
"""`周末不要发邮件`: when or what is forbidden stands before it."""
_REFUSED = Pattern(r".{1,40}(?:都|全|一概|一律)(?:不要|不行|不准|不许)\Z")


_INTRODUCES = Pattern(r"(?:翻译|翻成|译成|润色|改写|校对|总结|概括|解释|念|朗读|复述|写|发|贴|回复)[^:]{0,40}: ?\Z")
_NOTHING_KNOWN = Vocabulary()


def is_spoken_for(sentence: str) -> bool:
    """Whether the sentence reports what somebody else says, guesses, or takes a rule back: it makes no rule."""
    return bool(_REPORTED.search(sentence) or _LOOSENS.search(sentence))


def introduces(sentence: str) -> bool:
    """Whether the words after this one are a text to be dealt with: `翻译下面这段：`."""
    return _INTRODUCES.search(sentence) is not None


def is_plain_question(sentence: str) -> bool:
    """Whether it asks and is more than an order put politely."""
    return bool(_ASKS.search(sentence)) and _POLITE.match(sentence) is None


def is_polite(sentence: str) -> bool:
    """Whether a question is an order put politely."""
    return _POLITE.match(sentence) is not None


def is_conditional(sentence: str) -> bool:
    """Whether it holds under a condition, or with an exception, that no predicate says."""
    return bool(_CONDITION.search(sentence))


def is_rule(clause: str, limit: Limit, before: str, _known: Vocabulary = _NOTHING_KNOWN) -> bool:
    """Whether the words around a limit make it a rule: no story of the past, no statement of fact."""
    if _PAST.search(_NOT_PAST.sub("", clause)):
        return False
    head = stripped(clause)
    offset = len(clause) - len(head)
    if _STORY_START.match(head) and not _FRAME.match(head):
        return False
    if _WEAK.match(clause, limit.start):
        lead = head[: max(0, limit.start - offset)]
        # `订单不超过200元的` names those orders, it limits nothing.
        named = _WEAK_HEAD.fullmatch(lead) or (not clause.endswith("的") and _ACTION_HEAD.fullmatch(lead))
        return bool(named) or _FRAME.match(head) is not None
    return not _PAST.search(_NOT_PAST.sub("", before)) or not head.startswith("最多")


def stripped(head: str) -> str:
    """The clause without the words that only lead up to an order: `请`, `但是`, `另外`."""
    while lead := _LEAD.match(head):
        head = head[lead.end() :]
    return head


def is_advisory(clause: str) -> bool:
    """Whether a clause forbids or narrows something in words that no predicate says."""
    clause = _NO_BIE.sub("", clause)
    if _PAST.search(_NOT_PAST.sub("", clause)) or _ALARM.search(clause) or _DOUBLE.search(clause):
        return False
    head = stripped(clause)
    if _PROHIBITS.match(head) or _REFUSED.match(clause) or _FORBIDS.match(head):
        return True
    return not _SOMEBODY.match(head) and _FORBIDS_LATER.match(head) is not None
