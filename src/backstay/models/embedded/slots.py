"""A tool's schema as slots to fill: what kind of value each wants and which values its examples show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from backstay.core.messages import Args, Json, ToolSpec
from backstay.models.embedded.numbers import Number, time_unit

Kind: TypeAlias = Literal[
    "text",
    "payload",
    "pattern",
    "expression",
    "number",
    "integer",
    "boolean",
    "choice",
    "date",
    "time",
    "moment",
    "list",
    "other",
]
"""`payload` is a text to be carried as it was said: a note, a message. `pattern` also stands for identifiers."""

_PAYLOAD = re.compile(
    r"^(?:text|message|note|body|content|comment|title|subject|summary|question|thoughts?|reason|task|todo|memo)$|"
    r"\b(?:the note|the message|the text)\b",
    re.IGNORECASE,
)
_COMPUTED = frozenset(["expression", "formula"])
_ID = r"#?[A-Za-z]{0,5}[-_]?\d[\w-]*"
"""What an identifier looks like where nothing says more."""
_SUCH_AS = re.compile(r"(?:such as|for example|e\.g\.|like) ([\w./@-]*\w)|\(([\w./@-]*\d[\w./@-]*)\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One argument that a request may fill."""

    name: str
    kind: Kind
    schema: Args
    description: str
    is_required: bool
    choices: tuple[Json, ...] = ()
    samples: tuple[str, ...] = ()
    """Values from the tool's examples and from `such as …` in the description, as text."""
    shape: str = ""
    """What a value looks like: a regular expression made of the schema's pattern or of its samples."""
    is_composed: bool = False
    """True where no example copies the value from its text: the request as a whole is the value then."""
    items: Slot | None = None
    unit: str = ""
    """Unit of time of a number: day, minute…"""

    def fits(self, text: str) -> bool:
        """Whether a text has the shape that the slot asks for: its schema's pattern, else that of its samples."""
        pattern = self.schema.get("pattern")
        if isinstance(pattern, str):
            return re.search(pattern, text) is not None
        return re.fullmatch(self.shape or _ID, text) is not None

    def amount(self, number: Number) -> float | None:
        """A number in the unit that the slot asks for; None if it is of another kind, such as a span of time."""
        if self.unit:
            return number.in_unit(self.unit)
        return None if number.seconds else number.value

    @property
    def words(self) -> str:
        """Name and description, for comparing meanings."""
        return f"{self.name.replace('_', ' ')}: {self.description}" if self.description else self.name.replace("_", " ")


def slots_of(spec: ToolSpec) -> tuple[Slot, ...]:
    """Every argument of a tool, in the order of its schema."""
    properties, required = spec.schema.get("properties"), spec.schema.get("required")
    if not isinstance(properties, Mapping):
        return ()
    names = set(required) if isinstance(required, tuple | list) else set()
    return tuple(
        _slot(name, _plain(schema, spec.schema), spec, is_required=name in names) for name, schema in properties.items()
    )


def _slot(name: str, schema: Args, spec: ToolSpec, *, is_required: bool) -> Slot:
    description = str(schema.get("description", ""))
    named = tuple(a or b for a, b in _SUCH_AS.findall(description))
    shown = tuple(text for _, args in spec.examples for text in _texts(args.get(name)))
    kind, choices = _kind(name, schema, description), _choices(schema)
    samples = tuple(dict.fromkeys((*shown, *named)))
    shape = str(schema.get("pattern", "")) or _shape(named + shown) if kind in ("text", "pattern") else ""
    are_codes = all(any(char.isdigit() for char in one) and " " not in one for one in samples)
    if kind == "text" and are_codes and (_is_id(name) or (samples and re.search(r"\bcode\b", description))):
        kind = "pattern"
    items = schema.get("items")
    inner = _slot(name, _plain(items, spec.schema), spec, is_required=True) if kind == "list" and items else None
    return Slot(
        name=name,
        kind=kind,
        schema=schema,
        description=description,
        is_required=is_required,
        choices=choices,
        samples=samples,
        shape=shape,
        is_composed=kind in ("text", "payload") and _is_composed(name, spec),
        items=inner,
        unit=time_unit(f"{name} {description}") if kind in ("integer", "number") else "",
    )


def _plain(schema: Json, root: Args) -> Args:
    """The branch of a schema that a request can fill: references followed, no `null`, a number before its text."""
    if not isinstance(schema, Mapping):
        return {}
    if isinstance(ref := schema.get("$ref"), str):
        found: Json = root
        for key in ref.removeprefix("#/").split("/"):
            found = found.get(key) if isinstance(found, Mapping) else None
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_plain(found, root), **rest}
    for word in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(word)
        if isinstance(branches, tuple | list):
            real = [one for one in branches if isinstance(one, Mapping) and one.get("type") != "null"]
            chosen = next((one for one in real if one.get("type") in ("number", "integer")), real[0] if real else {})
            rest = {key: value for key, value in schema.items() if key != word}
            return {**_plain(chosen, root), **rest}
    kind = schema.get("type")
    if isinstance(kind, tuple | list):
        return {**schema, "type": next((one for one in kind if one != "null"), "string")}
    return schema


def _kind(name: str, schema: Args, description: str) -> Kind:
    if "enum" in schema or "const" in schema:
        return "choice"
    match schema.get("type"):
        case "integer":
            return "integer"
        case "number":
            return "number"
        case "boolean":
            return "boolean"
        case "array":
            return "list"
        case "string" | None:
            return _string_kind(name, schema, description)
    return "other"


def _string_kind(name: str, schema: Args, description: str) -> Kind:
    match schema.get("format"):
        case "date":
            return "date"
        case "time":
            return "time"
        case "date-time":
            return "moment"
    if name in _COMPUTED or "x-compose" in schema:
        return "expression"
    if "pattern" in schema:
        return "pattern"
    return "payload" if _PAYLOAD.search(name) or _PAYLOAD.search(description) else "text"


def _choices(schema: Args) -> tuple[Json, ...]:
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum", ())
    return tuple(listed) if isinstance(listed, tuple | list) else ()


def _texts(value: Json) -> tuple[str, ...]:
    if isinstance(value, tuple | list):
        return tuple(str(one) for one in value)
    return () if value is None else (str(value),)


def _is_composed(name: str, spec: ToolSpec) -> bool:
    shown = [(text, args[name]) for text, args in spec.examples if isinstance(args.get(name), str)]
    return bool(shown) and not any(str(value).casefold() in text.casefold() for text, value in shown)


def _is_id(name: str) -> bool:
    return name.casefold().rsplit("_", 1)[-1] in ("id", "number", "no", "code", "key")


def _shape(samples: tuple[str, ...]) -> str:
    """Identifier-like samples, generalised: 1001 → four digits or so; C-101 → C, a dash, three digits or so."""
    ids = [one for one in samples if any(char.isdigit() for char in one) and " " not in one]
    return "|".join(dict.fromkeys(_generalised(one) for one in ids))


def _generalised(sample: str) -> str:
    parts = re.findall(r"\d+|[A-Za-z]+|.", sample)
    return "".join(map(_generalised_part, parts))


def _generalised_part(part: str) -> str:
    """Of digits and of several letters the kind and about the length; a single letter is what it is."""
    if part.isdigit():
        return rf"\d{{{max(1, len(part) - 1)},{len(part) + 2}}}"
    return rf"[A-Za-z]{{1,{len(part) + 1}}}" if part.isalpha() and len(part) > 1 else re.escape(part)
