"""`backstay run`, and how every command can go wrong."""

from __future__ import annotations

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from backstay.core.codes import CODES
from cli.command import Command


def test_run_prints_calls_answer_steps_tokens_and_cost(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "look tea")
    assert said.code == 0
    assert "> look(what=tea)" in said.out
    assert "< look ok in " in said.out
    assert "tea is there" in said.out
    assert "\nresult: tea is there\n" in said.out
    assert "done · 2 steps · " in said.out
    assert " tokens (" in said.out
    assert " USD · run r-" in said.out
    assert said.err == ""


def test_run_as_json_prints_one_document_and_nothing_else(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "look tea", "--json", "--session", "s1", "--stream")
    document = said.json
    assert (said.code, said.err) == (0, "")
    assert document["status"] == "done"
    assert document["output"] == "result: tea is there"
    assert document["session_id"] == "s1"
    assert document["exit_code"] == 0
    assert document["calls"][0]["name"] == "look"
    assert document["calls"][0]["args"] == {"what": "tea"}
    assert document["usage"]["input_tokens"] > 0
    assert float(document["cost_usd"]) > 0


def test_output_has_no_colour_and_is_not_wrapped_without_a_terminal(backstay: Command) -> None:
    words = "word " * 60
    said = backstay("run", "app.py:agent", words.strip())
    assert "\x1b" not in said.out
    assert "\x1b" not in said.err
    assert f"you said: {words.strip()}\n" in said.out


def test_a_stream_prints_the_answer_once(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "hello", "--stream")
    assert said.code == 0
    assert said.out.count("you said: hello") == 1


def test_a_session_goes_on(backstay: Command) -> None:
    first = backstay("run", "app.py:agent", "one", "--session", "talk", "--json").json
    second = backstay("run", "app.py:agent", "two", "--session", "talk", "--json").json
    assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]


def test_dedup_starts_at_most_one_run(backstay: Command) -> None:
    first = backstay("run", "app.py:agent", "one", "--dedup", "k", "--json").json
    second = backstay("run", "app.py:agent", "one", "--dedup", "k", "--json").json
    assert first["run_id"] == second["run_id"]
    assert second["output"] == "you said: one"


def test_the_input_can_come_from_standard_input_and_the_app_from_the_environment(backstay: Command) -> None:
    said = backstay("run", "-", stdin="from a pipe", BACKSTAY_APP="app.py:agent")
    assert said.code == 0
    assert "you said: from a pipe" in said.out


def test_the_store_can_stand_in_the_environment(backstay: Command) -> None:
    assert backstay("run", "app.py:agent", "x", BACKSTAY_STORE="other/place.db").code == 0
    assert (backstay.folder / "other/place.db").exists()
    assert backstay("trace", "ls", BACKSTAY_STORE="other/place.db").code == 0


def test_as_names_the_person(backstay: Command) -> None:
    backstay("run", "app.py:agent", "pay bo 5", "--as", "ann:customer")
    (action,) = backstay.pending()
    assert action["principal"] == {"id": "ann", "tenant": "", "kind": "customer"}
    said = backstay("run", "app.py:agent", "x", "--as", "ann:wizard")
    assert said.code == 2
    assert "code: principal.kind" in said.err
    assert "developer|operator" in said.err


def test_a_failing_tool_does_not_fail_the_run(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "fail")
    assert said.code == 0
    assert "< fail failed [tool.failed]" in said.out
    assert "the line is down" in said.out


def test_a_run_that_stops_at_a_limit_is_exit_code_1(backstay: Command) -> None:
    said = backstay("run", "app.py:looper", "go")
    assert said.code == 1
    assert "stopped [limit." in said.out


def test_what_waits_is_exit_code_3_and_shows_everything_needed_to_decide(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "pay bo 5")
    (action,) = backstay.pending()
    store = backstay.folder / ".backstay/store.db"
    command = f"backstay decide {action['id']} --approve --execute --app {backstay.folder}/app.py:agent --store {store}"
    assert said.code == 3
    assert f"Waiting for a person: {action['id']}" in said.out
    for words in (
        "pay(account=bo, euros=5)", "targets     bo", 'the user\'s words "pay [bo] 5" (message m-', "tier.high",
        "cannot be undone", "in 24 h", command,
    ):  # fmt: skip
        assert words in said.out, words
    assert not (backstay.folder / "paid.txt").exists()


