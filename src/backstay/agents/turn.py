"""What one run was asked. Source: SPEC G2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.boundary.judge import Presence
from backstay.boundary.plan import PlanStep
from backstay.boundary.policy import Limits
from backstay.core.context import Principal
from backstay.core.messages import Args, Label, Media, Message, Text
from backstay.store.records import OnBusy


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What `Agent.run` was asked; its parameters are explained there."""

    input: str | Sequence[Text | Media]
    session: str | None
    principal: Principal
    limits: Limits | None
    rules: Sequence[str]
    plan: Sequence[PlanStep]
    history: Sequence[Message]
    label: Label
    metadata: Args | None
    presence: Presence
    dedup: str | None
    on_busy: OnBusy = "queue"
