"""A reply, whole or in chunks → deltas, finish and usage: one reading for both, so that both give the same parts.

Reasoning is part 0, words are part 1, a refusal part 2, calls follow in the order in which they first appeared; the
assembler (models/assembler.py) puts the pieces together. Source: SPEC L3, L4, L7; cases C65, C67, C69.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from backstay.core.canon import canonical
from backstay.core.errors import ModelError
from backstay.core.messages import Delta, Finish, Usage
from backstay.wire.openai_chat.failures import error_in_reply

Kind: TypeAlias = Literal["text", "reasoning", "args"]
REASONING, WORDS, REFUSAL, FIRST_CALL = 0, 1, 2, 3
"""Numbers of the parts."""
_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKEN = frozenset({"error", "insufficient_system_resource", "abort", "timeout"})
"""Reasons to finish that say that the server gave up."""
_COUNTS = {
    "input": (("prompt_tokens",), ("input_tokens",)),
    "output": (("completion_tokens",), ("output_tokens",)),
    "cached": (
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
        ("cached_tokens",),
        ("input_tokens_details", "cached_tokens"),
    ),
    "reasoning": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
    ),
    "total": (("total_tokens",),),
}
"""Where servers put what they counted."""


@dataclass(slots=True)
class _Call:
    part: int
    id: str = ""
    name: str = ""
    is_begun: bool = False
    """Whether any of its arguments are there."""
    is_closed: bool = False
    """Whether the last character of its arguments so far is a closing brace."""


class Decoder:
    """Takes chunks in order. `finish` and `usage` are complete when the last chunk is in.

    Args:
        model: whom to name in errors.
    """

    def __init__(self, *, model: str = "the model") -> None:
        self._model = model
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._halves: dict[int, str] = {}
        self._counts: dict[str, int] = {}
        self._reason: str | None = None
        self._has_refused = False
        self._has_begun = False
        self.served_by = ""
        """The model that the server says has answered."""

    @property
    def is_finished(self) -> bool:
        """Whether the server has said why the reply ends."""
        return self._reason is not None

    @property
    def finish(self) -> Finish:
        """Why the reply ended; told from its parts where the server said nothing or something unknown."""
        if self._has_refused:
            return "refusal"
        said = _FINISH.get(self._reason or "", "stop")
        if said in ("stop", "tool_calls"):
            return "tool_calls" if self._calls else "stop"
        return said

    @property
    def usage(self) -> Usage | None:
        """The last state of the counters; None where the server never counted."""
        counts = self._counts
        if "input" not in counts and "output" not in counts:
            return None
        input_, output, reasoning = (counts.get(key, 0) for key in ("input", "output", "reasoning"))
        if reasoning and counts.get("total") == input_ + output + reasoning:
            output += reasoning  # some servers count the thinking beside the output, ours is a part of it
        return Usage(
            input_tokens=input_, output_tokens=output, cached_tokens=counts.get("cached", 0), reasoning_tokens=reasoning
        )

    def take(self, chunk: Mapping[str, Any]) -> list[Delta]:
        """Read one chunk, or a whole reply as if it were the only one.

        Raises:
            ModelError: the chunk says that the server has failed.
        """
        if chunk.get("error") or chunk.get("object") == "error":
            raise error_in_reply(chunk, model=self._model)
        model = chunk.get("model")
        if model and isinstance(model, str):
            self.served_by = model
        if chunk.get("usage"):
            self._count(chunk["usage"])
        deltas: list[Delta] = []
        for choice in _dicts(chunk.get("choices")):
            if choice.get("index") in (None, 0):
                self._choice(choice, deltas)
        extra = chunk.get("x_groq")
        if extra and isinstance(extra, dict):
            self._count(extra.get("usage"))
        return deltas

    def _choice(self, choice: dict[str, Any], deltas: list[Delta]) -> None:
        if choice.get("usage"):
            self._count(choice["usage"])
        piece = choice.get("delta")
        if not piece and not self._has_begun:
            piece = choice.get("message")
        if piece and isinstance(piece, dict):
            self._message(piece, deltas)
            self._has_begun = self._has_begun or bool(deltas)
        reason = choice.get("finish_reason")
        if not reason or not isinstance(reason, str):
            return
        if reason in _BROKEN:
            raise ModelError(f"{self._model} broke off: {reason}", retryable=True)
        self._reason = reason

    def _message(self, piece: dict[str, Any], deltas: list[Delta]) -> None:
        thought = piece.get("reasoning_content") or piece.get("reasoning")
        if thought and isinstance(thought, str):
            deltas.append(self._delta("reasoning", REASONING, thought))
        content = piece.get("content")
        if content and isinstance(content, str):
            deltas.append(self._delta("text", WORDS, content))
        elif content and isinstance(content, list):
            deltas += [self._delta(*one) for one in _listed(content)]
        refusal = piece.get("refusal")
        if refusal and isinstance(refusal, str):
            self._has_refused = True
            deltas.append(self._delta("text", REFUSAL, refusal))
        calls = piece.get("tool_calls")
        if calls:
            deltas += map(self._call, _dicts(calls))

    def _delta(self, kind: Kind, part: int, text: str, id_: str = "", name: str = "") -> Delta:
        """A piece in whole characters: servers that cut by UTF-16 put the halves of an emoji into two chunks."""
        if text.isascii() and part not in self._halves:
            return Delta(kind, part, text, id_, name)
        text = self._halves.pop(part, "") + text
        if "\ud800" <= text[-1] <= "\udbff":
            self._halves[part] = text[-1]
            text = text[:-1]
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return Delta(kind, part, whole, id_, name)

    def _call(self, given: dict[str, Any]) -> Delta:
        function = given.get("function")
        function = function if isinstance(function, dict) else {}
        id_, name, text = _text(given.get("id")), _text(function.get("name")), _arguments(function.get("arguments"))
        index = given.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        call = self._open(index, id_, name, text)
        call.id, call.name = call.id or id_, call.name or name
        if call.id:
            self._by_id.setdefault(call.id, call)
        if text and not text.isspace():
            call.is_begun, call.is_closed = True, text.rstrip().endswith("}")
        return self._delta("args", call.part, text, id_, name)

    def _open(self, index: int | None, id_: str, name: str, text: str) -> _Call:
        """The call that a piece belongs to: by its index, else by its id, else the last one; or a new one."""
        if index is not None:
            call = self._by_index.get(index)
        else:
            call = self._by_id.get(id_) or (self._calls[-1] if self._calls else None)
        if call is None or _is_another(call, index, id_, name, text):
            call = _Call(FIRST_CALL + len(self._calls))
            self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _count(self, usage: Any) -> None:
        """Counters only grow: servers send states, not differences (C69)."""
        if not isinstance(usage, dict):
            return
        for key, places in _COUNTS.items():
            found = [number for place in places if (number := _at(usage, place)) is not None]
            if found:
                self._counts[key] = max(self._counts.get(key, 0), found[0])


def decode_whole(body: Any, decoder: Decoder) -> list[Delta]:
    """Read a reply that came in one piece, with the same decoder that reads streams.

    Raises:
        ModelError: it is an error object, or no chat completion at all.
    """
    if not isinstance(body, dict):
        raise _no_reply()
    choices = list(_dicts(body.get("choices")))
    if not choices and not body.get("error") and body.get("object") != "error":
        raise error_in_reply(body) if body.get("detail") or body.get("message") else _no_reply()
    return decoder.take({**body, "choices": [_numbered(one) for one in choices]})


def _numbered(choice: dict[str, Any]) -> dict[str, Any]:
    """Give the calls of a whole message the indices that a stream would have."""
    message = choice.get("message")
    if not isinstance(message, dict) or not message.get("tool_calls"):
        return choice
    calls = [{**call, "index": number} for number, call in enumerate(_dicts(message["tool_calls"]))]
    return {**choice, "message": {**message, "tool_calls": calls}}


def _no_reply() -> ModelError:
    return ModelError("the answer is no chat completion", retryable=True, code="model.incomplete")


def _is_another(call: _Call, index: int | None, id_: str, name: str, text: str) -> bool:
    """Whether a piece begins another call although it names the place of a known one.

    Some servers give every call the index 0, some give every piece of one call a new id, some give neither. A name
    comes with the first piece of a call alone, so only with a name can there be another.
    """
    if not name:
        return False
    if id_ and call.id:
        return id_ != call.id
    if call.is_begun and name != call.name:
        return True
    return index is None and call.is_closed and text.lstrip().startswith("{")


def _listed(content: list[Any]) -> Iterator[tuple[Kind, int, str]]:
    """Content as a list of parts; `thinking` nests one more list."""
    for part in _dicts(content):
        text, thought = part.get("text"), part.get("thinking")
        if isinstance(text, str) and text:
            yield "text", WORDS, text
        elif isinstance(thought, str) and thought:
            yield "reasoning", REASONING, thought
        elif isinstance(thought, list):
            yield from (("reasoning", REASONING, inner) for one in _dicts(thought) if (inner := _text(one.get("text"))))


def _arguments(given: Any) -> str:
    """The arguments as text, also where a server sends the object itself."""
    if isinstance(given, str):
        return given
    if given is None:
        return ""
    try:
        return canonical(given)
    except (TypeError, ValueError, RecursionError):
        return str(type(given))


def _text(given: Any) -> str:
    return given if isinstance(given, str) else ""


def _dicts(given: Any) -> Iterator[dict[str, Any]]:
    return (one for one in given if isinstance(one, dict)) if isinstance(given, list) else iter(())


def _at(usage: Any, place: tuple[str, ...]) -> int | None:
    for key in place:
        usage = usage.get(key) if isinstance(usage, dict) else None
    is_count = isinstance(usage, int) and not isinstance(usage, bool) and usage >= 0
    return usage if is_count else None
