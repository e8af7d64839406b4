"""What was recorded is said again: the same request of another day, in the same pieces, without a credential."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backstay import Agent, tool
from backstay.core.errors import ModelError, SetupError
from backstay.core.events import ModelDelta
from backstay.models import FunctionModel, RecordingModel, ReplayModel, ScriptedModel, call
from desk import Desk, propose

KEY = "sk-abcdefghijklmnopqrstuvwx"


async def streamed(agent: Agent[Any], text: str = "go") -> tuple[Any, list[Any]]:
    async with agent.run_stream(text) as stream:
        pieces = [one.delta async for one in stream if isinstance(one, ModelDelta)]
        return await stream.result(), pieces


def desk(model: Any) -> Agent[Any]:
    return Agent(model, name="desk", tools=Desk().tools())


@pytest.mark.parametrize("lines", [
    (call("find_order", order_id="1001"), "It is lost."),
    (propose(), "A person decides."),
    (call("list_orders", days=300), call("nobody"), "Many."),
])  # fmt: skip
async def test_a_run_of_another_day_is_the_same(tmp_path: Path, lines: tuple[Any, ...]) -> None:
    path = tmp_path / "said.jsonl"
    told, pieces = await streamed(desk(RecordingModel(ScriptedModel(*lines), path)))
    again, more = await streamed(desk(ReplayModel(path)))
    assert (again.status, again.output, again.usage) == (told.status, told.output, told.usage)
    assert more == pieces
    assert (await desk(ReplayModel(path)).run("go")).output == told.output


async def test_what_was_recorded_whole_is_streamed_too(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    await desk(RecordingModel(ScriptedModel("one two three four"), path)).run("go")
    _, pieces = await streamed(desk(ReplayModel(path)))
    assert "".join(one.text for one in pieces) == "one two three four"


async def test_the_difference_is_named(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    await desk(RecordingModel(ScriptedModel("hi"), path)).run("go to the shop")
    result = await desk(ReplayModel(path)).run("go to the moon")
    assert (result.status, result.code) == ("failed", "model.not_recorded")
    assert "line 1" in result.reason
    assert 'recorded "go to the shop", asked "go to the moon"' in result.reason


async def test_an_argument_named_id_is_no_id_of_ours(tmp_path: Path) -> None:
    @tool(risk="read")
    async def look(id: str) -> dict[str, str]:
        """Look. Use it when asked."""
        return {"id": id}

    path = tmp_path / "said.jsonl"
    await Agent(RecordingModel(ScriptedModel(call("look", id="1"), "one"), path), tools=[look]).run("go")
    other = Agent(FunctionModel(lambda _r, ctx: call("look", id="2") if ctx.step == 1 else ""), tools=[look])
    heard: list[Any] = []
    other.on("model.start", heard.append)
    await other.run("go")
    ctx: Any = None
    with pytest.raises(ModelError, match="does not hold"):
        await ReplayModel(path).request(heard[1].request, ctx)


async def test_no_credential_is_written_and_its_place_is_equal_in_every_process(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    await streamed(desk(RecordingModel(ScriptedModel(f"your key is {KEY}"), path)), f"my key is {KEY}")
    assert KEY not in path.read_text()
    assert not any(piece in path.read_text() for piece in (KEY[:12], KEY[-12:]))
    line = json.loads(path.read_text())
    assert "[redacted]" in json.dumps(line["request"])
    assert "redacted" in (await desk(ReplayModel(path)).run(f"my key is {KEY}")).output


async def test_equal_requests_are_answered_in_their_order_and_then_with_the_last(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    for said in ("first", "second"):
        await desk(RecordingModel(ScriptedModel(said), path)).run("go")
    model = ReplayModel(path)
    assert [(await desk(model).run("go")).output for _ in range(3)] == ["first", "second", "second"]


async def test_errors_are_recorded_too(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    error = ModelError("no credit", retryable=False, code="model.quota")
    await desk(RecordingModel(ScriptedModel(error), path)).run("go")
    result = await desk(ReplayModel(path)).run("go")
    assert (result.code, result.reason) == ("model.quota", "no credit")


@pytest.mark.parametrize("text", ["x", "{}", '{"v": 9, "digest": "d", "reply": {}}', '{"v": 1, "digest": "d"}', "[]"])
def test_a_file_that_is_none_is_said_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text(text)
    with pytest.raises(SetupError, match="line 1") as raised:
        ReplayModel(path)
    assert raised.value.code == "model.recording"
    with pytest.raises(SetupError, match="cannot be read"):
        ReplayModel(tmp_path / "nowhere.jsonl")


async def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    (tmp_path / "said.jsonl").write_text("")
    assert "no recorded request" in (await desk(ReplayModel(tmp_path / "said.jsonl")).run("go")).reason


def test_every_client_that_reaches_another_machine_knows_the_switch() -> None:
    """A module of models/ that sends anything over the network has to ask BACKSTAY_NO_NETWORK before."""
    import backstay.models

    room = Path(backstay.models.__file__).parent
    clients = {
        path: path.read_text()
        for path in room.rglob("*.py")
        if any(
            f"import {name}" in path.read_text()
            for name in ("httpx2", "httpx", "openai", "anthropic", "urllib.request")
        )
    }
    assert clients
    assert [path.name for path, text in clients.items() if "BACKSTAY_NO_NETWORK" not in text] == []
