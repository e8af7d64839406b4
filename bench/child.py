"""One scenario in a process of its own: `python -m bench.child NAME` prints its rows as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module

from bench.scenarios import MODULE_OF


def main(name: str) -> None:
    """Run the scenario and print what it found on the last line."""
    module = import_module(f"bench.scenarios.{MODULE_OF[name]}")
    print(json.dumps([asdict(row) for row in getattr(module, name)()]))


if __name__ == "__main__":
    main(sys.argv[1])
