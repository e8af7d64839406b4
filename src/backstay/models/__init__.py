"""Models: the protocol, the assembler, and the models that need no model."""

from backstay.models.assembler import Assembler, parse_call
from backstay.models.model import ChatModel, ModelProfile, cost_usd
from backstay.models.names import resolve
from backstay.models.scripted import FunctionModel, Line, ScriptedModel, call

__all__ = [
    "Assembler",
    "ChatModel",
    "FunctionModel",
    "Line",
    "ModelProfile",
    "ScriptedModel",
    "call",
    "cost_usd",
    "parse_call",
    "resolve",
]
