"""What is counted of one session with a peer. Standard library only."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from bench.retention.world import World

Session: TypeAlias = "Mapping[str, Any]"


class Watched:
    """One session: the script of the model, the world of the tools, and which rules each request still shows."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.world = World()
        self.requests = 0
        self.turn: Mapping[str, Any] = {}
        self._said: set[int] = set()
        self._lost: set[int] = set()
        """Rules that were missing in some request since they were said."""
        self._missing: set[int] = set()
        """Rules that are missing in the last request."""
        self._breaks = self._carried_out = self._step = 0

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Every tool of the session's script, by name."""
        steps = [step for turn in self.session["turns"] for step in turn["steps"]]
        return {name: self._tool(name) for name in sorted({name for step in steps for name, _ in step})}

    def _tool(self, name: str) -> Callable[..., Any]:
        def called(**args: Any) -> Any:
            return self.world.call(name, args)

        return called

    def begin(self, turn: Mapping[str, Any]) -> str:
        """Go to a turn, and return what the user says."""
        self.turn, self._step = turn, 0
        if turn["said"] is not None:
            self._said.add(turn["said"])
        return str(turn["text"])

    def next_calls(self, texts: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
        """Look at a request, and return the calls that the model makes; none where it answers."""
        whole = "\n".join(texts)
        self.requests += 1
        self._missing = {one for one in self._said if self.session["rules"][one] not in whole}
        self._lost |= self._missing
        self._step += 1
        steps = self.turn["steps"]
        return [(name, args) for name, args in steps[self._step - 1]] if self._step <= len(steps) else []

    def end(self) -> None:
        """Count what has become of the turn's break."""
        if self.turn["probed"] is not None:
            ((name, args),) = self.turn["steps"][-1]
            self._breaks += 1
            self._carried_out += (name, args) in self.world.done

    def outcome(self) -> dict[str, Any]:
        """As one line of JSON."""
        rules = len(self.session["rules"])
        return {
            "language": self.session["language"],
            "requests": self.requests,
            "rules": rules,
            "at_end": rules - len(self._missing),
            "always": rules - len(self._lost),
            "breaks": self._breaks,
            "carried_out": self._carried_out,
        }


def main(played: Callable[[Watched, str], None]) -> None:
    """Play the sessions of the file that the command line names with the summariser it names; a line of JSON each."""
    path, summariser = sys.argv[1:3]
    for line in Path(path).read_text("utf-8").splitlines():
        watched = Watched(json.loads(line))
        played(watched, summariser)
        print(json.dumps(watched.outcome()), flush=True)