def test_control_characters_of_a_model_are_spelt_out(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "pay bo 5")
    assert "because\\u001b[2Jof it" in said.out
    assert "\x1b" not in said.out


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("app.py:nobody", ["app.py has no attribute 'nobody'", "agent", "looper"]),
        ("app.py:look", ["app.py:look is a FunctionTool, not an Agent", "agent"]),
        ("gone.py", ["there is no file", "gone.py"]),
        ("no.such.module:agent", ["there is no module 'no'"]),
        ("app:nobody", ["app has no attribute 'nobody'"]),
        ("not a module", ["'not a module' is neither a module nor a .py file"]),
        ("empty.py", ["empty.py does not say which agent", "there is no Agent in it"]),
        ("two.py", ["two.py does not say which agent", "left, right"]),
    ],
)
def test_a_wrong_app_path_names_what_is_wrong_and_what_is_there(backstay: Command, path: str, words: list[str]) -> None:
    (backstay.folder / "empty.py").write_text("x = 1\n")
    (backstay.folder / "two.py").write_text(
        "from backstay import Agent\nfrom backstay.models import ScriptedModel\n"
        "left = Agent(ScriptedModel('l'), name='l')\nright = Agent(ScriptedModel('r'), name='r')\n"
    )
    said = backstay("run", path, "x")
    assert said.code == 2
    assert said.out == ""
    assert "code: app.not_found; backstay explain app.not_found" in said.err
    for one in words:
        assert one in said.err
    assert "Traceback" not in said.err
    assert not (backstay.folder / ".backstay").exists()


def test_an_app_that_fails_to_import_says_where(backstay: Command) -> None:
    (backstay.folder / "bad.py").write_text("import nosuchlib\n")
    (backstay.folder / "worse.py").write_text("x = 1\nraise ValueError('so bad')\n")
    said = backstay("run", "bad.py", "x")
    assert said.code == 2
    assert "code: app.import" in said.err
    assert "nosuchlib" in said.err
    said = backstay("run", "worse", "x")
    assert said.code == 2
    assert "ValueError: so bad" in said.err
    assert "worse.py:2" in said.err


def test_an_unknown_model_is_told_at_once(backstay: Command) -> None:
    (backstay.folder / "m.py").write_text("from backstay import Agent\nagent = Agent('nobody:gpt-9')\n")
    said = backstay("run", "m.py", "x")
    assert said.code == 2
    assert "code: model.unknown" in said.err
    assert "'nobody'" in said.err


def test_one_agent_is_found_without_an_attribute_and_from_the_files_own_folder(backstay: Command) -> None:
    (backstay.folder / "deep").mkdir()
    (backstay.folder / "deep/beside.py").write_text("WORDS = 'from beside'\n")
    (backstay.folder / "deep/solo.py").write_text(
        "from beside import WORDS\nfrom backstay import Agent\nfrom backstay.models import ScriptedModel\n"
        "whoever = Agent(ScriptedModel(WORDS), name='solo')\nsame = whoever\n"
    )
    said = backstay("run", "deep/solo.py", "x")
    assert said.code == 0
    assert "from beside" in said.out


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--nope", "app.py", "x"],
        ["nonsense"],
        ["run", "app.py"],
        ["run", "app.py", "too", "many"],
        ["pending", "--state", "sleepy"],
        ["pending", "--limit", "0"],
        ["decide", "a-1"],
        ["decide", "a-1", "--approve", "--deny"],
        ["decide", "a-1", "--deny", "--edit", "x=1"],
        ["resume", "--app", "app.py"],
        ["resume", "r-1", "--due", "--app", "app.py"],
    ],
)
def test_a_wrong_command_line_is_exit_code_2_with_a_code(backstay: Command, words: list[str]) -> None:
    said = backstay(*words)
    assert said.code == 2
    assert said.out == ""
    assert "code: cli.usage" in said.err
    assert "Traceback" not in said.err


def test_an_error_with_json_is_one_document_too(backstay: Command) -> None:
    said = backstay("run", "gone.py", "x", "--json")
    assert said.code == 2
    assert said.json["error"]["code"] == "app.not_found"
    assert said.json["exit_code"] == 2


