"""Loggers whose records hold no credential: message, arguments and traceback are redacted before any handler sees them.

Source: SPEC B20.
"""

from __future__ import annotations

import logging
import traceback

from backstay.core.redaction import redact


class _Redacting(logging.Filter):
    """Makes the text of a record once, redacted; what was it made of goes no further."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = redact("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
            record.exc_info = None
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


_REDACTING = _Redacting()


def logger(name: str) -> logging.Logger:
    """The logger of that name; tools get it as `ctx.logger`."""
    found = logging.getLogger(name)
    found.addFilter(_REDACTING)  # once, however often it is asked for
    return found
