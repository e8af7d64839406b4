"""The generator: a GGUF file run in this process, decoding under a JSON schema.

The native runtime is imported here alone. It also opens an HTTP listener on a free port of 127.0.0.1 which we
never use; a random key that nobody is told keeps every other program out of it.
Source: notes embedded-model 2 (threads, traps), 4 (load).
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from backstay.core.errors import ModelError, SetupError
from backstay.core.messages import Usage

CONTEXT = 1_024
"""Tokens of prompt and reply together. Prompts here are short; every further thousand costs 23 MB."""
_BATCH = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the generator wrote."""

    text: str
    is_cut: bool
    """True when it ran into the limit of tokens: under a schema the text is then no JSON."""
    usage: Usage
    logprobs: tuple[float, ...] = ()
    """Natural logarithm of the probability of each written token."""


class Runtime:
    """One loaded model file. Calls block and are taken one at a time; run them off the event loop.

    Args:
        path: the GGUF file.
        threads: computing threads; `default_threads()` where it is left out.

    Raises:
        SetupError: no such file, or the extra is not installed.
        ModelError: the file cannot be loaded.
    """

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        if not path.is_file():
            raise SetupError(f"there is no model file {path}; give the path of a GGUF file")
        self.path = path
        self._lock = Lock()
        self._server: Any = _load(path, threads or default_threads())

    def complete(
        self,
        prompt: str,
        *,
        schema: Mapping[str, Any] | None = None,
        grammar: str | None = None,
        max_tokens: int = 96,
        stop: tuple[str, ...] = (),
    ) -> Completion:
        """Continue the prompt, greedily.

        Args:
            prompt: the text as the model sees it, chat marks included.
            schema: the reply is JSON that fits it, unless it is cut.
            grammar: the reply fits this grammar (GBNF) instead.
            max_tokens: of the reply.
            stop: texts that end the reply.

        Raises:
            ModelError: the prompt does not fit, or the runtime refuses the schema. Never retryable: greedy decoding
                gives the same again.
        """
        asked: dict[str, Any] = {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "cache_prompt": True}
        asked |= {"logprobs": 1, "stop": list(stop)}
        if schema is not None:
            asked["json_schema"] = schema
        elif grammar is not None:
            asked["grammar"] = grammar
        with self._lock:
            if self._server is None:
                raise ModelError(f"the embedded model {self.path.name} was closed and is used again", retryable=False)
            said = self._server.handle_completions(asked)
        return _read(said)

    def close(self) -> None:
        """Free the memory. A further call is an error."""
        with self._lock:
            self._server = None


def default_threads() -> int:
    """All cores but one: with a thread on every core of a busy machine decoding collapses to a few tokens a second."""
    return max(1, (os.cpu_count() or 1) - 1)


_open: dict[Path, Runtime] = {}
_opening = Lock()


def open_runtime(path: Path, *, threads: int | None = None) -> Runtime:
    """The one runtime of this process for that file; the number of threads counts for the first that opens it."""
    key = path.expanduser().resolve()
    with _opening:
        if key not in _open:
            _open[key] = Runtime(key, threads=threads)
        return _open[key]


def close_runtimes() -> None:
    """Close every runtime of this process."""
    with _opening:
        while _open:
            _open.popitem()[1].close()


def _load(path: Path, threads: int) -> Any:
    try:
        import xllamacpp
    except ImportError:
        raise SetupError("the embedded model is not installed. Run: pip install 'backstay[embedded]'") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel = CONTEXT, _BATCH, _BATCH, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity, params.warmup, params.cache_ram_mib = -1, False, 0
    params.fit_params = False  # measuring what fits a device's memory takes half of the loading, and is not wanted here
    params.api_keys, params.n_threads_http = [secrets.token_hex(32)], 1
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelError(f"{path} could not be loaded as a GGUF model: {error}", retryable=False) from error


def _read(said: Any) -> Completion:
    reply: dict[str, Any] = json.loads(said) if isinstance(said, str) else said
    if "error" in reply:
        raise ModelError(f"the embedded runtime refused: {reply['error'].get('message')}", retryable=False)
    choice, used = reply["choices"][0], reply.get("usage", {})
    content = (choice.get("logprobs") or {}).get("content") or []
    return Completion(
        text=choice["text"],
        is_cut=choice.get("finish_reason") == "length",
        usage=Usage(
            input_tokens=used.get("prompt_tokens", 0),
            output_tokens=used.get("completion_tokens", 0),
            cached_tokens=used.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        ),
        logprobs=tuple(float(one["logprob"]) for one in content),
    )
