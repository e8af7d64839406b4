"""The texts that a schema itself names: enum values, constants, defaults. They are the developer's, not the model's.

Source: SPEC B11 (every destination is traceable to the user, the developer, a rule or a trusted field).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backstay.core.messages import Args, Json

_DEEPEST = 12


def constants_of(schema: Args) -> dict[str, frozenset[str]]:
    """Return argument → the texts its schema names; a field inside a field is dotted, list items have no number."""
    found: dict[str, set[str]] = {}
    for path, text in _named(schema, "", schema, 0):
        found.setdefault(path, set()).add(text)
    return {path: frozenset(texts) for path, texts in found.items()}


def _named(schema: Json, path: str, root: Args, depth: int) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    enum = schema.get("enum")
    texts = [schema.get("const"), *(enum if isinstance(enum, Sequence) and not isinstance(enum, str) else ())]
    for text in (*texts, *_leaves(schema.get("default"))):
        if isinstance(text, str):
            yield path, text
    ref = schema.get("$ref")
    if isinstance(ref, str):
        yield from _named(_target(root, ref), path, root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        several = schema.get(key)
        for one in several if isinstance(several, Sequence) else ():
            yield from _named(one, path, root, depth + 1)
    yield from _named(schema.get("items"), path, root, depth + 1)
    extra = schema.get("additionalProperties")
    yield from _named(extra, f"{path}.*" if path else "*", root, depth + 1)
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if path:
            yield f"{path}.*key", name  # a key that the schema names is nobody's choice
        yield from _named(inner, f"{path}.{name}" if path else name, root, depth + 1)


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _target(root: Args, ref: str) -> Json:
    value: Json = root
    for key in ref.removeprefix("#/").split("/"):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
