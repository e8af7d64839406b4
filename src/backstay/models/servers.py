"""The servers that speak OpenAI's chat completions: where they are, how they want to be asked. A row, not a subclass.

Source: SPEC L1; notes embedded-model 7; the servers' own pages.
"""

from __future__ import annotations

from dataclasses import dataclass

from backstay.wire.openai_chat import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that speaks chat completions."""

    provider: str
    """What stands before the colon of a model's name."""
    base_url: str
    key_env: str = ""
    """The environment variable with its key; empty where it wants none."""
    window: int = 32_000
    """Tokens of context where nothing more is known of the model: on the low side."""
    media: frozenset[str] = frozenset()
    dialect: Dialect = Dialect()


OPENAI = Server(
    provider="openai",
    base_url="https://api.openai.com/v1",
    key_env="OPENAI_API_KEY",
    window=128_000,
    media=frozenset({"image"}),
)

_PLAIN = Dialect(max_tokens="max_tokens")
_TAKES_AUTO = Dialect(max_tokens="max_tokens", choices=frozenset({"auto"}))
"""Takes any `tool_choice` and honours none, so that what is wanted has to be said by the tools that are offered."""

_SERVERS = (
    OPENAI,
    Server(provider="ollama", base_url="http://127.0.0.1:11434/v1", window=4_096, dialect=_TAKES_AUTO),
    Server(provider="llamacpp", base_url="http://127.0.0.1:8080/v1", window=4_096, dialect=_TAKES_AUTO),
    Server(provider="lmstudio", base_url="http://127.0.0.1:1234/v1", window=4_096, dialect=_TAKES_AUTO),
    Server(provider="vllm", base_url="http://127.0.0.1:8000/v1", dialect=_PLAIN),
    Server(
        provider="deepseek",
        base_url="https://api.deepseek.com/v1",
        key_env="DEEPSEEK_API_KEY",
        window=128_000,
        dialect=Dialect(max_tokens="max_tokens", output="json_object", returns_reasoning=True),
    ),
    Server(
        provider="qwen",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_env="DASHSCOPE_API_KEY",
        dialect=Dialect(max_tokens="max_tokens", choices=frozenset({"auto", "none", "tool"}), output="json_object"),
    ),
    Server(
        provider="mistral",
        base_url="https://api.mistral.ai/v1",
        key_env="MISTRAL_API_KEY",
        dialect=Dialect(max_tokens="max_tokens", seed="random_seed", has_stream_usage=False, is_short_id=True),
    ),
    Server(provider="groq", base_url="https://api.groq.com/openai/v1", key_env="GROQ_API_KEY"),
    Server(
        provider="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        dialect=_PLAIN,
    ),
    Server(provider="xai", base_url="https://api.x.ai/v1", key_env="XAI_API_KEY"),
)
SERVERS: dict[str, Server] = {server.provider: server for server in _SERVERS}
"""Provider → the server that speaks OpenAI's chat completions."""
