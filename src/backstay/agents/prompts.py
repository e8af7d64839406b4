"""The four texts of an agent that can be replaced: system, task, tool error, tool no result.

Each agent has copies of its own. The rules of a session and the word about notices are no part of them: nobody can
write them away. Source: SPEC P2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict

from backstay.core.errors import TemplateError
from backstay.core.templates import PromptTemplate

Replacement: TypeAlias = "str | PromptTemplate[Any] | Callable[[PromptTemplate[Any]], PromptTemplate[Any] | None]"
Templates: TypeAlias = Mapping[str, Replacement]
"""Which of the four is replaced, and by what: a text, a template, or a customizer of a copy of the default."""

NOTHING = "null"
"""What a model reads of a tool that returned `None`, unless a template says otherwise."""
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class SystemPrompt(BaseModel):
    """What the system template may show."""

    model_config = ConfigDict(defer_build=True)

    role: str = ""
    instructions: str = ""
    notes: list[str] = []
    today: str
    """Weekday and date, such as `Monday, 2026-11-30`, in the zone of whom the run is for."""


class TaskPrompt(BaseModel):
    """What the task template may show: the user's turn."""

    model_config = ConfigDict(defer_build=True)

    input: str
    metadata: dict[str, Any] = {}
    """Of the run, as the program gave it."""


class ToolErrorPrompt(BaseModel):
    """What the tool-error template may show of a call that has failed or was refused."""

    model_config = ConfigDict(defer_build=True)

    tool: str
    error: str
    """What the model would be told without the template."""
    code: str = ""


class ToolNoResultPrompt(BaseModel):
    """What the template of a tool that returned `None` may show."""

    model_config = ConfigDict(defer_build=True)

    tool: str


_SYSTEM = """\
{{#role}}
Your role: {{role}}

{{/role}}
{{#instructions}}
{{instructions}}

{{/instructions}}
{{#has_notes}}
Notes:
{{#notes}}
- {{.}}
{{/notes}}

{{/has_notes}}
Today is {{today}}."""


def _has_notes(data: SystemPrompt) -> bool:
    return bool(data.notes)


_DEFAULTS: Mapping[str, PromptTemplate[Any]] = {
    "system": PromptTemplate(SystemPrompt, _SYSTEM, functions={"has_notes": _has_notes}, name="system"),
    "task": PromptTemplate(TaskPrompt, "{{input}}", name="task"),
    "tool_error": PromptTemplate(ToolErrorPrompt, "{{error}}", name="tool_error"),
    "tool_no_result": PromptTemplate(ToolNoResultPrompt, NOTHING, name="tool_no_result"),
}


class Prompts:
    """The templates of one agent, copies of its own.

    Args:
        given: what is replaced.

    Raises:
        TemplateError: for a name beside the four, or a replacement that is no template.
    """

    def __init__(self, given: Templates | None = None) -> None:
        unknown = [name for name in given or {} if name not in _DEFAULTS]
        if unknown:
            raise TemplateError(f"there is no template {unknown[0]!r}; there are: {', '.join(_DEFAULTS)}")
        self.system, self.task, self.tool_error, self.tool_no_result = (
            _made(default, (given or {}).get(name)) for name, default in _DEFAULTS.items()
        )
        self._is_own = "system" in (given or {})
        self._last: tuple[tuple[object, ...], str] = ((), "")

    @property
    def texts(self) -> tuple[str, ...]:
        """The four texts, for a digest."""
        return (
            self.system.template,
            self.task.template,
            self.tool_error.template,
            self.tool_no_result.template,
        )

    def system_text(self, role: str, instructions: str, notes: tuple[str, ...], today: str) -> str:
        """The system text of a run; the default template's is kept, since most runs of a day have the same."""
        key = (role, instructions, notes, today)
        if self._last[0] == key and self.system.revision == 1 and not self._is_own:
            return self._last[1]
        text = self.system.render(role=role, instructions=instructions, notes=list(notes), today=today)
        self._last = (key, text)
        return text

    def task_text(self, words: str, metadata: Mapping[str, Any] | None) -> str:
        """What the model reads in place of the user's words; empty where it reads them as they are."""
        if self.task.template == _DEFAULTS["task"].template:
            return ""
        told = self.task.render(input=words, metadata=dict(metadata or {}))
        return "" if told == words else told

    def error_text(self, tool: str, error: str, code: str) -> str:
        """What the model reads of a failed call."""
        if self.tool_error.template == _DEFAULTS["tool_error"].template:
            return error
        return self.tool_error.render(tool=tool, error=error, code=code)

    def nothing_text(self, tool: str) -> str:
        """What the model reads of a call that returned nothing."""
        if self.tool_no_result.template == _DEFAULTS["tool_no_result"].template:
            return NOTHING
        return self.tool_no_result.render(tool=tool)


def today(now: float, zone: str) -> str:
    """The day as the system text states it.

    Args:
        now: seconds since 1970, by the run's clock.
        zone: IANA name; what is none counts as UTC.
    """
    return _day(now // 60, zone)


@lru_cache(maxsize=64)
def _day(minute: float, zone: str) -> str:
    now = minute * 60
    try:
        day = datetime.fromtimestamp(now, ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
        day = datetime.fromtimestamp(0 if now != now or abs(now) > 1e11 else now, ZoneInfo("UTC"))
    return f"{_DAYS[day.weekday()]}, {day:%Y-%m-%d}"


def _made(default: PromptTemplate[Any], given: Replacement | None) -> PromptTemplate[Any]:
    if isinstance(given, str):
        made = default.fork()
        made.update(given)
        return made
    if isinstance(given, PromptTemplate):
        return given.fork()
    if given is None or callable(given):
        return default.fork(given)
    raise TemplateError(
        f"template {default.name!r} was given as {type(given).__name__}; expected a text, a template or a function"
    )
