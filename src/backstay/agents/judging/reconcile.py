"""Asking a tool whether an effect that an earlier process began has happened. Source: SPEC B5, T13."""

from __future__ import annotations

from backstay.core.errors import ToolError
from backstay.core.logs import logger
from backstay.core.messages import ToolResult
from backstay.core.redaction import redact
from backstay.tools.timeouts import within
from backstay.tools.tool import Tool

RECONCILE_SECONDS = 10.0
_log = logger("backstay.agents")


async def reconciled(tool: Tool | None, key: str) -> ToolResult | None:
    """What the tool's `reconcile` says of the effect under this key; None where it cannot tell, fails or is too slow.

    Args:
        tool: that the effect was begun with.
        key: its idempotency key.
    """
    ask = tool.reconcile if tool is not None else None
    if tool is None or ask is None:
        return None
    try:
        found = await within(RECONCILE_SECONDS, lambda: ask(key), tool.name)
        if found is None or isinstance(found, ToolResult):
            return found
        raise ToolError(f"reconcile returned {type(found).__name__}, expected a ToolResult or None")
    except Exception as error:  # a person is asked then, whatever went wrong
        _log.error("%s could not be reconciled, so a person is asked: %s", key, redact(str(error)))
        return None
