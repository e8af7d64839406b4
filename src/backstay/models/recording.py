"""`RecordingModel` and `ReplayModel`: what a model was asked and what it said, in a file, and from the file again.

One JSON line a request: its digest, the request without credentials, the reply or the error, the pieces as they came.
Ids that a run makes up (of messages, calls, results, runs) are numbered in the order in which they stand in the
request, so that the same conversation of another day is the same request. Source: SPEC L6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from backstay.core.canon import digest, freeze, thaw
from backstay.core.context import RunContext
from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import Delta, Finish, Json, ModelReply, ModelRequest, Reasoning, Text, ToolCall, Usage
from backstay.core.redaction import redact_json
from backstay.models.assembler import pieces_of
from backstay.models.model import ChatModel, ModelProfile

_MADE_ID = re.compile(r"\b(?P<kind>[a-z]{1,3})-[0-9a-f]{21}\b")
_MARK = re.compile(r"\[redacted:[0-9a-f]{8}\]")
_IDS = {"Message": "id", "ToolCall": "id", "ToolReturn": "call_id", "ToolResult": "ref"}
"""Class → its field with an id that a run makes up."""
_UNSENT = {
    "Message": ("label",),
    "ToolCall": ("slot", "raw", "mended", "proposed"),
    "ToolResult": (
        "ok",
        "data",
        "error",
        "code",
        "retryable",
        "fatal",
        "keep",
        "artifacts",
        "label",
        "labels",
        "via",
        "applied",
    ),
}
"""Class → fields that no model is sent."""
_MOST_SHOWN = 80
_VERSION = 1


class RecordingModel:
    """A model whose replies, and errors, are also written to a file.

    Args:
        model: whom to ask.
        path: a JSONL file; what is recorded is added at its end. Credentials are redacted before they are written,
            the words of a conversation are not.
    """

    def __init__(self, model: ChatModel, path: str | Path) -> None:
        self._model, self._path = model, Path(path)

    @property
    def profile(self) -> ModelProfile:
        """The model's."""
        return self._model.profile

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def request(
        self, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None = None
    ) -> ModelReply:
        """Ask, and write down what came of it.

        Raises:
            ModelError: the model's own.
            SetupError: code `model.recording`, when the file cannot be written.
        """
        pieces: list[Delta] = []

        def take(delta: Delta) -> None:
            pieces.append(delta)
            if on_delta is not None:
                on_delta(delta)

        try:
            reply = await self._model.request(request, ctx, take if on_delta is not None else None)
        except ModelError as error:
            after: Json = error.retry_after
            told: Json = {"message": error.message, "code": error.code, "retryable": error.retryable, "after": after}
            self._write(request, {"error": told})
            raise
        said = freeze(_plain(reply))
        is_open = redact_json(said) == thaw(said)  # a credential could be cut in two by its pieces
        self._write(request, {"reply": said, "pieces": tuple(tuple(one) for one in pieces) if is_open else ()})
        return reply

    def _write(self, request: ModelRequest, outcome: dict[str, Json]) -> None:
        asked = normal(request)
        head: dict[str, Json] = {"v": _VERSION, "digest": digest(asked), "model": self.name}
        line = {**head, "request": asked, **cast("dict[str, Json]", redact_json(outcome))}
        try:
            with self._path.open("a", encoding="utf-8", errors="surrogatepass") as file:
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        except OSError as error:
            raise SetupError(f"{self._path}: cannot be written ({error.strerror})", code="model.recording") from None


class ReplayModel:
    """A model that says again what was recorded. No network, no key; equal requests are answered in their old order.

    Args:
        path: a file that a `RecordingModel` has written.
        profile: what it pretends to be; where it is left out, a model of unknown price.

    Raises:
        SetupError: code `model.recording`, for a file that is none.
    """

    def __init__(self, path: str | Path, *, profile: ModelProfile | None = None) -> None:
        self._path = Path(path)
        self._lines = list(_read(self._path))
        self._profile = profile or ModelProfile(family="replay", window=128_000)
        self._told: dict[str, int] = {}

    @property
    def profile(self) -> ModelProfile:
        """What it pretends to be."""
        return self._profile

    @property
    def name(self) -> str:
        """`replay:` and the file's name."""
        return f"replay:{self._path.name}"

    async def request(
        self, request: ModelRequest, ctx: RunContext[Any], on_delta: Callable[[Delta], None] | None = None
    ) -> ModelReply:
        """Say what was said then, in the same pieces. After the last of several equal requests, the last again.

        Raises:
            ModelError: what was recorded; `model.not_recorded`, with the first difference, for a request that was not.
        """
        asked = normal(request)
        key = digest(asked)
        found = [line for line in self._lines if line["digest"] == key]
        if not found:
            raise ModelError(self._difference(asked), retryable=False, code="model.not_recorded")
        number = self._told.get(key, 0)
        self._told[key] = number + 1
        line = found[min(number, len(found) - 1)]
        error = line.get("error")
        if error is not None:
            raise ModelError(
                error["message"], retryable=error["retryable"], retry_after=error["after"], code=error["code"]
            )
        reply = _reply(line["reply"])
        if on_delta is not None:
            for piece in [Delta(*one) for one in line["pieces"]] or pieces_of(reply):
                on_delta(piece)
        return reply

    def _difference(self, asked: Json) -> str:
        if not self._lines:
            return f"{self._path.name} holds no recorded request"
        differences = [list(_differences(line["request"], asked, "request")) for line in self._lines]
        nearest = min(range(len(differences)), key=lambda number: len(differences[number]))
        where, then, now = differences[nearest][0]
        return (
            f"{self._path.name} does not hold this request. Nearest is line {nearest + 1}, and it differs in {where}:"
            f" recorded {_shown(then)}, asked {_shown(now)}"
        )


