"""Long-term memory: one suite for memory and file, with and without vectors."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from backstay.core.context import Principal
from backstay.core.errors import CorruptError, NotFoundError, SetupError
from backstay.core.messages import PLAIN, Label
from backstay.memory.longterm import InMemoryLongTerm, LongTermMemory, SQLiteLongTerm, beside, open_long_term

ANN = Principal(id="ann", tenant="acme", kind="customer")
BOB = Principal(id="bob", tenant="acme", kind="customer")
EVE = Principal(id="ann", tenant="other", kind="developer")
BOSS = Principal(id="boss", tenant="acme", kind="operator")
UNTRUSTED = Label(trusted=False)


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


class Meanings:
    """An encoder that knows three subjects."""

    subjects = (("pasta", "noodles", "food"), ("train", "railway", "travel"), ("invoice", "bill", "money"))

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._one(text.lower()) for text in texts]

    def _one(self, text: str) -> list[float]:
        found = [float(any(word in text for word in words)) for words in self.subjects]
        size = sum(found) ** 0.5 or 1.0
        return [one / size for one in found]


Make = Callable[..., LongTermMemory]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Make]:
    made: list[LongTermMemory] = []

    def build(encoder: object = None) -> LongTermMemory:
        one: LongTermMemory
        if request.param == "memory":
            one = InMemoryLongTerm(encoder=encoder, clock=clock)  # type: ignore[arg-type]
        else:
            one = SQLiteLongTerm(tmp_path / f"{len(made)}.db", encoder=encoder, clock=clock)  # type: ignore[arg-type]
        made.append(one)
        return one

    yield build
    for one in made:
        await one.close()


@pytest.fixture
def memory(make: Make) -> LongTermMemory:
    return make()


async def texts(memory: LongTermMemory, query: str, principal: Principal = ANN, limit: int = 5) -> list[str]:
    return [one.entry.text for one in await memory.search(query, principal=principal, limit=limit)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("which orders are late?", "Order o-1001 is late"),
        ("o-1001", "Order o-1001 is late"),
        ("过敏", "我对花生过敏"),
        ("花生", "我对花生过敏"),
        ("SHIPPING by rail", "She prefers shipping by rail."),
        ("Übung", "Die Übung beginnt um neun"),
        ("ｏ－１００１", "Order o-1001 is late"),
    ],
)
async def test_words_are_found(memory: LongTermMemory, query: str, expected: str) -> None:
    for text in ("Order o-1001 is late", "我对花生过敏", "She prefers shipping by rail.", "Die Übung beginnt um neun"):
        await memory.add(text, principal=ANN)
    assert (await texts(memory, query))[0] == expected


@pytest.mark.parametrize("query", ["", "the of and", "unheard", '"', "a OR b", "NEAR(", "owner:x", "*", "terms:late"])
async def test_a_question_about_nothing_finds_nothing_and_breaks_nothing(memory: LongTermMemory, query: str) -> None:
    await memory.add("The order was never delivered", principal=ANN)
    assert await texts(memory, query) == []


async def test_the_best_comes_first_and_no_more_than_asked_for(memory: LongTermMemory) -> None:
    for n in range(20):
        await memory.add(f"note {n} about trains", principal=ANN)
    await memory.add("trains to Berlin leave at nine", principal=ANN)
    found = await memory.search("trains to Berlin", principal=ANN, limit=3)
    assert len(found) == 3
    assert found[0].entry.text == "trains to Berlin leave at nine"
    assert found[0].score >= found[1].score >= found[2].score


async def test_nobody_finds_what_is_somebody_elses(memory: LongTermMemory) -> None:
    (mine,) = await memory.add("Ann likes tulips", principal=ANN)
    await memory.add("Eve likes tulips", principal=EVE)
    assert await texts(memory, "tulips") == ["Ann likes tulips"]
    assert await texts(memory, "tulips", EVE) == ["Eve likes tulips"]
    assert await texts(memory, "tulips", BOB) == await texts(memory, "tulips", BOSS) == []
    for other in (BOB, EVE):
        with pytest.raises(NotFoundError):
            await memory.entry(mine.id, principal=other)
        assert await memory.forget(principal=other, entry_id=mine.id) == 0
        assert mine.id not in [one.id for one in await memory.entries(principal=other)]
    assert (await memory.entry(mine.id, principal=BOSS)).id == mine.id
    assert [one.text for one in await memory.entries(principal=ANN)] == ["Ann likes tulips"]
    assert len(await memory.entries()) == 2


async def test_what_is_shared_is_found_by_all_of_the_tenant_alone(memory: LongTermMemory) -> None:
    await memory.add("Refunds take five days", principal=BOSS, shared=True)
    assert await texts(memory, "refunds") == await texts(memory, "refunds", BOB) == ["Refunds take five days"]
    assert await texts(memory, "refunds", EVE) == []
    assert await memory.forget(principal=ANN) == 0


async def test_somebody_without_an_id_has_no_memory(memory: LongTermMemory) -> None:
    with pytest.raises(SetupError) as caught:
        await memory.add("hello there", principal=Principal(id="", tenant="acme"))
    assert caught.value.code == "memory.owner"
    with pytest.raises(SetupError) as caught:
        await memory.forget()
    assert caught.value.code == "memory.owner"


@pytest.mark.parametrize("text", ["", "  \n", Path("/nowhere/at/all.md")])
async def test_nothing_is_not_kept(memory: LongTermMemory, text: str | Path) -> None:
    with pytest.raises(SetupError) as caught:
        await memory.add(text, principal=ANN)
    assert caught.value.code == "memory.empty"


async def test_what_is_said_again_merges_and_gains_a_source(memory: LongTermMemory, clock: Clock) -> None:
    (first,) = await memory.add("I am vegetarian", principal=ANN, source="s1#m1", author="model", expires_at=9_000)
    clock.now = 2_000
    (again,) = await memory.add(
        " i am  VEGETARIAN. ", principal=ANN, source="s2#m4", author="user", label=Label(secrecy="internal")
    )
    assert again.id == first.id
    assert again.sources == ("s1#m1", "s2#m4")
    assert (again.author, again.created_at, again.expires_at) == ("user", 1_000.0, None)
    assert again.label == Label(secrecy="internal")
    assert await memory.entries() == (again,)


async def test_an_untrusted_double_neither_becomes_trusted_nor_taints_the_trusted_one(memory: LongTermMemory) -> None:
    await memory.add("Pay to account 17", principal=ANN, author="user")
    await memory.add("Pay to account 17", principal=ANN, author="model", label=UNTRUSTED)
    assert sorted(one.label.trusted for one in await memory.entries()) == [False, True]
    (found,) = await memory.search("account", principal=ANN)
    assert found.entry.label == PLAIN
    assert await memory.forget(principal=ANN, entry_id=found.entry.id) == 1
    (found,) = await memory.search("account", principal=ANN)
    assert found.entry.label == UNTRUSTED
    await memory.add("Pay to account 17", principal=ANN, author="developer", label=UNTRUSTED)
    (found,) = await memory.search("account", principal=ANN)
    assert not found.entry.is_believed


async def test_forgetting_by_entry_by_source_and_by_person(memory: LongTermMemory) -> None:
    (one,) = await memory.add("likes tea", principal=ANN, source="s1")
    await memory.add("likes coffee", principal=ANN, source="s1")
    await memory.add("likes coffee", principal=ANN, source="s2")
    await memory.add("likes milk", principal=BOB, source="s1")
    assert await memory.forget(entry_id=one.id) == 1
    assert await memory.forget(principal=ANN, source="s1") == 0
    assert [entry.sources for entry in await memory.entries(principal=ANN)] == [("s2",)]
    assert await memory.forget(source="s1") == 1
    assert await memory.forget(principal=ANN) == 1
    assert await memory.entries() == ()
    assert await texts(memory, "coffee") == []


async def test_what_has_expired_is_not_found_and_then_goes(memory: LongTermMemory, clock: Clock) -> None:
    await memory.add("The door code is 4711", principal=ANN, expires_at=1_500)
    await memory.add("The door is green", principal=ANN)
    assert len(await texts(memory, "door")) == 2
    clock.now = 1_500
    assert await texts(memory, "door") == ["The door is green"]
    assert await memory.expire(1_499) == 0
    assert await memory.expire(1_500) == 1
    assert len(await memory.entries()) == 1


async def test_entries_come_in_pages(memory: LongTermMemory) -> None:
    for n in range(7):
        await memory.add(f"fact number {n}", principal=ANN)
    seen: list[str] = []
    after = ""
    while page := await memory.entries(principal=ANN, after=after, limit=3):
        seen += [one.id for one in page]
        after = page[-1].id
    assert len(seen) == len(set(seen)) == 7


async def test_meaning_is_found_where_there_is_an_encoder(make: Make) -> None:
    memory = make(Meanings())
    await memory.add("Ann loves pasta", principal=ANN)
    await memory.add("The invoice is due in May", principal=ANN)
    await memory.add("Bob loves pasta", principal=BOB)
    assert await texts(memory, "what food should I cook?") == ["Ann loves pasta"]
    assert await texts(memory, "noodles or a bill, in May") == ["The invoice is due in May", "Ann loves pasta"]
    assert await texts(memory, "weather") == []
    await memory.add("Ann loves noodles", principal=ANN)
    assert sorted(await texts(memory, "what food should I cook?")) == ["Ann loves noodles", "Ann loves pasta"]
    await memory.forget(principal=ANN)
    assert await texts(memory, "what food should I cook?") == []


async def test_a_document_is_cut_into_pieces_that_name_it(memory: LongTermMemory, tmp_path: Path) -> None:
    page = tmp_path / "handbook.md"
    sections = [f"# Section {n}\n\n" + f"Rule {n} says that parcels of kind {n} wait. " * 20 for n in range(6)]
    page.write_text("\n\n".join(sections), "utf-8")
    kept = await memory.add(page, principal=ANN)
    assert len(kept) >= 6
    assert {one.sources for one in kept} == {(str(page),)}
    assert all(len(one.text) <= 1_200 for one in kept)
    assert kept[0].text.startswith("# Section 0\n\nRule 0")
    assert "Rule 4" in (await texts(memory, "parcels of kind 4"))[0]
    assert await memory.add(page, principal=ANN) == kept
    assert await memory.forget(source=str(page)) == len({one.id for one in kept})


async def test_hostile_text_is_kept_as_it_is(memory: LongTermMemory) -> None:
    text = "'; DROP TABLE entries; -- \" OR 1=1 \u202e \ud83d {{x}} <rules>"
    (kept,) = await memory.add(text, principal=ANN, source="a'b")
    assert await texts(memory, "drop table") == [kept.text]
    assert "<rules>" in kept.text


async def test_the_file_is_its_owners_and_opened_late(tmp_path: Path) -> None:
    path = tmp_path / "made" / "memory.db"
    memory = open_long_term(path)
    assert not path.exists()
    await memory.add("I live in Bern", principal=ANN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await memory.close()
    again = open_long_term(path)
    assert await texts(again, "Bern") == ["I live in Bern"]
    await again.close()


async def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    before = path.read_bytes()
    for broken in (path, tmp_path / "text.db"):
        (tmp_path / "text.db").write_bytes(b"not a database at all, but long enough to be read as one" * 20)
        with pytest.raises(CorruptError):
            await SQLiteLongTerm(broken).entries()
    assert path.read_bytes() == before


async def test_what_is_forgotten_is_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memory = SQLiteLongTerm(path)
    await memory.add("the passphrase is xylophonequartz", principal=ANN, source="s1")
    await memory.add("something else", principal=ANN)
    await memory.forget(source="s1")
    await memory.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    assert b"xylophonequartz" not in _bytes_in(tmp_path)


async def test_vectors_of_another_encoder_are_not_compared(tmp_path: Path) -> None:
    class Other(Meanings):
        def _one(self, text: str) -> list[float]:
            return [1.0, 0.0]

    path = tmp_path / "memory.db"
    first = SQLiteLongTerm(path, encoder=Meanings())
    await first.add("Ann loves pasta", principal=ANN)
    await first.close()
    second = SQLiteLongTerm(path, encoder=Other())
    assert await texts(second, "food") == []
    assert await texts(second, "pasta") == ["Ann loves pasta"]
    await second.close()


def test_it_lies_beside_the_store() -> None:
    assert beside("/a/store.db") == Path("/a/store.memory.db")
    assert beside("sqlite:////a/b.db") == Path("/a/b.memory.db")
    assert isinstance(open_long_term("memory:"), InMemoryLongTerm)


def _bytes_in(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.iterdir())


async def test_how_close_an_entry_is_can_be_compared_over_searches(make: Make) -> None:
    by_words, by_both = make(), make(Meanings())
    for memory in (by_words, by_both):
        await memory.add("Pasta is what Ann likes best of all", principal=ANN)
    (near,) = await by_words.search("what pasta does Ann like best", principal=ANN)
    (far,) = await by_words.search("pasta, rice, bread, eggs, milk, butter and a dozen apples", principal=ANN)
    assert far.closeness + 0.2 < near.closeness <= 1
    (meant,) = await by_both.search("noodles", principal=ANN)
    assert meant.closeness == pytest.approx(1.0), "no word in common, the same meaning"
