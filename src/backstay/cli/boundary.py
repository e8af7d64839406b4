"""`backstay boundary`: what an agent may do, what it can never do, and why one call would run or not.

Source: SPEC B17.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from backstay.agents import Agent
from backstay.agents.guard import describe
from backstay.boundary.constraints import Constraint
from backstay.boundary.judge import JudgeState, judge
from backstay.boundary.provenance import SessionSources, origins
from backstay.boundary.reach import Shape, reached
from backstay.cli.actions import came_from
from backstay.cli.apps import find_app
from backstay.cli.exits import DONE
from backstay.cli.options import JsonOption, principal_of, usage
from backstay.cli.printing import Printer, one_line
from backstay.core.canon import thaw
from backstay.core.context import Principal, Verdict
from backstay.core.messages import PLAIN, Json, Label, ToolCall
from backstay.core.schema import canonical_args, validate
from backstay.tools.tool import Tool


class _Group(TyperGroup):
    """`backstay boundary APP` is `backstay boundary show APP`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take what is no command for an app."""
        named = args if args[0] in self.commands or args[0].startswith("-") else ["show", *args]
        return super().resolve_command(ctx, named)


app = typer.Typer(cls=_Group, no_args_is_help=True, help="What an agent may do, and why.", rich_markup_mode=None)

AppArgument = Annotated[str | None, typer.Argument(metavar="APP", help="module:attribute or path/file.py[:attribute].")]
_NEEDS = {
    "read": "runs; recorded",
    "write": "runs; audited before and after",
    "high": "a person; never shown to the model",
    "depends": "depends on the arguments; a person where it is high",
}


@app.command("show")
def show(path: AppArgument = None, as_json: JsonOption = False) -> int:
    """Print tools with their tier, rules and where they bind, limits, and what can never happen."""
    out = Printer(as_json=as_json)
    agents = find_app(path).agents
    out.document({"agents": [_document(agent) for agent in agents.values()]})
    for agent in agents.values():
        _print(out, agent)
    return DONE


@app.command("why")
def why(
    call: Annotated[str, typer.Argument(metavar="CALL", help="Such as 'refund(order_id=1001, amount=250)'.")],
    path: AppArgument = None,
    as_: Annotated[str | None, typer.Option("--as", metavar="ID[:kind]", help="For whom.")] = None,
    said: Annotated[str, typer.Option("--said", metavar="TEXT", help="What the user has said so far.")] = "",
    untrusted: Annotated[bool, typer.Option("--untrusted", help="Untrusted text was read before.")] = False,
    secret: Annotated[bool, typer.Option("--secret", help="A secret was read before.")] = False,
    unattended: Annotated[bool, typer.Option("--unattended", help="Nobody can be asked.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Explain what would become of one call, without running it."""
    agent = find_app(path).one()
    label = Label(trusted=not untrusted, secrecy="secret" if secret else "public")
    sources = SessionSources()
    for rule in agent.definition.constraints:
        sources.say(f"rule:{rule.id}", rule.text, PLAIN, "rule")
    if isinstance(agent.definition.instructions, str):
        sources.say("instructions", agent.definition.instructions, PLAIN, "developer")
    if said:
        sources.say("said", said, PLAIN, "user")
    verdict = _judged(agent, call, principal_of(as_), sources, label, unattended=unattended)
    _tell(Printer(as_json=as_json), agent, verdict, sources, said)
    return DONE


def _judged(
    agent: Agent[Any], text: str, principal: Principal, sources: SessionSources, label: Label, *, unattended: bool
) -> Verdict:
    definition = agent.definition
    name, args = read_call(text)
    tool = definition.toolset.get(name)
    if tool is None:
        raise usage(f"{agent.name} has no tool {name!r}; it has {', '.join(sorted(definition.toolset.names))}")
    properties = tool.spec.schema.get("properties")
    kinds = properties if isinstance(properties, Mapping) else {}
    read = {key: _value(value, kinds.get(key)) for key, value in args.items()}
    canonical = canonical_args(validate(tool.input_schema, read))
    state = JudgeState(
        now=time.time(),
        principal=principal,
        agents=(agent.name,),
        constraints=definition.constraints,
        sources=sources,
        label=label,
        is_exposed=bool(definition.reach_with(label).untrusted),
        presence="unattended" if unattended else "inbox",
    )
    call = ToolCall(id="why", name=name, args=canonical)
    return judge(call, tool.facts(canonical), definition.boundary, state)


