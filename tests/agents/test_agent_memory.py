"""An agent with a memory of its own: its requests show what that keeps of the session, inside the model's window."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from backstay import Agent, Principal, SlidingMemory, SummarizeMemory, TokenMemory
from backstay.agents.drive import live
from backstay.agents.state import SessionState
from backstay.core.errors import MemoryConfigError, NotFoundError
from backstay.core.events import MemoryFold
from backstay.core.messages import Message, ModelRequest
from backstay.memory import TokenHandlers, UnconstrainedMemory
from backstay.memory.counting import message_tokens, request_tokens
from backstay.memory.history import make_valid
from backstay.memory.log import Log
from backstay.models import FunctionModel
from backstay.models.model import ModelProfile
from backstay.store.memory import MemoryStore
from backstay.store.protocol import RunStore
from watched import Watched as WithAnyRoom

ROOMY = ModelProfile(family="x", window=100_000, keeps_notes=False)


class Watched(WithAnyRoom):
    """With plenty of room."""

    def __init__(self, *, profile: ModelProfile = ROOMY, **more: Any) -> None:
        super().__init__(profile=profile, size=20, **more)


def history(request: ModelRequest) -> list[Message]:
    return [one for one in request.messages if one.id not in ("system", "memory")]


async def test_a_sliding_memory_shows_the_newest_units_and_the_store_has_all(store: RunStore) -> None:
    watched = Watched(memory=SlidingMemory(max_units=4), constraints=("only the last 30 days",))
    await watched.turns(12, store)
    for number, request in enumerate(watched.requests):
        messages = history(request)
        assert make_valid(messages) == tuple(messages)
        assert f"turn {number // 2}: where is it?" in [one.text for one in messages]
        assert "<rules>" in request.messages[0].text
        assert len([one for one in messages if one.role != "tool"]) <= 4
    assert [one.role for one in history(watched.requests[-1])] == [
        *("assistant", "tool"),
        "assistant",
        "user",
        *("assistant", "tool"),
    ]
    assert "<summary>\n" not in str(watched.requests[-1].messages)
    assert "recall" not in [one.name for one in watched.requests[-1].tools], "nothing names what it could read"
    records = [one for page in (0, 200) for one in await store.read("s", after=page, limit=200)]
    assert len([one for one in records if one.kind == "input"]) == 12
    folds = [one for one in watched.events if isinstance(one, MemoryFold)]
    assert {one.by for one in folds} == {"memory"}
    assert all(one.after < one.before for one in folds)


async def test_a_snapshot_and_what_follows_show_the_same(store: RunStore) -> None:
    watched = Watched(memory=SlidingMemory(max_units=4))
    await watched.turns(20, store)
    records = [one for page in range(0, 400, 200) for one in await store.read("s", after=page, limit=200)]
    loaded = await store.load("s")
    assert len(loaded) < len(records) * 0.6, "what is not shown is not loaded"
    whole, quick = SessionState("s"), SessionState("s")
    for record in records:
        whole.fold(record)
    quick.load(loaded)
    assert quick.log.shown() == whole.log.shown()
    assert (quick.log.at, quick.has_refs) == (whole.log.at, whole.has_refs)


@pytest.mark.parametrize(
    "memory",
    [
        SlidingMemory(max_units=3),
        TokenMemory(400, threshold=1.0),
        TokenMemory(400, handlers=TokenHandlers(estimate=lambda one: message_tokens(one) + 3)),
        SummarizeMemory(max_tokens=400, keep_units=1),
    ],
    ids=lambda one: type(one).__name__,
)
async def test_a_resume_sends_the_same_bytes(memory: Any, store: RunStore) -> None:
    requests: list[tuple[Message, ...]] = []
    asked = asyncio.Event()

    async def model(request: ModelRequest, _ctx: Any) -> str:
        requests.append(request.messages)
        if len(requests) == 9:
            asked.set()
            await asyncio.Event().wait()
        return "an answer of some length " * 8

    agent = Agent(FunctionModel(model, profile=ROOMY), memory=memory, name="a")
    for number in range(8):
        await agent.run(f"turn {number} " * 12, session="s", store=store)
    task = asyncio.ensure_future(agent.run("the last turn", session="s", store=store))
    await asked.wait()
    live.leave("Ctrl-C")
    left = await task
    done = await agent.resume(left.run_id, store=store)
    assert done is not None
    assert done.status == "done"
    assert requests[8] == requests[9]
    assert len(requests[8]) < 18


async def test_any_number_of_conversations_share_it() -> None:
    watched, store = Watched(memory=SlidingMemory(max_units=3)), MemoryStore()
    await asyncio.gather(*(watched.turns(6, store, session=f"s{n}") for n in range(5)))
    for number in range(5):
        state = SessionState(f"s{number}")
        state.load(await store.load(f"s{number}"))
        assert state.log.end - state.log.at.folded in (3, 4)


async def test_a_token_memory_holds_no_more_than_it_may(store: RunStore) -> None:
    watched = Watched(memory=TokenMemory(600, threshold=0.5))
    await watched.turns(12, store)
    sizes = [sum(map(message_tokens, history(one))) for one in watched.requests]
    assert max(sizes) <= 300
    assert sizes[-1] > 150


async def test_a_memory_that_sums_up_writes_notes_by_its_own_function() -> None:
    asked: list[str] = []

    async def summarise(request: ModelRequest) -> str:
        asked.append(request.messages[1].text)
        return "- notes of the program"

    watched, store = Watched(memory=SummarizeMemory(summarise, max_tokens=3_000, threshold=0.2)), MemoryStore()
    await watched.turns(12, store)
    assert asked
    summary = watched.requests[-1].messages[1]
    assert summary.text.startswith("<summary>")
    assert "- notes of the program" in summary.text
    assert "order_id O-1," in summary.text, "identifiers stand beside whatever notes"
    assert "recall" in [one.name for one in watched.requests[-1].tools]


@pytest.mark.parametrize("said", ["raise", ""])
async def test_a_function_that_writes_no_notes_loses_nothing(said: str) -> None:
    async def summarise(_request: ModelRequest) -> str:
        if said == "raise":
            raise RuntimeError("out of order")
        return said

    watched, store = Watched(memory=SummarizeMemory(summarise, max_tokens=3_000, threshold=0.2)), MemoryStore()
    await watched.turns(12, store)
    summary = watched.requests[-1].messages[1].text
    assert "find_order gave" in summary
    assert "order_id O-1," in summary
    assert {one.by for one in watched.events if isinstance(one, MemoryFold)} == {"rules"}


async def test_without_a_function_the_agents_summariser_writes() -> None:
    profile, store = replace(ROOMY, keeps_notes=True), MemoryStore()
    watched = Watched(profile=profile, memory=SummarizeMemory(max_tokens=3_000, threshold=0.2))
    await watched.turns(8, store)
    assert "- notes of the model" in watched.requests[-1].messages[1].text
    assert {one.by for one in watched.events if isinstance(one, MemoryFold)} == {"model"}


@pytest.mark.parametrize("memory", [SlidingMemory(500), UnconstrainedMemory(), TokenMemory(90_000)])
async def test_the_models_window_has_the_last_word(memory: Any) -> None:
    small = ModelProfile(family="x", window=3_000, keeps_notes=False)
    watched, store = Watched(profile=small, memory=memory), MemoryStore()
    await watched.turns(30, store)
    assert max(map(request_tokens, watched.requests)) <= 3_000 - 512
    assert any(one.text.startswith("<summary>") for one in watched.requests[-1].messages)


class Nothing:
    """A policy of the program's own that would show nothing at all."""

    summing = None

    async def first(self, log: Log) -> int:
        return log.end + 5


