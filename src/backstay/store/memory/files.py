"""The files of a process's sessions: bytes once for each digest, however many sessions hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from backstay.core.messages import Artifact
from backstay.store import checks


@dataclass(slots=True)
class _Blob:
    data: bytes
    holders: int = 0


@dataclass(slots=True)
class Files:
    """Handles by session, and the bytes they stand for."""

    handles: dict[str, dict[str, tuple[Artifact, str]]] = field(default_factory=dict)
    """Session → handle → what is known of it, and the digest of its bytes."""
    blobs: dict[str, _Blob] = field(default_factory=dict)

    def keep(self, session_id: str, files: Iterable[tuple[Artifact, bytes]]) -> None:
        """Keep files for a session; one that is there already gets the stricter label."""
        held = self.handles.setdefault(session_id, {})
        for artifact, data in files:
            old = held.get(artifact.ref)
            if old is not None:
                held[artifact.ref] = checks.relabelled(old[0], artifact.label), old[1]
                continue
            digest = hashlib.sha256(data).hexdigest()
            self._hold(held, artifact, digest, data)

    def get(self, session_id: str, ref: str) -> tuple[Artifact, bytes]:
        """A file of a session, or NotFoundError."""
        found = self.handles.get(session_id, {}).get(ref)
        if found is None:
            raise checks.no_artifact(ref)
        return found[0], self.blobs[found[1]].data

    def copy(self, source: str, target: str) -> None:
        """Let another session hold all that one holds."""
        held = self.handles.setdefault(target, {})
        for artifact, digest in self.handles.get(source, {}).values():
            self._hold(held, artifact, digest, self.blobs[digest].data)

    def drop(self, session_id: str) -> None:
        """Forget a session's files, and bytes that nobody holds any more."""
        for _, digest in self.handles.pop(session_id, {}).values():
            blob = self.blobs[digest]
            blob.holders -= 1
            if not blob.holders:
                del self.blobs[digest]

    def _hold(self, held: dict[str, tuple[Artifact, str]], artifact: Artifact, digest: str, data: bytes) -> None:
        blob = self.blobs.setdefault(digest, _Blob(data))
        blob.holders += 1
        held[artifact.ref] = artifact, digest