def normal(request: ModelRequest) -> Json:
    """A request as JSON without credentials, bytes and ids that a run makes up: equal for equal conversations."""
    seen: dict[str, str] = {}
    return _numbered(redact_json(_plain(_sent(request, seen))), seen)


def _sent(value: Any, seen: dict[str, str]) -> Any:
    """What a model is sent of a request, its ids numbered."""
    if is_dataclass(value):
        kind = type(value).__name__
        held = {one.name: getattr(value, one.name) for one in fields(value) if one.name not in _UNSENT.get(kind, ())}
        made = held.pop(_IDS.get(kind, ""), None)
        shown = {name: _sent(item, seen) for name, item in held.items()}
        number = {} if made is None else {"number": seen.setdefault(made, f"#{len(seen) + 1}")}
        return {"kind": kind, **number, **shown}
    if isinstance(value, list | tuple):
        return [_sent(one, seen) for one in value]
    return value


def _numbered(value: Json, seen: dict[str, str]) -> Json:
    """The same for ids that stand in words, and for the marks of credentials, which no two processes share."""
    if isinstance(value, str):
        value = _MARK.sub("[redacted]", value)
        return _MADE_ID.sub(lambda found: seen.setdefault(found[0], f"{found['kind']}-#{len(seen) + 1}"), value)
    if isinstance(value, Mapping):
        return {name: _numbered(item, seen) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(one, seen) for one in value]
    return value


def _plain(value: Any) -> Any:
    """A dataclass and what is in it as JSON; of bytes a digest. A part of a message says what it is."""
    if is_dataclass(value):
        held = {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
        return {"kind": type(value).__name__, **held}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return f"sha256:{sha256(value).hexdigest()}" if isinstance(value, bytes) else value


def _reply(line: Mapping[str, Any]) -> ModelReply:
    usage = line["usage"]
    return ModelReply(
        parts=tuple(_part(one) for one in line["parts"]),
        finish=cast("Finish", line["finish"]),
        usage=None if usage is None else Usage(**{key: value for key, value in usage.items() if key != "kind"}),
        model=line["model"],
    )


def _part(line: Mapping[str, Any]) -> Text | Reasoning | ToolCall:
    kind = {"Text": Text, "Reasoning": Reasoning, "ToolCall": ToolCall}[line["kind"]]
    held = {key: freeze(value) for key, value in line.items() if key != "kind"}
    return cast("Text | Reasoning | ToolCall", kind(**held))


def _read(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = path.read_text("utf-8", errors="surrogatepass")
    except (OSError, UnicodeError) as error:
        raise SetupError(f"{path}: cannot be read ({type(error).__name__})", code="model.recording") from None
    for number, one in enumerate(text.split("\n"), 1):
        if not one.strip():
            continue
        try:
            line = json.loads(one)
            if line["v"] != _VERSION or not isinstance(line["digest"], str) or not ({"reply", "error"} & line.keys()):
                raise ValueError
            if "reply" in line:
                _reply(line["reply"])
        except (ValueError, KeyError, TypeError, AttributeError):
            told = f"{path}: line {number} is no recorded reply of version {_VERSION}"
            raise SetupError(told, code="model.recording") from None
        yield line


def _differences(then: Json, now: Json, where: str) -> Iterator[tuple[str, Json, Json]]:
    """Every place in which two values differ, in order."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in (*now, *(key for key in then if key not in now)):
            yield from _differences(then.get(key), now.get(key), f"{where}.{key}")
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple):
        for at in range(max(len(then), len(now))):
            sides = [one[at] if at < len(one) else None for one in (then, now)]
            yield from _differences(sides[0], sides[1], f"{where}[{at}]")
    elif then != now:
        yield where, then, now


def _shown(value: Json) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
