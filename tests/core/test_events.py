"""The emitter: typed, ordered, cheap where nobody listens, and never fatal."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from backstay.core.events import Emitter, Event, ModelDelta, RunAnswer, ToolStart
from backstay.core.messages import Delta, ToolCall

HEAD = ("t" * 32, "s" * 16, None, "run", "agent", 1, 1, 0.0, None)


def start() -> ToolStart:
    return ToolStart(*HEAD, call=ToolCall(id="c", name="t", args={}))


def answer() -> RunAnswer:
    return RunAnswer(*HEAD, text="x")


def piece() -> ModelDelta:
    return ModelDelta(*HEAD, delta=Delta("text", 0, "x"))


def test_listeners_hear_by_class_name_star_and_predicate_in_their_order() -> None:
    emitter, heard = Emitter(), list[tuple[str, str]]()
    emitter.on(ToolStart, lambda e: heard.append(("class", e.name)))
    emitter.on("tool.start", lambda e: heard.append(("name", e.name)))
    emitter.on("*", lambda e: heard.append(("star", e.name)))
    emitter.on("**", lambda e: heard.append(("stars", e.name)))
    emitter.on(lambda e: e.run_id == "run", lambda e: heard.append(("predicate", e.name)))
    emitter.on(Event, lambda e: heard.append(("any", e.name)))
    emitter(start())
    assert [how for how, _ in heard] == ["class", "name", "star", "stars", "predicate", "any"]
    heard.clear()
    emitter(answer())
    assert [how for how, _ in heard] == ["star", "stars", "predicate", "any"]
    heard.clear()
    emitter(piece())
    assert [how for how, _ in heard] == ["stars", "predicate", "any"]


def test_a_family_is_what_star_hears_of_it() -> None:
    emitter, outer, heard = Emitter(), Emitter(), list[str]()
    emitter.pipe(outer)
    emitter.on("tool.*", lambda e: heard.append(e.name))
    emitter.on("model.*", lambda e: heard.append(e.name))
    outer.on("tool.*", lambda e: heard.append(f"inner {e.name}"))
    for event in (start(), answer(), piece()):
        emitter(event)
    assert heard == ["tool.start"]
    assert not emitter.wants(ModelDelta)


@pytest.mark.parametrize(
    ("matcher", "told"),
    [
        ("run.strat", r"no event is called 'run.strat'; did you mean 'run.start'\? There are .*tool.start"),
        ("tols.*", r"did you mean 'tool\.\*'"),
        ("Tool.start", "did you mean 'tool.start'"),
        ("", r"no event is called ''\. There are"),
        ("zzzz", r"no event is called 'zzzz'\. There are"),
        ("tool.", "did you mean"),
        (ToolCall, "no event is a ToolCall"),
        (7, "7 matches no event"),
    ],
)
def test_a_matcher_that_no_event_fits_is_refused_at_once(matcher: Any, told: str) -> None:
    emitter = Emitter()
    with pytest.raises(ValueError, match=told):
        emitter.on(matcher, print)
    with pytest.raises(ValueError, match=told):
        emitter.on(matcher)
    assert emitter._subscriptions == []


def test_an_event_of_ones_own_counts_from_its_definition_on() -> None:
    class Marked:
        pass

    class Parcel(Event, Marked):
        name = "parcel.sent"

    emitter, heard = Emitter(), list[str]()
    for matcher in ("parcel.sent", "parcel.*", Marked):
        emitter.on(matcher, lambda e: heard.append(e.name))  # type: ignore[arg-type]
    emitter(Parcel(*HEAD))
    assert heard == ["parcel.sent"] * 3


def test_nobody_wants_what_nobody_listens_to() -> None:
    emitter = Emitter()
    assert not emitter.wants(ToolStart)
    off = emitter.on("tool.start", print)
    assert emitter.wants(ToolStart)
    assert not emitter.wants(RunAnswer)
    off()
    off()
    assert not emitter.wants(ToolStart)


def test_it_is_a_decorator_too() -> None:
    emitter, heard = Emitter(), list[str]()

    @emitter.on("tool.start")  # type: ignore[untyped-decorator, unused-ignore]  # `on` has two uses
    def listen(event: Event) -> None:
        heard.append(event.name)

    emitter(start())
    assert heard == ["tool.start"]
    assert callable(listen)


def test_once_is_once_even_when_the_listener_emits() -> None:
    emitter, heard = Emitter(), list[str]()

    def listen(event: Event) -> None:
        heard.append(event.name)
        emitter(start())

    emitter.on(ToolStart, listen, once=True)
    emitter(start())
    emitter(start())
    assert heard == ["tool.start"]


def test_once_with_a_predicate_waits_for_the_event_it_means() -> None:
    emitter, heard = Emitter(), list[str]()
    emitter.on(lambda e: e.name == "run.answer", lambda e: heard.append(e.name), once=True)
    for event in (start(), answer(), answer()):
        emitter(event)
    assert heard == ["run.answer"]


def test_a_listener_that_was_removed_hears_nothing_more_not_even_this_one() -> None:
    emitter, heard = Emitter(), list[str]()
    offs: list[Any] = []
    emitter.on("*", lambda _e: [off() for off in offs])
    offs.append(emitter.on("*", lambda e: heard.append(e.name)))
    emitter(start())
    assert heard == []


def test_a_listener_that_raises_is_logged_and_the_others_hear(caplog: pytest.LogCaptureFixture) -> None:
    emitter, heard = Emitter(), list[str]()
    emitter.on("*", lambda _e: 1 / 0)
    emitter.on(lambda e: e.nonsense, print)
    emitter.on("*", lambda e: heard.append(e.name))
    with caplog.at_level(logging.ERROR, "backstay.events"):
        emitter(start())
        emitter(start())
    assert heard == ["tool.start"] * 2
    assert len(caplog.records) == 4
    assert sum(bool(record.exc_text) for record in caplog.records) == 2


def test_an_async_listener_is_refused() -> None:
    async def listen(event: Event) -> None: ...

    with pytest.raises(TypeError, match="async"):
        Emitter().on("*", listen)


def test_what_is_above_hears_first_and_what_is_piped_hears_as_inner() -> None:
    order: list[str] = []
    process, agent, outer = Emitter(), Emitter(), Emitter()
    run = Emitter(process, agent)
    for name, emitter in (("process", process), ("agent", agent), ("run", run), ("outer", outer)):
        emitter.on("tool.start", lambda _e, name=name: order.append(name))
    outer.on("*", lambda _e: order.append("outer *"))
    outer.on("**", lambda _e: order.append("outer **"))
    off = run.pipe(outer)
    run(start())
    assert order == ["process", "agent", "run", "outer", "outer **"]
    off()
    order.clear()
    run(start())
    assert order == ["process", "agent", "run"]


def test_an_emitter_cannot_hear_itself() -> None:
    above = Emitter()
    one, two = Emitter(above), Emitter()
    one.pipe(two)
    for source, target in ((one, one), (two, one), (above, one)):
        with pytest.raises(ValueError, match="hear itself"):
            source.pipe(target)
    assert not one.wants(ToolStart)


def test_a_later_listener_above_is_heard() -> None:
    above, heard = Emitter(), list[str]()
    run = Emitter(above)
    assert not run.wants(ToolStart)
    above.on("*", lambda e: heard.append(e.name))
    assert run.wants(ToolStart)
    run(start())
    assert heard == ["tool.start"]


async def test_events_of_another_thread_are_heard_in_the_loops_own() -> None:
    emitter, heard, done = Emitter(), list[int](), asyncio.Event()
    emitter.bind(asyncio.get_running_loop())
    emitter.on("*", lambda _e: (heard.append(threading.get_ident()), done.set()))
    thread = threading.Thread(target=lambda: emitter(start()))
    thread.start()
    await done.wait()
    thread.join()
    assert heard == [threading.get_ident()]


def test_an_event_after_the_end_of_its_loop_is_nobodys_problem() -> None:
    emitter = Emitter()
    loop = asyncio.new_event_loop()
    emitter.bind(loop)
    emitter.on("*", print)
    loop.close()
    raised: list[BaseException] = []

    def late() -> None:
        try:
            emitter(start())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=late)
    thread.start()
    thread.join()
    assert raised == []


def test_ten_thousand_listeners_leave_nothing_behind() -> None:
    above = Emitter()
    for _ in range(10_000):
        run = Emitter(above)
        off = run.on("*", print)
        assert run.wants(ToolStart)
        off()
    assert above._subscriptions == []
    assert above._nested == []