def read_call(text: str) -> tuple[str, dict[str, str]]:
    """Read `name(argument=value, ...)` into the name and the arguments' texts.

    Raises:
        SetupError: code `cli.usage`, for what is no call with named arguments.
    """
    name, opened, rest = text.strip().partition("(")
    if not opened or not rest.endswith(")") or not name.strip():
        raise usage(f"{text!r}: expected a call such as 'refund(order_id=1001, amount=250)'")
    args: dict[str, str] = {}
    for part in _parts(rest[:-1]):
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier():
            raise usage(f"{part.strip()!r} in {text!r}: expected argument=value")
        args[key.strip()] = value.strip()
    return name.strip(), args


def _parts(text: str) -> Iterator[str]:
    """The arguments, cut at commas that no bracket and no quote encloses."""
    depth, quote, start = 0, "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]


def _value(text: str, schema: Json) -> Any:
    """A value as JSON or Python writes it; where a text is wanted, what stands there without quotes is the text."""
    if isinstance(schema, Mapping) and schema.get("type") == "string" and text[:1] not in "\"'":
        return text
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _tell(out: Printer, agent: Agent[Any], verdict: Verdict, sources: SessionSources, said: str) -> None:
    tool = agent.definition.toolset.get(verdict.call.name)
    named = verdict.origins or (origins(verdict.call.args, tool.facts(None), sources) if tool else ())
    out.document(
        {
            "call": describe(verdict.call),
            "outcome": verdict.outcome,
            "risk": verdict.risk,
            "rules": list(verdict.rules),
            "code": verdict.code,
            "message": verdict.message,
            "args": thaw(verdict.call.args),
            "origins": [{"path": one.path, "value": one.value, "source": one.source or None} for one in named],
        }
    )
    words = {"allow": "ALLOWED", "ask": "ASKED: a person decides", "deny": "REFUSED"}
    out.line(f"{describe(verdict.call)}: {words[verdict.outcome]}", "bold")
    rows = [("tier", verdict.risk), ("rules", ", ".join(verdict.rules) or "none asked or refused")]
    rows += [("why", verdict.message)] if verdict.message else []
    rows += [("code", verdict.code)] if verdict.code else []
    rows += [("came from", came_from(one, {"said": said})) for one in named]
    out.fields(rows)


def _tier(tool: Tool) -> str:
    return "depends" if callable(tool.risk) else tool.facts(None).risk


def _print(out: Printer, agent: Agent[Any]) -> None:
    definition, policy = agent.definition, agent.definition.boundary
    out.line(f"Agent {agent.name}", "bold")
    out.line()
    rows = []
    for tool in definition.toolset:
        facts = tool.facts(None)
        notes = ["carries data out"] * facts.egress + ["untrusted output"] * (not facts.label.trusted)
        notes += ["secret output"] * (facts.label.secrecy == "secret")
        needs = "; ".join([_NEEDS[_tier(tool)], *notes])
        rows.append([tool.name, _tier(tool), needs, ", ".join(sorted(facts.sinks)) or "none"])
    out.table(["TOOL", "TIER", "NEEDS", "DESTINATIONS"], rows)
    out.line()
    if definition.constraints:
        out.table(["RULE", "SAID", "MEANS", "BINDS", "A BREAK"], [_row(agent, one) for one in definition.constraints])
    else:
        out.line("No rules.")
    for report in definition.reports:
        out.line(f"note: {report}")
    out.line()
    limits = policy.limits
    out.fields(
        [
            ("limits", f"{limits.steps} steps, {limits.calls} calls, {limits.tokens:,} tokens, {limits.seconds:g} s"),
            ("tracing", f"{policy.provenance}; secrets may go to {', '.join(sorted(policy.cleared)) or 'nothing'}"),
            ("questions", f"at most {policy.questions} waiting a run, each for {policy.ask_seconds / 3600:g} h"),
            ("mode", policy.mode),
        ]
    )
    out.line()
    out.line("It can never:", "bold")
    for line in _never(agent):
        out.line(f"  - {line}")
    out.line()