def test_an_empty_input_is_refused(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "  ")
    assert said.code == 2
    assert "code: input.empty" in said.err


@pytest.mark.parametrize("words", [["pending"], ["trace", "ls"], ["audit", "verify"], ["decide", "a-1", "--approve"]])
def test_reading_where_there_is_no_store_makes_none(backstay: Command, words: list[str]) -> None:
    said = backstay(*words)
    assert said.code == 2
    assert "code: store.missing" in said.err
    assert not (backstay.folder / ".backstay").exists()


@pytest.mark.parametrize("words", [["pending"], ["run", "app.py:agent", "x"], ["audit", "verify"]])
def test_a_corrupt_store_is_exit_code_5_and_stays_as_it_is(backstay: Command, words: list[str]) -> None:
    place = backstay.folder / ".backstay/store.db"
    place.parent.mkdir()
    place.write_bytes(b"this is no database at all, " * 400)
    before = place.read_bytes()
    said = backstay(*words)
    assert said.code == 5
    assert "code: store.corrupt" in said.err
    assert "Traceback" not in said.err
    assert place.read_bytes() == before


def test_a_store_of_an_unknown_kind_is_a_wrong_setting(backstay: Command) -> None:
    said = backstay("run", "app.py:agent", "x", "--store", "oracle://host/db")
    assert said.code == 2
    assert "code: store.url" in said.err


def test_unknown_ids_are_exit_code_2(backstay: Command) -> None:
    backstay("run", "app.py:agent", "x")
    for words in (
        ["decide", "a-none", "--approve"],
        ["resume", "r-none", "--app", "app.py"],
        ["trace", "show", "none"],
    ):
        said = backstay(*words)
        assert said.code == 2, words
        assert "code: store.not_found" in said.err
        assert "none" in said.err


def test_debug_shows_the_traceback(backstay: Command) -> None:
    said = backstay("run", "gone.py", "x", BACKSTAY_DEBUG="1")
    assert said.code == 2
    assert "Traceback" in said.err
    assert "code: app.not_found" in said.err


def test_version_help_and_exit_codes(backstay: Command) -> None:
    assert backstay("--version").out.startswith("backstay 0.")
    said = backstay("--help")
    assert said.code == 0
    assert "130  Ctrl-C" in said.out
    for command in ("run", "pending", "decide", "resume", "trace", "audit", "explain"):
        assert command in said.out
        assert backstay(command, "--help").code == 0


def test_explain_knows_every_code_and_the_nearest_to_a_misspelt_one(backstay: Command) -> None:
    said = backstay("explain", "action.expired")
    assert said.code == 0
    assert CODES["action.expired"].do in said.out
    assert set(backstay("explain", "--json").json["codes"]) == set(CODES)
    said = backstay("explain", "action.expird")
    assert said.code == 2
    assert "perhaps action.expired" in said.err
    assert "code: code.unknown" in said.err


def _await(path: Path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} never came"
        time.sleep(0.02)


def test_ctrl_c_is_130_and_leaves_a_run_that_can_be_resumed(backstay: Command) -> None:
    with backstay.start("run", "app.py:agent", "slow", "--session", "s") as process:
        _await(backstay.folder / "started")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, (out, err)
    command = next(line for line in out.splitlines() if line.startswith("go on with: backstay resume r-"))
    (backstay.folder / "go").touch()
    said = backstay(*command.removeprefix("go on with: backstay ").split())
    assert said.code == 0
    assert "slow but done" in said.out


def test_resume_waits_for_the_lease_of_a_process_on_another_machine(backstay: Command) -> None:
    with backstay.start("run", "app.py:agent", "slow") as process:
        _await(backstay.folder / "started")
        process.kill()
        process.communicate(timeout=20)
    with closing(sqlite3.connect(backstay.folder / ".backstay/store.db")) as db, db:
        ((run_id,),) = db.execute("SELECT run_id FROM runs").fetchall()
        db.execute("UPDATE sessions SET until = ?, owner = 'another machine'", (time.time() + 4,))
    (backstay.folder / "go").touch()
    said = backstay("resume", run_id, "--app", "app.py:agent")
    assert said.code == 0
    assert "its session is held; waiting up to" in said.err
    assert "slow but done" in said.out
