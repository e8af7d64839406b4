"""Sets of sentences with the rules that they state, and the tools that they are said to.

A case: `locale`, `text`, `expect` (a list of rules, `"advisory"`, or an empty list for a sentence that limits nothing),
`where` (`chat`, or `rule` for a text known to be one) and `before`, the author's message before. A rule: `check`, the
`tools` that it reaches or the meaning it is `on` (else that of its check), `severity`, `until`. Every sentence is said
on 2026-06-15, a Monday. The parser is tuned by `develop` and `set_aside`, which speaks of other things, with other
verbs, to other tools. `fresh` is by another author, who did not know the parser: it is counted, and never named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstay.boundary.constraints import Constraint
from backstay.boundary.text import ToolWords, bind, parse, parse_rule
from backstay.core.canon import FrozenDict, canonical, freeze

TUNED = ("develop", "set_aside")
"""The parts whose sentences are named and tuned by."""
PARTS = (*TUNED, "fresh")
NOW = 1_781_524_800.0
"""2026-06-15 12:00 UTC."""
_HERE = Path(__file__).parent
_ON = {"path": "path", "glob": "path", "window": "window", "sum": "money", "host": "host"}
_NAMES = ("in", "not_in", "own_words")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One sentence and what it says."""

    locale: str
    text: str
    expect: Any
    where: str = "chat"
    before: str = ""

    @property
    def kind(self) -> str:
        """`rule`, `advisory` or `nothing`."""
        return "advisory" if self.expect == "advisory" else "rule" if self.expect else "nothing"


def load_cases(part: str) -> list[Case]:
    """The sentences of a part."""
    lines = (_HERE / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [Case(**{**case, "before": "\n".join(case.get("before", ()))}) for case in cases]


def load_tools(part: str) -> tuple[ToolWords, ...]:
    """The tools of a part."""
    return tuple(ToolWords(**tool) for tool in json.loads((_HERE / f"{part}_tools.json").read_text(encoding="utf-8")))


def expected(case: Case, tools: tuple[ToolWords, ...]) -> tuple[Constraint, ...]:
    """The rules that a sentence states."""
    if case.kind != "rule":
        return ()
    return tuple(_labelled(case, rule, tools) for rule in case.expect)


def read(case: Case, tools: tuple[ToolWords, ...]) -> tuple[tuple[Constraint, ...], int]:
    """The rules that are read in a sentence and would be enforced, and how many advisory ones."""
    if case.where == "rule":
        drafts = [parse_rule(case.text, locale=case.locale, now=NOW, tools=tools)]
    else:
        drafts = list(parse(case.text, locale=case.locale, now=NOW, before=case.before, tools=tools))
    made = [bind(draft, tools, author="user", id=f"u{number}") for number, draft in enumerate(drafts)]
    return tuple(one for one in made if one.check is not None), sum(one.check is None for one in made)


def _labelled(case: Case, rule: Mapping[str, Any], tools: tuple[ToolWords, ...]) -> Constraint:
    """The constraint that a label says. Of no tools it binds none: a rule on nothing is not one on everything."""
    check = freeze(rule["check"])
    assert isinstance(check, Mapping)
    meaning = rule.get("on") or _meaning(check, rule.get("tools"), tools)
    return Constraint(
        id=f"said:{canonical(rule)}",
        text=case.text,
        render="",
        tools=tuple(rule["tools"]) if "tools" in rule else (),
        bind=FrozenDict({"meaning": meaning} if meaning else {}),
        check=check,
        severity=rule.get("severity", "block"),
        until=rule.get("until"),
    )


def _meaning(check: Mapping[str, Any], names: Sequence[str] | None, tools: tuple[ToolWords, ...]) -> str:
    """What a check is about where the label does not say: names where none of its tools has a path."""
    op = check["op"]
    if op in ("all", "any", "not"):
        inner = check["of"]
        return _meaning(inner[0] if isinstance(inner, list | tuple) else inner, names, tools)
    if op in ("forbid", "before", "count"):
        return ""
    if op in _NAMES or (op == "glob" and names is not None and not _has_path(names, tools)):
        return "named"
    if "money" in check:
        return "money"
    return f"quantity:{check['unit']}" if "number" in check else _ON.get(op, "named")


def _has_path(names: Sequence[str], tools: tuple[ToolWords, ...]) -> bool:
    return any("path" in tool.meanings.values() for tool in tools if tool.name in names)