def _row(agent: Agent[Any], rule: Constraint) -> list[str]:
    break_ = "advisory: shown, not enforced" if rule.check is None else _BREAKS.get(rule.severity, rule.severity)
    if rule.mode == "observe" or agent.definition.boundary.mode == "observe":
        break_ = "is noted only" if rule.check is not None else break_
    return [rule.id, one_line(rule.text, 60), rule.render or "", ", ".join(_bound(agent, rule)) or "nothing", break_]


_BREAKS = {"block": "is refused", "confirm": "asks a person", "warn": "is noted only"}


def _bound(agent: Agent[Any], rule: Constraint) -> list[str]:
    if rule.check is None:
        return []
    shapes = [Shape(tool.facts(None), tool.spec.schema) for tool in agent.definition.toolset]
    return reached(rule, shapes)


def _never(agent: Agent[Any]) -> Iterator[str]:
    policy, tools = agent.definition.boundary, list(agent.definition.toolset)
    high = [tool.name for tool in tools if _tier(tool) == "high"]
    if high:
        yield f"run {', '.join(high)} by itself: no model is shown them, and a person decides each call"
    blocked = [one for one in agent.definition.constraints if one.check is not None and one.severity == "block"]
    if policy.mode == "enforce":
        for rule in blocked:
            if rule.mode == "enforce" and _bound(agent, rule):
                yield f"break rule {rule.id}: {rule.render or rule.text} (refused, never put to a vote)"
    if policy.provenance == "block":
        yield "write to a destination that nobody who may be believed has named"
    elif policy.provenance == "confirm":
        yield "write to a destination that nobody who may be believed has named, without a person"
    if policy.provenance in ("confirm", "block"):
        yield "carry a secret to a destination that is not cleared"
    yield f"go past {policy.limits.steps} steps or {policy.limits.calls} tool calls for one input"


def _document(agent: Agent[Any]) -> dict[str, Any]:
    definition, policy = agent.definition, agent.definition.boundary
    return {
        "agent": agent.name,
        "policy_digest": definition.policy_digest,
        "tools": [
            {
                "name": tool.name,
                "tier": _tier(tool),
                "needs": _NEEDS[_tier(tool)],
                "egress": tool.facts(None).egress,
                "effect": tool.facts(None).effect,
                "destinations": sorted(tool.facts(None).sinks),
                "trusted": tool.facts(None).label.trusted,
                "secrecy": tool.facts(None).label.secrecy,
            }
            for tool in definition.toolset
        ],
        "rules": [
            {
                "id": rule.id,
                "text": rule.text,
                "render": rule.render,
                "author": rule.author,
                "severity": rule.severity,
                "mode": rule.mode,
                "status": rule.status,
                "advisory": rule.check is None,
                "binds": _bound(agent, rule),
            }
            for rule in definition.constraints
        ],
        "reports": list(definition.reports),
        "limits": {
            "steps": policy.limits.steps,
            "calls": policy.limits.calls,
            "tokens": policy.limits.tokens,
            "usd": str(policy.limits.usd) if policy.limits.usd is not None else None,
            "seconds": policy.limits.seconds,
            "depth": policy.limits.depth,
        },
        "provenance": policy.provenance,
        "cleared": sorted(policy.cleared),
        "mode": policy.mode,
        "never": list(_never(agent)),
    }
