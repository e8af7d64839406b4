"""What a tool declares, what it leaves to a default, and what it should say better: its part of `backstay doctor`.

Source: SPEC T13.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backstay.core.messages import Json
from backstay.tools.tool import Tool

_WHEN = re.compile(
    r"\b(?:use|call|choose)s? (?:it|this|me)?(?: tool)? ?(?:only )?"
    r"(?:when|whenever|if|for|to|before|after|once|instead|where)\b"
    r"|\bwhen(?:ever)? (?:the|a|an|you|they|some|any|there)|\bif the user\b|\buseful (?:when|for|if)\b"
    r"|用于|用来|适用于|适合|当[^前地日天]|(?:时|时候|之前|之后|后|前)(?:使用|调用|用)|如果用户|若用户|需要.{0,20}时|用户.{0,20}时",
    re.IGNORECASE,
)
"""How a description says when the tool is meant, in English and in Chinese; 当前 (now) is not 当 (when)."""
_SHOWN = 8


def declared(tool: Tool) -> dict[str, Any]:
    """Return what is declared, each with whether it is a default."""
    facts = tool.facts(None)
    return {
        "risk": "depends on the arguments" if callable(tool.risk) else facts.risk,
        "risk_by_default": tool.risk is None,
        "effect": facts.effect,
        "effect_by_default": tool.effect is None,
        "sinks": sorted(facts.sinks),
        "sinks_by_default": tool.sinks is None,
        "egress": facts.egress,
        "says_when": says_when(tool),
        "undescribed": list(undescribed(tool.spec.schema)),
    }


def told(facts: Mapping[str, Any]) -> str:
    """Return the declarations as one line."""
    parts = [facts["risk"] + _default(facts["risk_by_default"])]
    parts.append(f"effect {facts['effect']}{_default(facts['effect_by_default'])}")
    if facts["egress"]:
        parts.append("carries data out")
    sinks = ", ".join(facts["sinks"]) or "none"
    parts.append(f"destinations: {sinks}{_default(facts['sinks_by_default'])}")
    return "; ".join(parts)


def _default(is_default: bool) -> str:
    return " (by default)" if is_default else ""


def advices(tool: Tool, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what should be said better, one sentence each."""
    if facts["risk_by_default"]:
        yield "declares no risk and counts as write; say risk='read', 'write' or 'high'"
    if not facts["says_when"]:
        where = "the first line of its description, all that a model sees of a high tool," if tool.is_hidden else None
        yield f"{where or 'its description'} does not say when to use it; add a sentence: Use it when ..."
    silent: Sequence[str] = facts["undescribed"]
    if silent:
        more = f" and {len(silent) - _SHOWN} more" if len(silent) > _SHOWN else ""
        yield f"parameters without description: {', '.join(silent[:_SHOWN])}{more}"


def says_when(tool: Tool) -> bool:
    """Whether the description says when to use the tool; of a high one a model sees the first line alone."""
    text = tool.description.strip()
    return bool(_WHEN.search(text.partition("\n")[0] if tool.is_hidden else text))


def undescribed(schema: Mapping[str, Json]) -> Iterator[str]:
    """Yield the parameters without a description, those of objects inside dotted."""
    yield from dict.fromkeys(_undescribed(schema, "", schema, ()))


def _undescribed(node: Json, path: str, root: Mapping[str, Json], inside: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(node, Mapping):
        return
    ref = node.get("$ref")
    if isinstance(ref, str):
        definitions = root.get("$defs")
        if ref not in inside and isinstance(definitions, Mapping):
            yield from _undescribed(definitions.get(ref.rpartition("/")[2]), path, root, (*inside, ref))
        return
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        at = f"{path}.{name}" if path else name
        if isinstance(inner, Mapping) and not inner.get("description"):
            yield at
        yield from _undescribed(inner, at, root, inside)
    for key in ("items", "additionalProperties"):
        yield from _undescribed(node.get(key), path, root, inside)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        several = node.get(key)
        for one in several if isinstance(several, Sequence) and not isinstance(several, str) else ():
            yield from _undescribed(one, path, root, inside)
