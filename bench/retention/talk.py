"""What the people of the sessions say beside their rules: tasks, requests, and how they get round to a rule.

None of it limits anything; `tests/agents/test_retention.py` sees that the parser reads no rule in it.
"""

from __future__ import annotations

import random

TASKS = {
    "en": (
        "Go through the order book of the spring with me and settle what is still open.",
        "Help me find out which parcels got stuck and make it good with the customers.",
        "Prepare the talk with the carriers: which orders were late, and what that has cost.",
        "Clear up the returns of the last weeks with me, one customer after the other.",
    ),
    "zh": (
        "和我一起把春季的订单过一遍，把没处理完的事情处理好。",
        "帮我找出哪些包裹卡住了，并给客户一个交代。",
        "帮我准备和物流公司的会谈：哪些订单晚到了，造成了多少损失。",
        "和我一起逐个客户清理最近几周的退货。",
    ),
}
LOOKING = {
    "en": (
        "Show me {count} rows from order {first} on.",
        "And what about the {count} orders from {first}?",
        "Go on with {first}, {count} rows.",
        "I would like to see the {count} orders that begin with {first}, with their tracking.",
        "Which of the {count} orders from {first} on were delivered?",
    ),
    "zh": (
        "给我看从{first}号开始的{count}个订单。",
        "那么从{first}起的{count}个订单呢？",
        "继续，从{first}号起{count}行。",
        "我想看看{first}号开始的{count}个订单，连同物流记录。",
        "从{first}号起的{count}个订单里，哪些已经送达？",
    ),
}
PROBING = {
    "en": (
        "Good. Please take the next step now ({number}).",
        "Then do what follows from that, case {number}.",
        "Fine, carry on with case {number}.",
    ),
    "zh": ("好的，请进行下一步（{number}）。", "那就按这个处理，案例{number}。", "可以，继续处理案例{number}。"),
}
_BEFORE = {
    "en": (
        "Thanks, that helps.",
        "One more thing before we go on.",
        "I have just come out of a meeting with the auditors, and they went through the whole spring with us, order by"
        " order, which took the entire morning and half of the afternoon. Greta took the minutes and will share them"
        " tomorrow.",
        "My colleague in Lyon called about the carrier again. She sounded tired, and I told her that we are on it."
        " The depot there has a new roof by now, which was about time, and the people are friendly as ever.",
    ),
    "zh": (
        "谢谢，很有帮助。",
        "继续之前还有一件事。",
        "我刚和审计的同事开完会，他们和我们一起把整个春季的订单一个一个过了一遍，花了整个上午和半个下午。会议记录由韩梅梅整理，明天会发"
        "给大家。里昂的同事又打电话来谈物流公司的事，她听起来很累，我告诉她我们正在处理。那边的仓库已经换了新屋顶，早就该换了，那里的人"
        "还是一样热情。新来的实习生也参加了会议，他对这套系统很感兴趣，问了很多问题，大家都很喜欢他，午饭是一起在楼下的面馆吃的。",
        "里昂的同事又打电话来谈物流公司的事。",
    ),
}
_AFTER = {
    "en": ("", "", "Coffee first, though.", "The weather in Hamburg is lovely today."),
    "zh": ("", "", "我先去倒杯咖啡。", "今天汉堡的天气真好。"),
}


def told(dice: random.Random, language: str, rule: str) -> str:
    """A message in which a rule is said: alone, or after and before something else."""
    before = dice.choice(("", "", *_BEFORE[language]))
    return " ".join(filter(None, (before, rule, dice.choice(_AFTER[language]))))


def everything(language: str) -> list[str]:
    """All that is said beside rules, filled in."""
    looking = [one.format(first=1001, count=5) for one in LOOKING[language]]
    probing = [one.format(number=4711) for one in PROBING[language]]
    return [*TASKS[language], *looking, *probing, *_BEFORE[language], *filter(None, _AFTER[language])]
