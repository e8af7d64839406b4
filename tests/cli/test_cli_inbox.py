"""`backstay pending`, `decide` and `resume`: one process asks, another decides, a third executes."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command import Command, Said

APP = ("--app", "app.py")


def ask(backstay: Command, words: str = "pay bo 5", **env: str) -> dict[str, Any]:
    backstay("run", "app.py:agent", words, **env)
    return backstay.pending()[-1]


def paid(backstay: Command) -> str:
    book = backstay.folder / "paid.txt"
    return book.read_text() if book.exists() else ""


def error(said: Said, exit_code: int, code: str) -> None:
    assert (said.code, f"code: {code}; backstay explain {code}" in said.err) == (exit_code, True), (said.out, said.err)
    assert "Traceback" not in said.err


def test_deciding_writes_a_row_and_executes_nothing_until_somebody_brings_the_app(backstay: Command) -> None:
    action = ask(backstay)
    said = backstay("decide", action["id"], "--approve", "--by", "bo", "--reason", "fine")
    assert said.code == 0
    assert "pay(account=bo, euros=5)" in said.out
    assert "NOTHING HAS RUN" in said.out
    assert paid(backstay) == ""

    approved = backstay("pending", "--state", "approved")
    assert "is approved and has NOT happened" in approved.out
    assert f"backstay resume {action['run_id']} --app APP --store {backstay.folder}/.backstay/store.db" in approved.out

    said = backstay("resume", action["run_id"], *APP)
    assert said.code == 0
    assert paid(backstay) == "bo 5\n"
    assert f"= {action['id']} is done" in said.out
    assert "told: <notice" in said.out

    again = backstay("resume", action["run_id"], *APP)
    assert again.code == 0
    assert paid(backstay) == "bo 5\n"
    (row,) = backstay.pending("all")
    assert row["state"] == "done"
    assert (row["decision"]["by"], row["decision"]["via"], row["decision"]["reason"]) == ("bo", "cli", "fine")


def test_decide_with_execute_carries_it_out_once_and_a_second_decision_does_not_stand(backstay: Command) -> None:
    action = ask(backstay)
    said = backstay("decide", action["id"], "--approve", "--execute", *APP)
    assert said.code == 0
    assert "< pay ok in " in said.out
    for answer in ("--approve", "--deny"):
        error(backstay("decide", action["id"], answer, "--execute", *APP), 4, "action.decided")
    assert paid(backstay) == "bo 5\n"


def test_a_second_decision_before_execution_says_how_to_execute_the_first(backstay: Command) -> None:
    action = ask(backstay)
    backstay("decide", action["id"], "--approve")
    said = backstay("decide", action["id"], "--deny")
    error(said, 4, "action.decided")
    assert f"backstay resume {action['run_id']}" in said.err


def test_a_refusal_is_told_to_the_agent_and_executes_nothing(backstay: Command) -> None:
    action = ask(backstay)
    said = backstay("decide", action["id"], "--deny", "--reason", "not now", "--execute", *APP)
    assert said.code == 0
    assert "A person refused pay(account=bo, euros=5): not now" in said.out
    assert paid(backstay) == ""
    assert backstay.pending("all")[0]["state"] == "refused"


@pytest.mark.parametrize("edit", [["--edit", "euros=3"], ["--edit", '{"euros": 3}']])
def test_edited_arguments_are_what_is_executed(backstay: Command, edit: list[str]) -> None:
    action = ask(backstay)
    said = backstay("decide", action["id"], "--approve", *edit, "--execute", *APP, "--json")
    assert said.code == 0
    assert said.json["action"]["decision"]["args"] == {"account": "bo", "euros": 3}
    assert paid(backstay) == "bo 3\n"


def test_an_edit_that_fits_no_argument_is_refused_before_anything_is_decided(backstay: Command) -> None:
    action = ask(backstay)
    said = backstay("decide", action["id"], "--approve", "--edit", "amount=3")
    error(said, 2, "cli.usage")
    assert "it has account, euros" in said.err
    error(backstay("decide", action["id"], "--approve", "--edit", "euros"), 2, "cli.usage")
    error(backstay("decide", action["id"], "--approve", "--edit", "{euros"), 2, "cli.usage")
    assert backstay.pending()[0]["state"] == "open"


def test_an_edit_that_is_no_valid_argument_makes_it_stale(backstay: Command) -> None:
    action = ask(backstay)
    said = backstay("decide", action["id"], "--approve", "--edit", "euros=many", "--execute", *APP)
    error(said, 4, "action.stale")
    assert paid(backstay) == ""


def test_an_approved_action_whose_tool_fails_is_exit_code_1(backstay: Command) -> None:
    action = ask(backstay, "pay broken 5")
    said = backstay("decide", action["id"], "--approve", "--execute", *APP)
    error(said, 1, "action.failed")
    assert "the bank is closed" in said.err


def test_an_expired_action_cannot_be_approved(backstay: Command) -> None:
    action = ask(backstay, ASK_SECONDS="2.5")
    time.sleep(max(0.0, action["expires_at"] - time.time()))  # a real clock, read by another process
    error(backstay("decide", action["id"], "--approve", "--execute", *APP), 4, "action.expired")
    said = backstay("resume", "--due", *APP)
    assert said.code == 0
    assert "Nobody answered in time" in said.out
    assert paid(backstay) == ""


def test_a_row_that_was_tampered_with_is_neither_listed_nor_executed(backstay: Command) -> None:
    action = ask(backstay)
    store = backstay.folder / ".backstay/store.db"
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE actions SET body = replace(body, '5', '9')")
    error(backstay("decide", action["id"], "--approve", "--execute", *APP), 4, "action.tampered")
    other = ask(backstay)
    said = backstay("pending")
    assert (said.code, action["id"] in said.out, other["id"] in said.out) == (0, False, True)
    assert action["id"] in said.err, "it is left out, and said to be"
    said = backstay("audit", "verify")
    assert (said.code, action["id"] in said.out + said.err) == (5, True)
    assert paid(backstay) == ""


def test_a_wrong_app_leaves_the_decision_unwritten(backstay: Command) -> None:
    action = ask(backstay)
    error(backstay("decide", action["id"], "--approve", "--execute", "--app", "gone.py"), 2, "app.not_found")
    error(backstay("decide", action["id"], "--approve", "--execute"), 2, "app.missing")
    error(backstay("decide", action["id"], "--approve", "--execute", "--app", "app.py:looper"), 2, "app.agent")
    assert backstay.pending()[0]["state"] == "open"


def test_an_unknown_agent_leaves_the_run_due(backstay: Command) -> None:
    action = ask(backstay)
    backstay("decide", action["id"], "--approve")
    said = backstay("resume", "--due", "--app", "app.py:looper", "--json")
    assert said.code == 2
    assert said.json["problems"][0]["code"] == "app.agent"
    error(backstay("resume", action["run_id"], "--app", "app.py:looper"), 2, "app.agent")
    said = backstay("resume", "--due", *APP, "--json")
    assert [one["status"] for one in said.json["runs"]] == ["done"]
    assert paid(backstay) == "bo 5\n"
    assert backstay("resume", "--due", *APP).out == "nothing is due\n"


def test_pending_pages_and_says_when_nothing_waits(backstay: Command) -> None:
    backstay("run", "app.py:agent", "x")
    assert backstay("pending").out == "nothing waits\n"
    assert backstay("pending", "--state", "stale").out == "no action is stale\n"
    for _ in range(2):
        ask(backstay)
    first = backstay("pending", "--limit", "1", "--json").json
    second = backstay("pending", "--limit", "1", "--after", first["after"], "--json").json
    assert first["pending"][0]["id"] < second["pending"][0]["id"]
    line = next(one for one in backstay("pending").out.splitlines() if one.startswith(first["pending"][0]["id"]))
    assert "pay(account=bo, euros=5)" in line
    assert "in 24 h" in line


def test_pending_json_carries_the_origins_and_the_commands(backstay: Command) -> None:
    action = ask(backstay)
    assert action["origins"][0] | {"message_id": "m"} == {
        "path": "account",
        "value": "bo",
        "message_id": "m",
        "span": [4, 6],
        "trusted": True,
        "source": "user",
    }
    assert action["commands"]["approve"].startswith(f"backstay decide {action['id']} --approve --execute --app APP")


def test_a_waiting_run_that_is_resumed_undecided_still_waits(backstay: Command) -> None:
    action = ask(backstay)
    said = backstay("resume", action["run_id"], *APP)
    assert said.code == 3
    assert action["id"] in said.out


def test_trace_lists_and_shows_what_happened_in_every_process(backstay: Command) -> None:
    action = ask(backstay)
    backstay("decide", action["id"], "--approve", "--execute", *APP)
    (listed,) = backstay("trace", "ls", "--json").json["traces"]
    assert (listed["run_id"], listed["ok"]) == (action["run_id"], True)
    shown = backstay("trace", "show", listed["trace_id"], "--json").json
    assert backstay("trace", "show", action["run_id"], "--json").json == shown
    tools = [(one["name"], one["via"], json.loads(one["input"])) for one in shown["spans"] if one["kind"] == "tool"]
    args = {"account": "bo", "euros": 5}
    assert tools == [("pay", "held", args), ("pay", "ran", args)]
    said = backstay("trace", "show", action["run_id"])
    assert said.code == 0
    assert "\n  model scripted:function" in said.out
    assert "\n  tool pay" in said.out
    assert "3 model requests, 2 tool calls" in said.out
    listing = backstay("trace", "ls", "--limit", "1")
    assert f"{listed['trace_id']}  {action['run_id']}  clerk" in listing.out


def test_audit_holds_and_one_changed_byte_is_found(backstay: Command) -> None:
    backstay("run", "app.py:agent", "x")
    assert backstay("audit", "verify").out == "0 chains hold\n"
    action = ask(backstay)
    backstay("decide", action["id"], "--approve", "--execute", *APP)
    said = backstay("audit", "verify")
    assert (said.code, said.out) == (0, "1 chain holds\n")
    assert backstay("audit", "verify", "--session", action["session_id"]).code == 0
    _flip(backstay.folder / ".backstay/store.db")
    said = backstay("audit", "verify")
    error(said, 5, "audit.broken")
    assert action["session_id"] in said.out
    document = backstay("audit", "verify", "--json")
    assert (document.code, document.json["exit_code"], len(document.json["problems"])) == (5, 5, 1)


def _flip(store: Path) -> None:
    """Change one character of one digest in the audit table."""
    with closing(sqlite3.connect(store)) as db, db:
        ((session, n, digest),) = db.execute("SELECT session_id, n, args_digest FROM audit LIMIT 1").fetchall()
        other = ("0" if digest[0] != "0" else "1") + digest[1:]
        db.execute("UPDATE audit SET args_digest = ? WHERE session_id = ? AND n = ?", (other, session, n))


def test_a_halt_parks_every_run_until_it_is_lifted(backstay: Command) -> None:
    backstay("run", "app.py:agent", "look tree")
    said = backstay("halt", "--agent", "clerk", "--reason", "an incident")
    assert (said.code, said.out) == (0, "the agent 'clerk' is halted\n")
    parked = backstay("run", "app.py:agent", "look tree")
    assert parked.code == 3
    assert "an incident" in parked.out
    assert backstay("resume", "--due", *APP).out == "nothing is due\n"
    assert "the agent 'clerk' since" in backstay("halt").out
    assert backstay("halt", "--lift", "--agent", "clerk").code == 0
    done = backstay("resume", "--due", *APP)
    assert "result: tree is there" in done.out
    error(backstay("halt", "--lift", "--agent", "clerk"), 2, "halt.unknown")
    error(backstay("halt", "--all", "--agent", "clerk"), 2, "cli.usage")


def test_several_are_decided_at_once_each_by_itself_with_totals(backstay: Command) -> None:
    first, second = ask(backstay, "pay bo 5"), ask(backstay, "pay cy 7")
    said = backstay("decide", first["id"], second["id"], "--approve", "--execute", *APP)
    assert said.code == 0
    assert "total: 2 of pay" in said.out
    assert paid(backstay) == "bo 5\ncy 7\n"
    third = ask(backstay, "pay di 9")
    mixed = backstay("decide", first["id"], third["id"], "--deny")
    assert (mixed.code, f"{third['id']} is refused" in mixed.out) == (4, True)
    assert "action.decided" in mixed.err


def test_the_audit_is_listed_exported_and_proved_against_what_was_exported(backstay: Command) -> None:
    action = ask(backstay)
    backstay("decide", action["id"], "--approve", "--execute", *APP)
    (chain,) = backstay("audit", "ls", "--json").json["chains"]
    assert (chain["session"], chain["rows"]) == (action["session_id"], 3)
    backstay("audit", "export", "-o", "anchor.jsonl")
    lines = [json.loads(line) for line in (backstay.folder / "anchor.jsonl").read_text().splitlines()]
    assert [line.get("kind") for line in lines] == ["decision", "begin", "end", None]
    assert lines[-1] == {"session": chain["session"], "rows": 3, "head": chain["head"]}
    assert backstay("audit", "verify", "--against", "anchor.jsonl").code == 0
    lines[-1]["head"] = "0" * 64
    (backstay.folder / "other.jsonl").write_text(json.dumps(lines[-1]) + "\n")
    error(backstay("audit", "verify", "--against", "other.jsonl"), 5, "audit.broken")
    error(backstay("audit", "verify", "--against", "app.py"), 2, "cli.usage")
