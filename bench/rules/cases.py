"""Two sets of sentences with the rules that they state, and the tools that they are said to.

A case: `locale`, `text`, `expect` (a list of rules, `"advisory"`, or an empty list for a sentence that limits nothing),
`where` (`chat`, or `rule` for a text known to be one) and `before`, the author's message before. A rule: `check`, the
`tools` that it reaches or the meaning it is `on` (else that of its check), `severity`, `until`. Every sentence is said
on 2026-06-15, a Monday. `set_aside` speaks of other things, with other verbs, to other tools: it is counted and never
tuned by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstay.boundary.constraints import Constraint
from backstay.boundary.predicates import selects
from backstay.boundary.text import ToolWords, bind, parse, parse_rule
from backstay.core.canon import canonical

PARTS = ("develop", "set_aside")
NOW = 1_781_524_800.0
"""2026-06-15 12:00 UTC."""
_HERE = Path(__file__).parent
_ON = {"path": "path", "glob": "path", "window": "window", "sum": "money"}


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


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it would be enforced."""

    check: str
    reaches: frozenset[str]
    severity: str
    until: str | None


def load_cases(part: str) -> list[Case]:
    """The sentences of a part, `develop` or `set_aside`."""
    lines = (_HERE / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [Case(**{**case, "before": "\n".join(case.get("before", ()))}) for case in cases]


def load_tools(part: str) -> tuple[ToolWords, ...]:
    """The tools of a part."""
    return tuple(ToolWords(**tool) for tool in json.loads((_HERE / f"{part}_tools.json").read_text(encoding="utf-8")))


def expected(case: Case, tools: tuple[ToolWords, ...]) -> frozenset[Rule]:
    """The rules that a sentence states."""
    if case.kind != "rule":
        return frozenset()
    return frozenset(
        Rule(
            canonical(rule["check"]),
            frozenset(rule["tools"]) if "tools" in rule else _reached(rule.get("on") or _on(rule["check"]), tools),
            rule.get("severity", "block"),
            rule.get("until"),
        )
        for rule in case.expect
    )


def read(case: Case, tools: tuple[ToolWords, ...]) -> tuple[frozenset[Rule], int]:
    """The rules that are read in a sentence and would be enforced, and how many advisory ones."""
    if case.where == "rule":
        drafts = [parse_rule(case.text, locale=case.locale, now=NOW, tools=tools)]
    else:
        drafts = list(parse(case.text, locale=case.locale, now=NOW, before=case.before, tools=tools))
    made = [bind(draft, tools, author="user", id=f"u{number}") for number, draft in enumerate(drafts)]
    return frozenset(_rule(one, tools) for one in made if one.check is not None), sum(one.check is None for one in made)


def _rule(made: Constraint, tools: tuple[ToolWords, ...]) -> Rule:
    meaning = made.bind.get("meaning")
    reaches = frozenset(made.tools) if made.tools or meaning is None else _reached(meaning, tools)
    return Rule(canonical(made.check), reaches, made.severity, made.until)


def _reached(meaning: str, tools: tuple[ToolWords, ...]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools if any(selects(meaning, one) for one in tool.meanings.values()))


def _on(check: Mapping[str, Any]) -> str:
    if check["op"] == "not":
        return _on(check["of"])
    if "money" in check:
        return "money"
    return f"quantity:{check['unit']}" if "number" in check else _ON[check["op"]]
