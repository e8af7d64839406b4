"""What a request holds that a tool needs: rules a tool out, or speaks for or against it, before meaning decides."""

from __future__ import annotations

import re
from collections.abc import Callable

from backstay.core.messages import ToolSpec
from backstay.models.embedded.arithmetic import expression_of
from backstay.models.embedded.choices import mentions_of
from backstay.models.embedded.payloads import has_mark
from backstay.models.embedded.reading import Reading
from backstay.models.embedded.slots import Slot, slots_of

_JOINED = re.compile(r",|、|\band\b|和|与")


def evidence_in(reading: Reading) -> Callable[[ToolSpec], float | None]:
    """The evidence of one request, tool by tool; see `ToolRouter.route`."""

    def evidence(spec: ToolSpec) -> float | None:
        slots = slots_of(spec)
        weights = [_slot(slot, reading) for slot in slots if slot.is_required]
        weighed = [weight for weight in weights if weight is not None]
        if len(weighed) < len(weights):
            return None
        return max(-0.4, min(0.6, sum(weighed) + _optional(slots, reading))) - _left_over(slots, reading)

    return evidence


def _optional(slots: tuple[Slot, ...], reading: Reading) -> float:
    """Something in the request that only an optional slot takes: "the last 90 days" for a look-back in days."""
    units = [slot.unit for slot in slots if slot.unit and not slot.is_required]
    return 0.15 if any(one.in_unit(unit) for unit in units for one in reading.numbers) else 0.0


def _left_over(slots: tuple[Slot, ...], reading: Reading) -> float:
    """What the request says that no slot of the tool could take up."""
    kinds = {slot.kind for slot in slots}
    if kinds & {"payload", "expression"}:
        return 0.0
    takes_numbers = bool(kinds & {"number", "integer", "pattern"})
    return (
        0.15 * (bool(reading.numbers) and not takes_numbers)
        + 0.1 * (bool(reading.times) and not kinds & {"time", "moment"})
        + 0.15 * has_mark(reading.text)
    )


def _slot(slot: Slot, reading: Reading) -> float | None:
    match slot.kind:
        case "pattern":
            return _pattern(slot, reading)
        case "expression":
            return 0.3 if expression_of(reading.text) else -0.3 if re.search(r"\d", reading.text) else None
        case "payload":
            return 0.3 if has_mark(reading.text) else 0.0
        case "choice":
            return 0.15 if mentions_of(reading.text, slot.choices) else 0.0
        case "list":
            return 0.15 if len(_JOINED.findall(reading.text)) else 0.0
        case "date":
            return 0.1 if reading.days else -0.1
        case "time":
            return 0.1 if reading.times else -0.1
        case "number" | "integer":
            return 0.1 if any(slot.amount(one) is not None for one in reading.numbers) else -0.2
    return 0.0


def _pattern(slot: Slot, reading: Reading) -> float | None:
    is_strict = "pattern" in slot.schema
    sums = [one.whole for one in reading.numbers if one.is_money or one.seconds]
    free = [span for span in reading.spans if not any(span.overlaps(place) for place in sums)]
    if any(slot.fits(span.text) for span in free if span.text.isascii()):
        return 0.3 if is_strict else 0.15
    return None if is_strict else -0.3
