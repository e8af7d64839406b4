"""What the generator is asked: an object of a schema, a sentence. Each is constrained or checked.

It is not asked for arguments: on the developing prompts it changed none for the better, see docs/decisions/0003.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from backstay.core.canon import thaw
from backstay.core.errors import ModelError
from backstay.core.messages import Args, Json, Usage
from backstay.models.embedded.runtime import Runtime

_MOST = 260
"""Tokens of a request or a result that the generator is shown, by rule of thumb: its context is short."""
_LONGEST = 200
"""Characters of a string in a structured output whose schema sets no bound."""


class Generator:
    """The language model behind one request; opens its runtime when first needed and adds up what it used."""

    def __init__(self, runtime: Callable[[], Runtime]) -> None:
        self._runtime = runtime
        self.usage = Usage()

    def output(self, schema: Args, text: str, facts: str) -> str:
        """The JSON text of an object that fits the schema, by one constrained call.

        Raises:
            ModelError: it did not end within the bound, or the runtime cannot follow the schema.
        """
        bounded = _bounded(thaw(schema))
        about = f"{cut(text)}\n\n{cut(facts)}".strip()
        prompt = chat("Answer with JSON only, from what the user gives you.", [], about)
        return json.dumps(self._object(prompt, bounded, 320), ensure_ascii=False)

    def phrase(self, text: str, facts: str) -> str | None:
        """The facts in a sentence; None unless every number, id and name of them is in it, and no other number."""
        prompt = chat("Answer the question in one sentence from the result.", [], f"{cut(text)}\nResult: {cut(facts)}")
        said = self._complete(prompt, max_tokens=96, stop=("<|im_end|>", "\n"))
        return said if said and _keeps(said, facts) else None

    def _object(self, prompt: str, schema: Mapping[str, Any], max_tokens: int) -> dict[str, Json]:
        text = self._complete(prompt, max_tokens=max_tokens, schema=schema)
        try:
            found = json.loads(text)
        except ValueError:
            raise ModelError(
                f"the embedded model did not finish its JSON within {max_tokens} tokens",
                retryable=False,
                code="model.cut_off",
            ) from None
        return found if isinstance(found, dict) else {}

    def _complete(
        self, prompt: str, *, max_tokens: int, schema: Mapping[str, Any] | None = None, stop: tuple[str, ...] = ()
    ) -> str:
        done = self._runtime().complete(prompt, schema=schema, max_tokens=max_tokens, stop=stop)
        self.usage += done.usage
        return done.text.strip()


def chat(system: str, turns: list[tuple[str, str]], text: str) -> str:
    """A prompt in the chat marks of the SmolLM2 and Qwen families (ChatML), open for the reply."""
    lines = [f"<|im_start|>system\n{system}<|im_end|>"]
    for said, answered in turns:
        lines.append(f"<|im_start|>user\n{_plain(said)}<|im_end|>\n<|im_start|>assistant\n{answered}<|im_end|>")
    return "\n".join([*lines, f"<|im_start|>user\n{_plain(text)}<|im_end|>", "<|im_start|>assistant\n"])


def cut(text: str, most: int = _MOST) -> str:
    """The beginning of a text, at most so many tokens: three characters of ASCII, or a third of any other."""
    spent = 0.0
    for place, char in enumerate(text):
        spent += 1 / 3 if char.isascii() else 3
        if spent > most:
            return text[:place]
    return text


def _plain(text: str) -> str:
    """Without chat marks: a user's words must not end their own turn."""
    return re.sub(r"<\|[^|]*\|>", "", text)


def _bounded(schema: Any) -> Any:
    """The schema with objects closed and a bound on every open string, so that a small model comes to an end."""
    if isinstance(schema, list):
        return [_bounded(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _bounded(value) for key, value in schema.items()}
    if "properties" in made:
        made.setdefault("additionalProperties", False)
    if made.get("type") == "string" and not made.keys() & {"enum", "const", "pattern", "format", "maxLength"}:
        made["maxLength"] = _LONGEST
    return made


_FACT = re.compile(r"\d[\d.,:/-]*\d|\d|\b[A-Z][\w-]*|\"[^\"]+\"|[\u4e00-\u9fff]{2,}")


def _keeps(said: str, facts: str) -> bool:
    wanted = {one.strip('"').casefold() for one in _FACT.findall(facts)}
    numbers = set(re.findall(r"\d+", said)) - set(re.findall(r"\d+", facts))
    return not numbers and all(one in said.casefold() for one in wanted)
