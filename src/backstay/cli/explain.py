"""`backstay explain`: what a code means and what to do about it. Source: SPEC C6."""

from __future__ import annotations

from typing import Annotated

import typer

from backstay.cli.exits import DONE
from backstay.cli.options import JsonOption
from backstay.cli.printing import Printer
from backstay.core.codes import CODES, nearest
from backstay.core.errors import SetupError


def explain(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="A code; none lists them all.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Say what a code means and what to do."""
    out = Printer(as_json=as_json)
    if code is None:
        return _all(out)
    row = CODES.get(code)
    if row is None:
        near = ", ".join(nearest(code))
        hint = f"; perhaps {near}" if near else "; `backstay explain` lists them all"
        raise SetupError(f"there is no code {code!r}{hint}", code="code.unknown")
    out.document({"code": code, "what": row.what, "do": row.do})
    out.line(code, "bold")
    out.line(f"  {row.what}")
    out.line(f"  {row.do}")
    return DONE


def _all(out: Printer) -> int:
    out.document({"codes": {code: {"what": row.what, "do": row.do} for code, row in sorted(CODES.items())}})
    out.table(["CODE", "WHAT HAPPENED"], [[code, row.what] for code, row in sorted(CODES.items())])
    return DONE