async def test_the_newest_unit_and_the_last_message_of_the_user_are_shown_whatever_a_policy_says() -> None:
    watched, store = Watched(memory=Nothing()), MemoryStore()
    await watched.turns(3, store)
    assert [[one.role for one in history(request)] for request in watched.requests] == [
        ["user"],
        ["user", "assistant", "tool"],
    ] * 3


async def test_a_counter_that_fails_ends_the_run_and_says_so() -> None:
    def tokenize(_messages: Any) -> list[int]:
        raise RuntimeError("no table")

    memory = TokenMemory(100, sync_threshold=0, handlers=TokenHandlers(tokenize=tokenize))
    failed = await Watched(memory=memory).agent.run("hello there")
    assert (failed.status, failed.code) == ("failed", "memory.config")
    assert "RuntimeError: no table" in failed.reason


async def test_another_memory_is_another_version() -> None:
    def one(memory: Any = None) -> str:
        return Watched(memory=memory).agent.definition.digest

    kinds = [one(), one(SlidingMemory(3)), one(SlidingMemory(4)), one(TokenMemory(9)), one(SummarizeMemory)]
    assert len(set(kinds)) == 5
    assert one(SlidingMemory(3)) == kinds[1]
    with pytest.raises(MemoryConfigError):
        one("sliding")


async def test_a_conversation_can_be_looked_at_and_not_written_to(store: RunStore) -> None:
    watched = Watched(memory=SlidingMemory(max_units=3))
    ann, bob = Principal(id="ann", kind="customer"), Principal(id="bob", kind="customer")
    for number in range(5):
        await watched.agent.run(f"turn {number}: where is it?", session="s", principal=ann, store=store)
    memory = await watched.agent.memory("s", principal=ann, store=store)
    assert [one.text for one in memory if one.role == "user"] == ["turn 4: where is it?"]
    assert any("turn 0: where is it?" in one.text for one in memory), "as the goal of the working memory"
    with pytest.raises(MemoryConfigError) as refused:
        await memory.add(memory.messages[0])
    assert refused.value.code == "memory.read_only"
    for session, who in (("s", bob), ("nowhere", None)):
        with pytest.raises(NotFoundError):
            await watched.agent.memory(session, principal=who, store=store)
