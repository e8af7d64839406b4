"""What the model is shown, and the loop's only way to a tool.

High tools never appear in what is offered; they are branches of one tool, `propose_action`, with which the model
expresses an intent. The framework turns it into the real call. Source: SPEC B2, B3, T13.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from backstay.core.context import RunContext
from backstay.core.errors import ToolDefinitionError
from backstay.core.events import ToolFailed, ToolFinish, ToolStart
from backstay.core.messages import Args, Json, ToolCall, ToolResult, ToolSpec
from backstay.tools.tool import Tool

PROPOSE = "propose_action"
_OFFERS = 256
"""So many different offers are kept rendered; requirements can ask for any subset."""
_PROPOSE_TEXT = (
    "Propose an action that only a person may set off. Use it when the user wants one of the actions below; nothing "
    "happens until a person has decided, so never say that it is done. Actions:"
)


class Toolset:
    """The tools of one agent: names are unique, risks are declared, specs are rendered once.

    Raises:
        ToolDefinitionError: for two tools of one name, a name that providers refuse, an undeclared risk, or two high
            tools with different types of one name.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self._add(tool)
        self._proposable = {name: tool for name, tool in self._tools.items() if tool.is_hidden}
        self._specs = {name: tool.spec for name, tool in self._tools.items() if not tool.is_hidden}
        self._names = frozenset(self._specs) | ({PROPOSE} if self._proposable else frozenset())
        self._propose = _propose_spec(self._proposable.values()) if self._proposable else None
        self._offers: dict[tuple[frozenset[str], frozenset[str] | None], tuple[ToolSpec, ...]] = {}

    def _add(self, tool: Tool) -> None:
        if not isinstance(tool, Tool):
            raise ToolDefinitionError(f"tools= holds {tool!r}, which is no tool; decorate the function with @tool")
        name = tool.name
        if not name or len(name) > 64 or not all((char.isalnum() and char.isascii()) or char in "_-" for char in name):
            raise ToolDefinitionError(f"{name!r} is no tool name: use 1 to 64 of A-Z a-z 0-9 _ -")
        if name in self._tools or name == PROPOSE:
            raise ToolDefinitionError(f"there are two tools named {name!r}; rename one with name=")
        tool.check()
        word = tool.undeclared_danger
        if word is not None:
            raise ToolDefinitionError(
                f"{name!r} speaks of {word!r} and does not say how much harm it can do. Write risk='high' if it"
                " deletes, pays, changes many things at once or cannot be undone (a person will decide each call),"
                " risk='write' for an ordinary change, risk='read' if it only looks.",
                code="tool.risk_undeclared",
            )
        self._tools[name] = tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, high ones included; for the framework, never for a model."""
        return self._tools.get(name)

    @property
    def names(self) -> frozenset[str]:
        """Every name a model may be offered, `propose_action` included where there is something to propose."""
        return self._names

    @property
    def actions(self) -> Iterable[str]:
        """Names of what can only be proposed, in the order the tools were given."""
        return self._proposable

    def offered(self, names: frozenset[str], actions: frozenset[str] | None = None) -> tuple[ToolSpec, ...]:
        """The specs of these names, in the order the tools were given; high tools only inside `propose_action`.

        Args:
            names: of the tools that are shown.
            actions: what `propose_action` holds, where that is not all there is.
        """
        found = self._offers.get((names, actions))
        if found is None:
            found = tuple(spec for name, spec in self._specs.items() if name in names)
            if self._propose is not None and PROPOSE in names:
                found += (self._propose,) if actions is None else self._proposing(actions)
            if len(self._offers) < _OFFERS:
                self._offers[names, actions] = found
        return found

    def _proposing(self, actions: frozenset[str]) -> tuple[ToolSpec, ...]:
        tools = [tool for name, tool in self._proposable.items() if name in actions]
        return (_propose_spec(tools),) if tools else ()

    def refuse(self, call: ToolCall, code: str, told: str, ctx: RunContext[Any]) -> ToolResult:
        """Refuse a call before it reaches a tool; it still starts and finishes, for whoever watches."""
        return _refuse(call, _refusal(code, told), ctx)

    async def run(self, call: ToolCall, ctx: RunContext[Any]) -> ToolResult:
        """Take one call of a model to its tool.

        Args:
            call: as the model wrote it. `propose_action` becomes the real call, marked as proposed.
            ctx: the context of this call (`ctx.call` is replaced if the real call is another).
        """
        real, found = self.resolve(call)
        if isinstance(found, ToolResult):
            return _refuse(real, found, ctx)
        ctx.call = real
        return await found.run(real.args, ctx)

    def resolve(self, call: ToolCall) -> tuple[ToolCall, Tool | ToolResult]:
        """The real call behind a model's, and its tool; the refusal where no tool may be called so."""
        if call.name == PROPOSE and self._proposable:
            proposed = self._real_call(call)
            if isinstance(proposed, ToolResult):
                return call, proposed
            call = proposed
        tool = self._tools.get(call.name)
        if tool is None:
            return call, _refusal("tool.unknown", self._unknown(call.name))
        if tool.is_hidden and not call.proposed:
            told = f"{call.name} cannot be called. Propose it with {PROPOSE}; a person decides."
            return call, _refusal("tool.high", told)
        return call, tool

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name.casefold()[:64], {one.casefold(): one for one in self.names}, n=1)
        nearest = f" The nearest is {next(one for one in self.names if one.casefold() == near[0])!r}." if near else ""
        return f"There is no tool {name[:64]!r}.{nearest} The tools are: {', '.join(sorted(self.names)) or 'none'}."

    def _real_call(self, call: ToolCall) -> ToolCall | ToolResult:
        action = call.args.get("action")
        if call.raw is not None or not isinstance(action, Mapping):
            told = f"{PROPOSE} takes an object: {{action: {{name, arguments}}, reason}}."
            return _refusal("tool.input", told)
        name, args = action.get("name"), action.get("arguments", {})
        if not isinstance(name, str) or name not in self._proposable:
            told = f"{name!r} is no action. The actions are: {', '.join(sorted(self._proposable))}."
            return _refusal("tool.input", told)
        if not isinstance(args, Mapping):
            return _refusal("tool.input", f"action.arguments of {name} must be an object.")
        return replace(call, name=name, args=args, proposed=True)


