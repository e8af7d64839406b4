"""Models: the protocol, the assembler, and the models that need no model."""

from backstay.models.assembler import Assembler, parse_call
from backstay.models.model import ChatModel, ModelProfile, Price
from backstay.models.names import resolve
from backstay.models.scripted import FunctionModel, Line, ScriptedModel, call

__all__ = [
    "Assembler",
    "ChatModel",
    "FunctionModel",
    "Line",
    "ModelProfile",
    "Price",
    "ScriptedModel",
    "call",
    "parse_call",
    "resolve",
]
