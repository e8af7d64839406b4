"""Assertions about what became of the calls of a run. They read a `RunResult`, its messages, or its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from backstay.agents.result import RunResult
from backstay.core.canon import canonical, freeze
from backstay.core.events import Event, ToolFinish
from backstay.core.messages import Message, ToolCall, ToolResult

Source: TypeAlias = "RunResult[Any] | Iterable[Message | Event]"
_HAPPENED = ("ran", "cached", "short_circuited", "in_doubt")


def assert_called(source: Source, tool: str, /, **args: Any) -> ToolCall:
    """Assert that a tool ran, whether it succeeded or failed; returns its first call that fits.

    Args:
        source: a result, messages, or events. Of an approved action only events know.
        tool: its name.
        **args: arguments that the call had, among others.

    Raises:
        AssertionError: it did not, with the calls that there were.
    """
    called = list(_calls(source))
    for call, result in called:
        if call.name == tool and result.via in _HAPPENED and _fits(call, args):
            return call
    raise AssertionError(f"{_wanted(tool, args)} did not run. {_shown(called)}")


def assert_not_called(source: Source, tool: str, /, **args: Any) -> None:
    """Assert that a tool did not run, at all or with these arguments.

    Raises:
        AssertionError: it did.
    """
    called = list(_calls(source))
    if any(call.name == tool and result.via in _HAPPENED and _fits(call, args) for call, result in called):
        raise AssertionError(f"{_wanted(tool, args)} ran. {_shown(called)}")


def assert_refused(source: Source, rule: str) -> ToolResult:
    """Assert that a call was refused; returns the refusal.

    Args:
        source: a result, messages, or events.
        rule: id of the rule that was broken (`c1`), or the refusal's code (`tool.input`).

    Raises:
        AssertionError: none was, with the calls that there were.
    """
    called = list(_calls(source))
    for _, result in called:
        if result.via == "refused" and rule in (result.code, *_rules(result)):
            return result
    raise AssertionError(f"nothing was refused for {rule!r}. {_shown(called)}")


def _calls(source: Source) -> Iterator[tuple[ToolCall, ToolResult]]:
    open_: dict[str, ToolCall] = {}
    for one in source.new_messages if isinstance(source, RunResult) else source:
        if isinstance(one, ToolFinish):
            yield one.call, one.result
        elif isinstance(one, Message):
            open_ |= {call.id: call for call in one.calls}
            for part in one.returns:
                if part.call_id in open_:
                    yield open_[part.call_id], part.result


def _rules(result: ToolResult) -> tuple[str, ...]:
    rules = result.data.get("rules", ()) if isinstance(result.data, Mapping) else ()
    return tuple(map(str, rules)) if isinstance(rules, list | tuple) else ()


def _fits(call: ToolCall, args: Mapping[str, Any]) -> bool:
    return all(name in call.args and call.args[name] == freeze(value) for name, value in args.items())


def _wanted(tool: str, args: Mapping[str, Any]) -> str:
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in args.items())})"


def _shown(called: list[tuple[ToolCall, ToolResult]]) -> str:
    if not called:
        return "There were no calls."
    lines = (f"  {call.name}({canonical(call.args)[:200]}) {result.via} {result.code or ''}" for call, result in called)
    return "The calls were:\n" + "\n".join(line.rstrip() for line in lines)
