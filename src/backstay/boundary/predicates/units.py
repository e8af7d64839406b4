"""Units and their spellings in both languages; which arguments a rule about money, a window or a quantity reaches."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from unicodedata import normalize

_UNITS: Mapping[str, str] = MappingProxyType(
    {
        alias: unit
        for unit, aliases in {
            "seconds": "second seconds sec s 秒 秒钟",
            "minutes": "minute minutes min 分钟",
            "hours": "hour hours h hr hrs 小时 钟头",
            "days": "day days d 天 日",
            "weeks": "week weeks w 周 星期 礼拜",
            "months": "month months 月 个月",
            "years": "year years y 年",
            "items": "item items piece pieces pcs 件 个 项 商品",
            "orders": "order orders 订单 单",
            "percent": "percent percentage pct % ％ 百分比",
            "emails": "email emails e-mail e-mails mail mails 邮件 封",
            "messages": "message messages 消息 信息 条",
            "files": "file files 文件",
            "rows": "row rows 行",
            "records": "record records 记录",
            "pages": "page pages 页",
            "customers": "customer customers client clients 客户 顾客",
            "people": "person persons people 人 位",
            "kg": "kg kilogram kilograms kilo kilos 公斤 千克",
        }.items()
        for alias in aliases.split()
    }
)
SECONDS: Mapping[str, Decimal] = MappingProxyType(
    {
        "seconds": Decimal(1),
        "minutes": Decimal(60),
        "hours": Decimal(3600),
        "days": Decimal(86400),
        "weeks": Decimal(604800),
    }
)
MONTHS: Mapping[str, int] = MappingProxyType({"months": 1, "years": 12})


@lru_cache(maxsize=512)
def unit_of(name: str) -> str:
    """The one name of a unit, whatever it is called: `天` and `day` are `days`; one that is not known is its own."""
    folded = normalize("NFKC", name).casefold().strip()
    return _UNITS.get(folded, folded)


@lru_cache(maxsize=512)
def time_unit(meaning: str) -> str | None:
    """The unit of a meaning that is a length of time, exact or of the calendar; None of any other."""
    unit = unit_of(meaning[9:]) if meaning.startswith("quantity:") else ""
    return unit if unit in SECONDS or unit in MONTHS else None


@lru_cache(maxsize=1024)
def selects(bind_meaning: str, tool_meaning: str) -> bool:
    """Say whether a constraint bound to `bind_meaning` reaches an argument marked `tool_meaning`.

    `money` reaches every currency, `window` every bound of a span and every exact or calendar length of time;
    a `quantity:` reaches the same unit in any of its spellings; `host` reaches URLs and recipients, `named` recipients
    and the identifiers of anything; everything else is compared as it stands.
    """
    if bind_meaning == "money":
        return tool_meaning.startswith("money:")
    if bind_meaning == "window":
        return tool_meaning.startswith("date_range:") or time_unit(tool_meaning) is not None
    if bind_meaning.startswith("quantity:") and tool_meaning.startswith("quantity:"):
        return unit_of(bind_meaning[9:]) == unit_of(tool_meaning[9:])
    if bind_meaning == "host":
        return tool_meaning in ("url", "recipient")
    if bind_meaning == "named":
        return tool_meaning == "recipient" or tool_meaning.startswith("id:")
    return bind_meaning == tool_meaning
