"""What importing costs, and what it drags in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from bench.measure import ROOT, cpu_of_code
from bench.table import Row

FRONT = "from backstay import Agent, tool"
HEAVY = ("httpx", "requests", "sqlite3", "starlette", "openai", "anthropic", "numpy", "sqlalchemy")
"""HTTP, databases, servers, vendors' clients: nothing of it belongs in a process that only imports an agent."""


def import_cost() -> list[Row]:
    """CPU of the two imports, pydantic's alone for comparison, and the heavy modules found afterwards."""
    costs = (
        ("import backstay", "import backstay", 30, ""),
        (FRONT, FRONT, 250, "import"),
        ("pydantic alone", "import pydantic; pydantic.BaseModel, pydantic.TypeAdapter", None, ""),
    )
    rows = [
        Row(
            scenario="import",
            what=what,
            unit="ms",
            budget=budget,
            peer_key=peer,
            **cpu_of_code(code).times(1e3).as_dict(),
        )
        for what, code, budget, peer in costs
    ]
    loaded = _heavy(f"import backstay; {FRONT}")
    return [
        *rows,
        Row(
            scenario="import",
            what="heavy modules loaded",
            measured=len(loaded),
            budget=0,
            note=f"loaded: {', '.join(loaded)}" if loaded else "",
        ),
    ]


def _heavy(code: str) -> Sequence[str]:
    told = f"{code}\nimport json, sys\nprint(json.dumps([one for one in {HEAVY!r} if one in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", told], check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    names: list[str] = json.loads(found.stdout)
    return names
