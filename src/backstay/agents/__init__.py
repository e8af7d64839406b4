"""Agents: the definition, the one loop, and what drives it."""

from backstay.agents.agent import Agent
from backstay.agents.decide import decide
from backstay.agents.drive import Given, drive
from backstay.agents.middleware import Middleware
from backstay.agents.result import RunResult
from backstay.agents.stream import RunStream

__all__ = ["Agent", "Given", "Middleware", "RunResult", "RunStream", "decide", "drive"]
