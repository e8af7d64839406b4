"""What the embedded model says in its own words, in English and Chinese. Facts come from results alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Phrase: TypeAlias = tuple[str, str]
"""English and Chinese, with the same places to fill."""

RULE: Phrase = (
    "I may not do that, so nothing was looked up or changed. {}",
    "规则不允许，所以没有查询也没有改动任何数据。{}",
)
FAILED: Phrase = ("That did not work: {}", "没有成功：{}")
WAITING: Phrase = (
    "I have proposed {} ({}). A person has to decide; it has not happened yet.",
    "已提交 {}（{}），需要人工确认，目前还没有执行。",
)
NOTHING: Phrase = ("Nothing was found.", "没有找到任何内容。")
DONE: Phrase = ("Done.", "已完成。")
COUNT: Phrase = ("{} found:", "找到 {} 条：")
MISSING: Phrase = ("For that I need to know: {}. What is it?", "还需要知道：{}。请问是什么？")
UNSURE: Phrase = (
    "I am not sure what you want. Do you mean one of these?\n{}",
    "我不确定您要做什么。您是指下面哪一项？\n{}",
)
CANNOT: Phrase = (
    "That is not something I can do. I can help with:\n{}",
    "这个我做不到。我可以帮您：\n{}",
)
DENIED: Phrase = (
    "Understood, I have not done that ({}). What shall I do instead?",
    "好的，我没有这样做（{}）。请问要我做什么？",
)
STOPPED: Phrase = ("All right, I have done nothing more. What else can I do?", "好的，我没有再做任何事。还需要什么吗？")
LEFT: Phrase = ("Not done, because I take simple single steps only: “{}”", "没有做，因为我只能处理简单的单个步骤：“{}”")
HELP: Phrase = ("I can help with:\n{}", "我可以帮您：\n{}")
NO_TOOLS: Phrase = (
    "I am a small model that works through tools, and I have none here, so I cannot answer that.",
    "我是一个依靠工具工作的小模型，这里没有可用的工具，无法回答。",
)
NOTICES: dict[str, Phrase] = {
    "done": ("Done: {}", "已处理：{}"),
    "failed": ("That did not work: {}", "没有成功：{}"),
    "refused": ("A person has refused it. {}", "人工已拒绝。{}"),
    "expired": ("Nobody answered in time. {}", "没有人及时答复。{}"),
    "stale": ("It was not carried out. {}", "没有执行。{}"),
    "in_doubt": ("I do not know whether it happened. {}", "不确定是否已经发生。{}"),
}
OTHER: Phrase = ("{}", "{}")


@dataclass(frozen=True, slots=True)
class Tongue:
    """The language of one answer."""

    is_chinese: bool

    def say(self, phrase: Phrase, *values: str) -> str:
        """The phrase in this language, its places filled."""
        return phrase[self.is_chinese].format(*values)
