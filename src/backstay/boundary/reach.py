"""What a rule reaches among an agent's tools, and where it could only ever refuse: told when the agent is built.

Source: SPEC B6 ("a rule naming an argument no tool has, and a tool on which a block constraint cannot be evaluated, are
reported when the agent is built").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from backstay.boundary.constraints import Constraint
from backstay.boundary.policy import Boundary
from backstay.boundary.predicates import check_problems, is_missing, parts, selects, unfit
from backstay.core.context import ToolFacts
from backstay.core.errors import ConstraintError
from backstay.core.messages import Args, Json

_DEEPEST = 16


class Shape(NamedTuple):
    """A tool as rules see it before any call: its facts and the JSON Schema of its arguments."""

    facts: ToolFacts
    schema: Args


def reports(rule: Constraint, tools: Sequence[Shape], policy: Boundary) -> list[str]:
    """Return what a person should know of a rule: that it is advisory, reaches nothing, or cannot be checked somewhere.

    Raises:
        ConstraintError: for a check that is wrong, or a tool, an argument, a function or an owner nobody has.
    """
    if rule.check is None:
        return [f"{rule.id} {rule.text!r} is advisory: it is shown to the model and cannot be enforced"]
    problems = [*check_problems(rule.check), *_unknown(rule, tools, policy)]
    if problems:
        raise ConstraintError(f"rule {rule.id!r}: {'; '.join(problems)}")
    reached = [tool for tool in tools if _reaches(rule, tool)]
    argument = rule.bind.get("argument")
    if argument is not None and not reached:
        raise ConstraintError(f"rule {rule.id!r} names the argument {argument!r}, which none of its tools has")
    named = [tool for tool in tools if tool.facts.name in rule.tools and tool not in reached]
    found = [f"it has no {_wanted(rule)} at {tool.facts.name}" for tool in named if is_missing(rule.check, ())]
    found += [why for tool in reached for why in _cannot(rule, tool, policy)]
    if not reached and not found:
        return [f"{rule.id} {rule.text!r} reaches no tool: none has an argument of that meaning"]
    return [f"{rule.id} {rule.text!r} cannot be checked: {why}, so {_consequence(rule)}" for why in found]


def reached(rule: Constraint, tools: Sequence[Shape]) -> list[str]:
    """Names of the tools that a rule binds to."""
    return [tool.facts.name for tool in tools if _reaches(rule, tool)]


def _wanted(rule: Constraint) -> str:
    argument, meaning = rule.bind.get("argument"), rule.bind.get("meaning")
    return (
        f"argument {argument!r}" if argument else f"argument that means {meaning}" if meaning else "argument to check"
    )


def _consequence(rule: Constraint) -> str:
    if rule.mode == "observe" or rule.severity == "warn":
        return "it only ever notes"
    return "every call there is refused"


def _unknown(rule: Constraint, tools: Sequence[Shape], policy: Boundary) -> Iterator[str]:
    """Names in the rule that nobody has."""
    names = {tool.facts.name for tool in tools}
    for name in rule.tools:
        if name not in names:
            yield f"it names the tool {name!r}, which this agent does not have"
    for part in parts(rule.check):
        if part.get("op") == "before":
            yield from (f"it waits for the tool {one!r}, which this agent does not have" for one in _lacks(part, names))
        elif part.get("op") == "function" and part.get("name") not in policy.functions:
            yield f"it names the function {part.get('name')!r}; give Boundary(functions={{{part.get('name')!r}: ...}})"
        elif part.get("op") == "owned_by" and part.get("kind", "") not in {"", *policy.owners}:
            yield f"it asks whose {part.get('kind')!r} is; give Boundary(owners={{{part.get('kind')!r}: ...}})"


def _lacks(part: Mapping[str, Json], names: set[str]) -> list[Json]:
    tools = part.get("tools")
    return [one for one in tools if one not in names] if isinstance(tools, list | tuple) else []


def _reaches(rule: Constraint, tool: Shape) -> bool:
    if rule.tools and tool.facts.name not in rule.tools:
        return False
    argument, meaning = rule.bind.get("argument"), rule.bind.get("meaning")
    if argument is not None:
        return argument in tool.facts.meanings or has_argument(tool.schema, argument)
    return meaning is None or any(selects(meaning, has) for has in tool.facts.meanings.values())


def _cannot(rule: Constraint, tool: Shape, policy: Boundary) -> Iterator[str]:
    """Why the rule can never hold for a call of this tool."""
    meanings, name = tool.facts.meanings, tool.facts.name
    argument, meaning = rule.bind.get("argument"), rule.bind.get("meaning", "")
    bound = [argument] if argument is not None else [one for one, has in meanings.items() if selects(meaning, has)]
    assert rule.check is not None
    if not rule.bind and is_missing(rule.check, ()):
        yield f"it needs something to be about at {name}: bind it to a meaning or an argument"
        return
    for part in parts(rule.check):
        other = part.get("argument")
        if isinstance(other, str) and not has_argument(tool.schema, other):
            yield f"{name} has no argument {other!r} to compare with"
        for one in bound:
            mark = meanings.get(one, "")
            why = unfit(part, mark)
            if part.get("op") == "owned_by" and "kind" not in part:
                kind = mark.partition("id:")[2]
                why = "" if kind in policy.owners else f"nobody has said whose {kind or 'it'} is (Boundary(owners=...))"
            if why:
                yield f"{one} of {name} is {why}"


def has_argument(schema: Json, path: str) -> bool:
    """Whether a JSON Schema has a property at a dotted path; the items of a list are named without their number."""
    return isinstance(schema, Mapping) and _has(schema, path.split("."), schema, 0)


def _has(schema: Json, keys: Sequence[str], root: Mapping[str, Json], depth: int) -> bool:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return False
    ref = schema.get("$ref")
    if isinstance(ref, str):
        return _has(_resolved(ref, root), keys, root, depth + 1)
    if not keys:
        return True
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and keys[0] in properties:
        return _has(properties[keys[0]], keys[1:], root, depth + 1) or len(keys) == 1
    inside: list[Json] = [schema.get("items")]
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        several = schema.get(name)
        inside += several if isinstance(several, list | tuple) else ()
    if any(_has(one, keys, root, depth + 1) for one in inside):
        return True
    extra = schema.get("additionalProperties")
    return extra is True or _has(extra, keys[1:], root, depth + 1)


def _resolved(ref: str, root: Mapping[str, Json]) -> Json:
    found: Json = root
    for key in ref.removeprefix("#/").split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
