"""The lexicon: families of words for what an agent does, and words for what it does it to, English and Chinese.

A Chinese sentence and an English tool meet in a family. The tables tell nothing apart inside a family; what is not in
them is met by a tool's own words alone, see `acts.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from backstay.boundary.text.words import set_of

FAMILIES: Mapping[str, str] = {
    "refund": "refund reimburse repay payback 退款 退钱 退还 退费 退 报销 返现",
    "delete": "delete remove erase purge wipe trash unlink 删除 删掉 删去 移除 清除 清空 抹掉 删",
    "cancel": "cancel annul revoke 取消 撤销 作废",
    "send": "send dispatch reply respond 回复 发送 寄送 发出 寄 发",
    "forward": "forward 转发 转寄",
    "email": "email mail 抄送 电子邮件 邮件 电邮 邮箱",
    "message": "message text sms dm 消息 短信 信息",
    "call": "call phone ring 打电话 致电 电话",
    "transfer": "transfer wire remit 转账 转帐 汇款 打款 转钱 汇钱 转 汇",
    "pay": "pay payout 付款 支付 缴费 付钱 付 缴纳 预付 垫付 结算",
    "buy": "buy purchase procure 购买 采购 下单 订购 订货 进货 买",
    "book": "book reserve 预订 预定 预约 订",
    "discount": "discount 折扣 打折 优惠",
    "invoice": "invoice bill 发票 开票",
    "ship": "ship deliver 发货 出货 运费 邮费 邮寄",
    "charge": "charge debit 扣款 收费",
    "withdraw": "withdraw 提现 取款",
    "donate": "donate donation 捐款 捐赠 打赏",
    "publish": "publish post release 发布 发表 上架 贴",
    "deploy": "deploy rollout 部署 上线",
    "write": "write save store edit modify change overwrite update append create put alter"
    " 写入 写到 保存 修改 编辑 覆盖 更新 新建 创建 写 存 改",
    "run": "run execute launch 运行 执行 跑",
    "invite": "invite invitation 邀请",
    "share": "share 分享 共享",
    "upload": "upload 上传",
    "move": "move rename 移动 重命名",
    "copy": "copy duplicate 复制",
    "install": "install 安装",
    "close": "close 关闭",
    "approve": "approve 批准 审批 批假 准假",
    "compensate": "compensate 补偿 赔偿 赔付",
    "topup": "topup recharge credit 充值",
    "rent": "rent lease hire 租用 租赁 租",
    "schedule": "schedule arrange 安排",
    "notify": "notify alert inform 通知 提醒 告知",
    "archive": "archive 归档 存档",
    "print": "print 打印",
    "export": "export 导出",
    "import": "import 导入",
    "restart": "restart reboot 重启",
    "stop": "stop shutdown terminate kill 停止 停掉 终止 关机",
    "translate": "translate 翻译",
    "sign": "sign 签署 签字 签",
    "assign": "assign 分配 指派",
    "merge": "merge 合并",
    "commit": "commit push 提交 推送",
    "subscribe": "subscribe 订阅",
    "register": "register enroll 注册 登记 报名",
    "sell": "sell 出售 卖出 卖",
    "trade": "trade exchange 交易 兑换",
    "lend": "lend loan 借出 放贷",
    "block": "block ban suspend 封禁 冻结 拉黑",
    "reset": "reset 重置",
    "grant": "grant authorize authorise 授权 授予",
    "submit": "submit file 提交 申报",
    "escalate": "escalate 升级",
    "record": "record log 录制 记录",
    "scrape": "scrape crawl 爬取 爬 采集",
    "give": "give offer 给予 发放 打",
    "look": "look see read open view load show check verify search find query list fetch browse visit get download"
    " access scan consult inspect"
    " 查看 查询 查找 搜索 检查 核对 读取 打开 访问 浏览 抓取 下载 列出 查 看 读 搜 抓",
}
"""Family → its words; a Chinese sentence and an English tool meet in the family."""

CONTACT = frozenset({"send", "email", "message", "call", "invite", "publish", "notify", "forward"})
"""What reaching somebody may be done with."""
PAYING = frozenset({"transfer", "buy", "charge", "topup", "rent"})
"""What money leaves by: who forbids paying does not mean one of them."""
WIDE: Mapping[str, str] = {
    "contact": "contact reach bother disturb tell ping cc 联系 打扰 骚扰 联络",
    "any": "touch use go work operate enter stay keep avoid leave 动 碰 操作 用 使用 动用 处理 进",
    "alter": "change modify alter 改动 变更 变动",
}
READING = frozenset({"scrape", "translate", "record", "export"})
"""Families that a tool which only reads may well be of."""
AMBIGUOUS = set_of("post text fil record submit order not")
"""Stems in tool names that are too many things to stand for a family: met only by themselves."""
ENGLISH_AMBIGUOUS = set_of("call bill charg open stop mov book")
"""The same for a sentence in English, which has the word itself."""
WEAK = set_of("use make do issue give send grant perform initiate have allow process carry execute trigger place")
"""Verbs that say nothing beside an action that stands as a noun: `make a transfer`."""
LEAD_ONLY = frozenset({"book", "look", "write", "call", "close", "move", "copy", "share", "give", "run", "approve"})
"""Families whose words are things or readings anywhere but at the head of a name: `order_book`, `read_me`."""

THINGS: Mapping[str, str] = {
    "file": "文件 档案 东西",
    "document": "文档 文稿",
    "folder": "目录 文件夹",
    "order": "订单 单子",
    "email": "邮件 电子邮件 电邮",
    "message": "消息 短信 信息",
    "command": "命令 指令",
    "stock": "库存 存货",
    "inventory": "库存 存货",
    "money": "钱 资金",
    "account": "账户 账号 帐户",
    "page": "网页 页面 东西",
    "site": "网站",
    "customer": "客户 顾客",
    "user": "用户 人 任何人",
    "record": "记录",
    "invoice": "发票",
    "report": "报表 报告",
    "room": "房间 会议室",
    "article": "文章",
    "service": "服务",
    "event": "活动 日程",
    "meeting": "会议",
    "ticket": "工单 票",
    "comment": "评论",
    "product": "商品 产品",
    "price": "价格",
    "contact": "联系人",
    "calendar": "日历",
    "database": "数据库",
    "table": "表",
    "branch": "分支",
    "task": "任务",
    "discount": "折扣",
    "transfer": "转账",
    "refund": "退款 款",
    "payment": "付款",
    "subscription": "订阅",
    "photo": "照片 图片",
    "post": "帖子",
    "balance": "余额",
    "weather": "天气",
    "contract": "合同",
    "label": "标签",
    "sheet": "表格 表",
    "log": "日志",
    "server": "服务器",
    "car": "车",
    "voucher": "代金券 优惠券",
    "video": "视频",
    "password": "密码",
    "team": "团队",
    "complaint": "投诉",
    "card": "卡",
    "guest": "客人",
    "flight": "机票 航班",
    "hotel": "酒店",
    "salary": "工资 薪水",
    "bonus": "奖金 年终奖",
    "parcel": "包裹 快递 快件",
    "package": "包裹 快递",
    "leave": "请假 休假 假期 年假 病假",
    "expense": "报销 开支",
    "claim": "理赔 索赔",
    "policy": "保单",
    "appointment": "预约 挂号",
    "prescription": "处方 药方",
    "patient": "病人 患者",
    "student": "学生",
    "course": "课程",
    "exam": "考试",
    "grade": "成绩",
    "device": "设备",
    "instance": "实例 虚拟机",
    "cluster": "集群",
    "container": "容器",
    "snapshot": "快照",
    "certificate": "证书",
    "key": "密钥",
    "alert": "告警 警报",
    "job": "岗位 职位",
    "candidate": "候选人",
    "project": "项目",
    "ad": "广告",
    "campaign": "推广",
    "gift": "礼物 礼品",
    "membership": "会员",
    "domain": "域名",
    "vehicle": "车辆",
    "seat": "座位",
    "dish": "菜品",
    "note": "笔记 便签",
    "shift": "排班 班次",
    "survey": "问卷",
    "form": "表单",
    "channel": "频道",
    "group": "群组",
    "fund": "基金",
    "share": "股票 股份",
    "loan": "贷款 借款",
    "train": "火车票 高铁票 车票",
    "taxi": "打车 出租车 网约车",
    "meal": "餐费 餐饮",
    "employee": "员工",
}
"""English thing → Chinese words for it."""
ANYTHING = set_of(
    "anything any all everything it them that this something thing things one ones nothing stuff goods more other"
    " others anyone anybody someone everyone people item items piece pieces pcs unit units"
    " 任何 东西 内容 什么 任何人 任何东西 一切 别人 其他人 它 其他 再"
)

_ENDINGS = (
    "ations",
    "ation",
    "ating",
    "ated",
    "ates",
    "ate",
    "ments",
    "ment",
    "ions",
    "ion",
    "ings",
    "ing",
    "als",
    "al",
    "ied",
    "ies",
    "ed",
    "es",
    "s",
)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """The word without its English endings, the same for `cancel`, `cancelling` and `cancellations`."""
    if not word.isascii():
        return word
    word = word.lower().replace("-", "")
    for ending in _ENDINGS:
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= 3
            and not (ending == "s" and word.endswith(("ss", "us")))
        ):
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if word.endswith("ll") and len(word) > 5:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word.rstrip("e") if len(word) > 3 else word


def _index(table: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for family, words in table.items():
        for word in words.split():
            found.setdefault(stem(word), set()).add(family)
    return {word: frozenset(families) for word, families in found.items()}


FAMILY_OF = _index({**FAMILIES, **WIDE})
THING_OF = _index({thing: f"{thing} {words}" for thing, words in THINGS.items()})
HAN_VERBS = sorted({word for word in FAMILY_OF if not word.isascii()}, key=len, reverse=True)
"""Chinese words for actions, the longest first."""
HAN_THINGS = sorted(
    {word for word in THING_OF if not word.isascii()} | {one for one in ANYTHING if not one.isascii()},
    key=len,
    reverse=True,
)


def families(verb: str, verbs: frozenset[str] = frozenset()) -> frozenset[str]:
    """The families of a verb; `order` is an action only as the verb of an order.

    Args:
        verb: the word.
        verbs: stems that are actions here beside those of the table, see `vocabulary`; their family is `own`.
    """
    one = stem(verb)
    if one == "order":
        return frozenset({"buy"})
    return FAMILY_OF.get(one) or (_OWN if one in verbs else frozenset())


_OWN = frozenset({"own"})


def is_wide(verb: str) -> bool:
    """Whether the verb says no more than that something is dealt with: `touch`, `动`."""
    return "any" in families(verb)


EVERYDAY = frozenset(
    {"a", "an", "the", "be", "do", "go", "say", "tell", "let", "have", "think", "know", "use", "ask", "my"}
)
"""Words that descriptions begin with and that name no action."""
