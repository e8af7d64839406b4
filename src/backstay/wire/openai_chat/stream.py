"""The bytes of a streamed reply → deltas, and the judgement whether the stream came to its end."""

from __future__ import annotations

import json
from typing import Any

from backstay.core.errors import ModelError
from backstay.core.messages import Delta, Finish, Usage
from backstay.wire.openai_chat.failures import error_in_reply
from backstay.wire.openai_chat.reply import Decoder
from backstay.wire.sse import SseDecoder, SseEvent

_DONE = "[DONE]"
_DECODER = json.JSONDecoder()


def _parse(text: str) -> Any:
    """`json.loads` of a text without blanks around it, at half the cost: a stream is thousands of small values."""
    value, end = _DECODER.raw_decode(text)
    if end != len(text):
        raise ValueError("something else stands behind the value")
    return value


class StreamDecoder:
    """Takes the body of a streamed reply in any pieces.

    Args:
        model: whom to name in errors.
    """

    def __init__(self, *, model: str = "the model") -> None:
        self._model = model
        self._events = SseDecoder()
        self._decoder = Decoder(model=model)
        self._is_done = False

    @property
    def finish(self) -> Finish:
        """Why the reply ended."""
        return self._decoder.finish

    @property
    def usage(self) -> Usage | None:
        """What the reply took; None where the server said nothing."""
        return self._decoder.usage

    @property
    def served_by(self) -> str:
        """The model that the server says has answered."""
        return self._decoder.served_by

    @property
    def is_done(self) -> bool:
        """Whether the server has said that nothing follows."""
        return self._is_done

    def feed(self, piece: bytes) -> list[Delta]:
        """Take the next bytes and return what they complete.

        Raises:
            ModelError: the server reports an error, or sends what is no stream of chat completions.
        """
        try:
            events = self._events.feed(piece)
        except ValueError as error:
            raise self._broken(str(error)) from None
        deltas: list[Delta] = []
        for event in events:
            deltas += self._event(event)
        return deltas

    def close(self) -> list[Delta]:
        """The body has ended: return what is left.

        Raises:
            ModelError: code `model.incomplete`, when the server said neither why the reply ends nor `[DONE]`.
        """
        deltas: list[Delta] = []
        for event in self._events.close():
            try:
                deltas += self._event(event)
            except ModelError as error:
                if error.code != "model.incomplete" or not self._decoder.is_finished:
                    raise
        if not self._is_done and not self._decoder.is_finished:
            raise self._broken("the stream ended before the reply did")
        return deltas

    def _event(self, event: SseEvent) -> list[Delta]:
        text = event.data.strip()
        if self._is_done or not text:
            return []
        if text == _DONE:
            self._is_done = True
            return []
        deltas: list[Delta] = []
        for chunk in self._values(text):
            if not isinstance(chunk, dict):
                continue
            if event.name == "error" and not chunk.get("error"):
                raise error_in_reply(chunk, model=self._model)
            deltas += self._decoder.take(chunk)
        return deltas

    def _values(self, text: str) -> list[Any]:
        """What an event holds: one value, or one a line from servers without the empty lines between events."""
        try:
            return [_parse(text)]
        except (ValueError, RecursionError):
            lines = text.split("\n")
        try:
            found = [_parse(line) for line in lines if line.strip() != _DONE]
        except (ValueError, RecursionError):
            raise self._broken("the stream holds what is no JSON") from None
        self._is_done = lines[-1].strip() == _DONE
        return found

    def _broken(self, why: str) -> ModelError:
        return ModelError(f"{self._model}: {why}", retryable=True, code="model.incomplete")