def proposed_name(call: ToolCall) -> str:
    """Which action a call of `propose_action` is about, as the model wrote it; empty where it does not say."""
    action = call.args.get("action")
    name = action.get("name") if isinstance(action, Mapping) else None
    return name if isinstance(name, str) else ""


def proposal_reason(call: ToolCall) -> str:
    """The model's reason in a call of `propose_action`; empty for any other call."""
    reason = call.args.get("reason", "") if call.name == PROPOSE else ""
    return reason if isinstance(reason, str) else ""


def called(calls: Iterable[ToolCall]) -> frozenset[str]:
    """Names of the tools that these calls are of, the one that a proposal is about included."""
    found = set[str]()
    for call in calls:
        found.update((call.name, proposed_name(call)) if call.name == PROPOSE else (call.name,))
    return frozenset(found)


def _propose_spec(tools: Iterable[Tool]) -> ToolSpec:
    listed = list(tools)
    branches: list[Json] = [_branch(tool) for tool in listed]
    lines = [f"- {tool.name}: {_one_line(tool.description)}" for tool in listed]
    schema: Args = {
        "type": "object",
        "properties": {
            "action": {"anyOf": branches},
            "reason": {"type": "string", "description": "Why, in one sentence for the person who decides."},
        },
        "required": ["action", "reason"],
        "additionalProperties": False,
        **_definitions(listed),
    }
    return ToolSpec(name=PROPOSE, description="\n".join([_PROPOSE_TEXT, *lines]), schema=schema)


def _branch(tool: Tool) -> Json:
    schema = {key: value for key, value in tool.spec.schema.items() if key != "$defs"}
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": schema},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _definitions(tools: Sequence[Tool]) -> dict[str, Json]:
    """The `$defs` of all branches at the root, where their references point. Equal names must mean equal schemas."""
    merged: dict[str, Json] = {}
    for tool in tools:
        found = tool.spec.schema.get("$defs", {})
        for name, schema in found.items() if isinstance(found, Mapping) else ():
            if merged.setdefault(name, schema) != schema:
                raise ToolDefinitionError(
                    f"{tool.name}: another high tool has a different type named {name!r}; rename one of the two types"
                )
    return {"$defs": merged} if merged else {}


def _one_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _refusal(code: str, told: str) -> ToolResult:
    return ToolResult(ok=False, summary=told, error=told, code=code, via="refused")


def _refuse(call: ToolCall, result: ToolResult, ctx: RunContext[Any]) -> ToolResult:
    """A call that never reaches a tool still starts and finishes, for whoever watches."""
    emit = ctx.emit
    if emit.wants(ToolStart):
        emit(ToolStart(*ctx.head(), call=call))
    if emit.wants(ToolFailed):
        emit(ToolFailed(*ctx.head(), call=call, result=result, seconds=0.0))
    if emit.wants(ToolFinish):
        emit(ToolFinish(*ctx.head(), call=call, result=result, seconds=0.0))
    return result
