"""`backstay boundary rules`: the rules of a session that hold now, and the one that waits to be confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.command import Command

APP = """
from typing import Annotated
from backstay import Agent, Boundary, Constraint, Quantity, tool
from backstay.boundary import checks
from backstay.models import FunctionModel

@tool(risk="read")
def list_orders(days: Annotated[int, Quantity("days")] = 30) -> list[str]:
    "List orders. Use it when the user asks for orders."
    return []

own = Constraint.of("a week", checks.at_most(7, "days"), meaning="quantity:days", id="week", until="2001-01-01")
agent = Agent(
    FunctionModel(lambda request, ctx: "said"), name="desk", tools=[list_orders],
    boundary=Boundary(constraints=["at most 60 days", own]),
)
"""


@pytest.fixture
def desk(tmp_path: Path) -> Command:
    (tmp_path / "desk.py").write_text(APP, "utf-8")
    found = Command(tmp_path)
    said = found("run", "desk.py", "Orders please. Only the last 30 days.", "--session", "s", "--as", "ann:member")
    assert said.code == 0, said.err
    return found


def rules(desk: Command, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk("boundary", "rules", "s", *words, "--json").json["rules"]
    return found


def test_a_users_rule_is_listed_with_author_words_lifetime_and_digest(desk: Command) -> None:
    (rule,) = rules(desk)
    assert (rule["author"], rule["status"], rule["lasts"]) == ("user", "proposed", "the session")
    assert rule["text"] == "Only the last 30 days."
    said = desk("boundary", "rules", "s").out
    for word in (rule["id"], "user", "proposed", "Only the last 30 days.", "the session", rule["digest"][:12]):
        assert word in said, word
    assert "--app APP shows the rules of the agent 'desk' too" in said


def test_with_the_app_the_agents_own_stand_before_them_and_what_is_over_does_not(desk: Command) -> None:
    found = rules(desk, "--app", "desk.py")
    assert [(one["author"], one["text"], one["lasts"]) for one in found] == [
        ("developer", "at most 60 days", "as long as the app has it"),
        ("user", "Only the last 30 days.", "the session"),
    ]


def test_the_digest_of_the_block_is_the_one_on_the_spans_of_the_models(desk: Command) -> None:
    block = desk("boundary", "rules", "s", "--app", "desk.py", "--json").json["block"]
    desk("run", "desk.py", "And now?", "--session", "s", "--as", "ann:member")
    (trace, _) = desk("trace", "ls", "--json").json["traces"]
    spans = json.dumps(desk("trace", "show", trace["run_id"], "--json").json)
    assert block in spans


@pytest.mark.parametrize(("command", "what"), [("confirm", "confirmed"), ("withdraw", "withdrawn")])
def test_the_printed_commands_confirm_and_withdraw_a_rule_with_the_next_message(
    desk: Command, command: str, what: str
) -> None:
    (rule,) = rules(desk, "--app", "desk.py")[1:]
    assert rule["commands"][command] in desk("boundary", "rules", "s", "--app", "desk.py").out
    assert desk(*rule["commands"][command].split()[1:]).code == 0
    (decided,) = rules(desk)
    assert (decided["status"], decided["next"], decided["commands"]) == ("proposed", what, {})
    assert f"{rule['id']} is {what} with the session's next message" in desk("boundary", "rules", "s").out
    desk("run", "desk.py", "And now?", "--session", "s", "--as", "ann:member")
    after = [(one["id"], one["status"], one["next"], one["commands"]) for one in rules(desk)]
    assert after == ([(rule["id"], "confirmed", None, {})] if what == "confirmed" else [])


def test_a_session_without_rules_says_so(desk: Command) -> None:
    desk("run", "desk.py", "hello", "--session", "t")
    said = desk("boundary", "rules", "t")
    assert (said.code, said.out) == (0, "no rules of users\n--app APP shows the rules of the agent 'desk' too\n")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nope",), "store.not_found"),
        (("s", "--as", "eve:customer"), "store.not_found"),
        (("s", "--store", "nowhere.db"), "store.missing"),
        (("s", "--app", "other.py"), "app.agent"),
        ((), "cli.usage"),
    ],
)
def test_what_cannot_be_listed_says_why(desk: Command, words: tuple[str, ...], code: str) -> None:
    (desk.folder / "other.py").write_text(APP.replace('name="desk"', 'name="other"'), "utf-8")
    said = desk("boundary", "rules", *words)
    assert (said.code, f"code: {code}; backstay explain {code}" in said.err) == (2, True), said.err
