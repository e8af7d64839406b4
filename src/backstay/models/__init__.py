"""Models: the protocol, the assembler, and the models that need no model, or another one.

Those that only some programs use are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from backstay.models.assembler import Assembler, parse_call
from backstay.models.fallback import FallbackModel
from backstay.models.model import ChatModel, ModelProfile, Price
from backstay.models.names import resolve
from backstay.models.scripted import FunctionModel, Line, ScriptedModel, call

if TYPE_CHECKING:
    from backstay.models.rates import RateLimit, RateLimitedModel
    from backstay.models.recording import RecordingModel, ReplayModel

_MODULE_OF = {
    "RateLimit": "backstay.models.rates",
    "RateLimitedModel": "backstay.models.rates",
    "RecordingModel": "backstay.models.recording",
    "ReplayModel": "backstay.models.recording",
}

__all__ = [
    "Assembler",
    "ChatModel",
    "FallbackModel",
    "FunctionModel",
    "Line",
    "ModelProfile",
    "Price",
    "RateLimit",
    "RateLimitedModel",
    "RecordingModel",
    "ReplayModel",
    "ScriptedModel",
    "call",
    "parse_call",
    "resolve",
]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'backstay.models' has no attribute {name!r}")
    return getattr(import_module(module), name)
