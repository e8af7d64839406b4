"""A note to people about a pending action, and the protocol of what carries it. Source: SPEC B24."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol, TypeAlias

from backstay.agents.guard import describe
from backstay.boundary.actions import PendingAction
from backstay.core.canon import FrozenDict
from backstay.core.errors import BackstayError
from backstay.core.messages import Args
from backstay.core.printable import printable
from backstay.core.redaction import redact

NoteKind: TypeAlias = Literal["asked", "reminder", "escalation", "closed"]
_MOST = 1_000
"""Characters of what is shown of an action; all of it is behind the link."""
_TITLES: dict[str, str] = {
    "approval": "A person has to decide",
    "question": "A question",
    "narrowing": "A question",
    "in_doubt": "Did it take effect?",
    "deferred": "Waiting for the other side",
    "decision": "A person has to decide",
}
_ENDS: dict[str, str] = {
    "done": "Done",
    "refused": "Refused",
    "expired": "Expired: nobody answered in time, and it has not happened",
    "stale": "Approved, but not carried out",
    "in_doubt": "Nobody knows whether it happened",
}


class NoticeError(BackstayError):
    """A note did not arrive."""

    default_code = "notice.failed"

    @property
    def is_retryable(self) -> bool:
        """Whether the place may be reached a little later; not where nothing may be sent at all."""
        return self.code != "notice.no_network"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What people are told of one action."""

    kind: NoteKind
    action: PendingAction
    link: str = ""
    """Where it is decided; empty where the program has named no place."""

    @property
    def title(self) -> str:
        """One line: what it is about and how it stands."""
        if self.kind == "closed":
            return f"{_ENDS.get(self.action.state, self.action.state)}: {self._what}"[:200]
        again = {"reminder": "Reminder: ", "escalation": "Escalation: "}.get(self.kind, "")
        return f"{again}{_TITLES[self.action.kind]}: {self._what}"[:200]

    @property
    def text(self) -> str:
        """Some lines: the action, for whom, until when, and where to decide it."""
        one = self.action
        lines = [self.title, f"action {one.id}, run {one.run_id}, for {one.principal.id}"]
        if self.kind != "closed":
            lines.append(f"until {datetime.fromtimestamp(one.expires_at, UTC):%Y-%m-%d %H:%M} UTC")
            if one.preview:
                lines.append(one.preview)
            if any(not origin.trusted for origin in one.origins):
                lines.append("Look closely: nobody who may be believed has named some of its values.")
        elif one.decision is not None:
            lines.append(f"decided by {one.decision.by}" + (one.decision.reason and f": {one.decision.reason}"))
        if self.link:
            lines.append(self.link)
        return "\n".join(redact(printable(line))[:_MOST] for line in lines)

    @property
    def _what(self) -> str:
        said = describe(self.action.call) if self.action.call is not None else self.action.question
        return redact(printable(" ".join(said.split())))

    @property
    def document(self) -> Args:
        """The same for programs."""
        one = self.action
        return FrozenDict(
            kind=self.kind, action=one.id, action_kind=one.kind, state=one.state, run=one.run_id,
            session=one.session_id, tenant=one.principal.tenant, principal=one.principal.id, title=self.title,
            text=self.text, link=self.link, asked_at=one.asked_at, expires_at=one.expires_at,
        )  # fmt: skip


class Sink(Protocol):
    """Carries notes to people."""

    async def send(self, note: Note) -> None:
        """Send one. Raises `NoticeError`, naming the place without its secrets."""
        ...
