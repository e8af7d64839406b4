"""Traces: what happened, as rows in the store, found again by trace or run."""

from backstay.trace.recorder import Recorder

__all__ = ["Recorder"]
