"""`backstay model pull | ls`: the weights of the embedded model on this machine. Source: SPEC L2, C1."""

from __future__ import annotations

from typing import Annotated

import typer

from backstay.cli.exits import DONE
from backstay.cli.options import JsonOption
from backstay.cli.printing import Printer
from backstay.models.embedded.weights import SMOLLM2, Stored
from backstay.models.embedded.weights import ls as list_weights
from backstay.models.embedded.weights import pull as pull_weights

app = typer.Typer(no_args_is_help=True, help="The weights of the embedded model.")


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="Which one, as `model ls` lists it.")] = SMOLLM2.name,
    as_json: JsonOption = False,
) -> int:
    """Fetch weights, check them against their pinned SHA-256, and keep them for use without network."""
    out = Printer(as_json=as_json)
    path = pull_weights(name)
    out.line(f"{name} is at {path}")
    out.document({"name": name, "path": str(path)})
    return DONE


@app.command()
def ls(as_json: JsonOption = False) -> int:
    """List the models that can run on this machine, and whether their weights are here."""
    out = Printer(as_json=as_json)
    found = list_weights()
    out.table(
        ("NAME", "SIZE", "LICENCE", "HERE", "PLACE"),
        [
            (one.weights.name, f"{one.weights.size / 1e6:.0f} MB", one.weights.licence, _here(one), str(one.path))
            for one in found
        ],
    )
    out.document(
        [
            {
                "name": one.weights.name,
                "bytes": one.weights.size,
                "licence": one.weights.licence,
                "is_present": one.is_present,
                "path": str(one.path),
            }
            for one in found
        ]
    )
    return DONE


def _here(one: Stored) -> str:
    return "yes" if one.is_present else "no: backstay model pull"
