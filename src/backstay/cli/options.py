"""Options that several commands share, and the store they name."""

from __future__ import annotations

import getpass
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, TypeAlias, get_args

import typer

from backstay.core.context import Principal, PrincipalKind
from backstay.core.errors import SetupError, StoreError
from backstay.models.model import ChatModel
from backstay.models.names import resolve
from backstay.store.open import open_store
from backstay.store.protocol import RunStore

DEFAULT_STORE = ".backstay/store.db"
_SQLITE = "sqlite:///"
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

StoreOption: TypeAlias = Annotated[
    str, typer.Option("--store", envvar="BACKSTAY_STORE", metavar="PATH", help="Where runs are kept.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
AppOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--app", metavar="APP", help="module:attribute or path/file.py[:attribute]; else BACKSTAY_APP."),
]
AsOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="[TENANT/]ID[:kind]", help="What this principal may see. Default: all that is in the store."
    ),
]
ModelOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="provider:model in place of the agent's own."),
]
AddressOption: TypeAlias = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Where the server of --model listens.")
]
StreamOption: TypeAlias = Annotated[
    bool | None,
    typer.Option("--stream/--no-stream", help="Print the answer as it comes. Default: on a terminal only."),
]


def usage(message: str) -> SetupError:
    """An error about the command line itself."""
    return SetupError(message, code="cli.usage")


def seconds_of(length: str) -> int | None:
    """The seconds of `30m`, `12h`, `7d` or `4w`; None for anything else."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", length)
    return None if found is None else int(found[1]) * _SECONDS[found[2]]


def model_of(name: str | None, base_url: str | None) -> ChatModel | None:
    """The model that the options name; None where they name none.

    Raises:
        AppError: what `resolve` raises.
    """
    if name is None:
        if base_url is not None:
            raise usage("--base-url goes with --model")
        return None
    return resolve(name, base_url=base_url)


def local_user() -> str:
    """Name of the user who runs this, or `local` where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "local"


def principal_of(text: str | None) -> Principal:
    """Read `[TENANT/]ID[:kind]`; without it the user of this machine, as a developer.

    Raises:
        SetupError: code `principal.kind`.
    """
    if not text:
        return Principal(id=local_user(), kind="developer")
    name, colon, kind = text.rpartition(":")
    if not colon:
        name, kind = text, "developer"
    tenant, _, id_ = name.rpartition("/")
    for known in get_args(PrincipalKind):
        if kind == known and id_:
            return Principal(id=id_, tenant=tenant, kind=known)
    raise SetupError(
        f"--as {text!r}: {kind!r} is no kind of person; write ID or ID:{'|'.join(get_args(PrincipalKind))}, with"
        " TENANT/ before the ID of a tenant's own",
        code="principal.kind",
    )


def principal_asked(text: str | None) -> Principal | None:
    """Whom a listing is for; None, which is whoever may read the file, where `--as` is left out."""
    return principal_of(text) if text else None


def absolute(store: str) -> str:
    """The store's name as it can be given from any folder."""
    if store == "memory:" or "://" in store:
        return store
    return str(Path(store).expanduser().absolute())


def _is_there(store: str) -> bool:
    """Whether a command that only reads can find something; a URL of another kind is left to `open_store`."""
    place = store.removeprefix(_SQLITE)
    return store != "memory:" and ("://" in place or Path(place).expanduser().is_file())


@asynccontextmanager
async def opened(store: str, *, must_exist: bool = True) -> AsyncIterator[RunStore]:
    """Open a store for the length of a command.

    Args:
        store: what `--store` names.
        must_exist: False for a command that may make it.

    Raises:
        StoreError: code `store.missing` for a file that is not there, and what `open_store` raises.
    """
    if must_exist and not _is_there(store):
        raise StoreError(f"there is no store at {absolute(store)}; `backstay run` makes one", code="store.missing")
    found = open_store(store)
    try:
        yield found
    finally:
        await found.close()
