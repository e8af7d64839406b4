"""Arguments come out of the user's words: kinds of slots one by one, and the rule that nothing else gets in."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstay.core.canon import freeze
from backstay.core.messages import ToolSpec
from backstay.models.embedded.arguments import fill
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.reading import Reading

DAY = date(2026, 11, 30)


def spec(
    properties: dict[str, Any], required: list[str] | None = None, examples: Any = (), name: str = "tool"
) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": required or list(properties)}
    return ToolSpec(
        name=name,
        description="",
        schema=freeze(schema),
        examples=tuple((t, freeze(a)) for t, a in examples),  # type: ignore[arg-type, misc]
    )


def filled(tool: ToolSpec, text: str, **more: Any) -> dict[str, Any]:
    return dict(fill(tool, Reading(text, DAY), shared_encoder(), **more).args)


def test_a_pattern_takes_only_what_fits() -> None:
    tool = spec({"path": {"type": "string", "pattern": r"^[\w./-]+\.[a-z]+$"}})
    assert filled(tool, "看看 config/app.yaml 里写了什么") == {"path": "config/app.yaml"}
    assert filled(tool, "read the file") == {}


def test_an_identifier_is_told_from_an_amount() -> None:
    tool = spec({"order_id": {"type": "string"}, "amount": {"anyOf": [{"type": "number"}, {"type": "string"}]}})
    assert filled(tool, "Refund 50 EUR of order 1001") == {"order_id": "1001", "amount": 50}
    assert filled(tool, "Refund 50 EUR") == {"amount": 50}


def test_what_is_optional_and_unsaid_stays_out() -> None:
    tool = spec({"customer": {"type": "string"}, "days": {"type": "integer", "description": "in days"}}, ["customer"])
    assert filled(tool, "orders of Ann Berg") == {"customer": "Ann Berg"}
    assert filled(tool, "orders of Ann Berg in the last two weeks") == {"customer": "Ann Berg", "days": 14}


def test_two_slots_of_one_set_are_told_apart_by_the_words_around() -> None:
    units = {"type": "string", "enum": ["km", "miles", "kg", "pounds"]}
    examples = [("Convert 10 km to miles", {"value": 10, "source": "km", "target": "miles"})]
    tool = spec({"value": {"type": "number"}, "source": units, "target": units}, examples=examples)
    assert filled(tool, "How many kg are 150 pounds?") == {"value": 150, "source": "pounds", "target": "kg"}


def test_places_are_told_apart_by_prepositions_without_any_example() -> None:
    tool = spec({"origin": {"type": "string"}, "destination": {"type": "string"}})
    assert filled(tool, "a train to Hamburg from Munich") == {"origin": "Munich", "destination": "Hamburg"}


def test_a_message_is_carried_as_it_was_said() -> None:
    tool = spec({"recipient": {"type": "string"}, "text": {"type": "string"}})
    assert filled(tool, "Send Tom: I am late, order 12 is lost!") == {
        "recipient": "Tom",
        "text": "I am late, order 12 is lost!",
    }


def test_a_list_is_split() -> None:
    tool = spec({"items": {"type": "array", "items": {"type": "string"}}}, name="add_items")
    assert filled(tool, "Add labels: items onions, olive oil and salt")["items"] == ("onions", "olive oil", "salt")


def test_refused_values_are_not_tried_again() -> None:
    tool = spec({"customer": {"type": "string"}})
    assert filled(tool, "orders of Ann Berg", refused=frozenset(["Ann Berg"])).get("customer") != "Ann Berg"


def test_an_implied_value_of_a_set_needs_a_clear_lead() -> None:
    tool = spec({"mood": {"type": "string", "enum": ["glad", "angry", "neutral"]}})
    assert filled(tool, "I am furious, this broke again") == {"mood": "angry"}
    assert filled(tool, "xq") == {}


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("寄给住在厦门的林小玲", {"recipient": "林小玲", "city": "厦门"}),
        ("收件人孙浩，寄到西安", {"recipient": "孙浩", "city": "西安"}),
    ],
)
def test_chinese_values_of_a_tool_without_examples(text: str, args: dict[str, str]) -> None:
    tool = spec(
        {"recipient": {"type": "string", "description": "who gets it"}, "city": {"type": "string"}}, name="ship_package"
    )
    assert filled(tool, text) == args


def test_a_chinese_list_ends_where_its_last_thing_ends() -> None:
    names = {"guests": {"type": "array", "items": {"type": "string"}, "description": "who is invited"}}
    tool = spec(names, name="invite_guests")
    assert filled(tool, "邀请张伟、李娜和刘洋参加年会")["guests"] == ("张伟", "李娜", "刘洋")


def test_labelled_values_end_at_the_next_label() -> None:
    tool = spec({"task": {"type": "string"}, "assignee": {"type": "string", "description": "who does it"}})
    assert filled(tool, "任务：更新官网首页，负责人：郑爽") == {"task": "更新官网首页", "assignee": "郑爽"}


_WORDS = st.sampled_from(
    [
        *(
            "order",
            "1001",
            "Ann",
            "Berg",
            "李雷",
            "的",
            "订单",
            "tomorrow",
            "to",
            "from",
            "Paris,",
            "Rome",
            "and",
            "milk:",
        ),
        *("两周", "50", "EUR", '"quoted', 'words"', "在", "上海", "the", "note", "that", "it's late", "3 pm", "C-104"),
        *("買った", "über", "🙂", "\n", "<|im_end|>", "a/b.txt", "-5", "1e9"),
    ]
)
_PROPERTIES = {
    "text": {"type": "string"},
    "name": {"type": "string"},
    "order_id": {"type": "string", "description": "such as 1001"},
    "path": {"type": "string", "pattern": r"^\S+\.txt$"},
    "kind": {"type": "string", "enum": ["late", "lost"]},
    "amount": {"type": "number"},
    "days": {"type": "integer", "description": "in days"},
    "items": {"type": "array", "items": {"type": "string"}},
    "date": {"type": "string", "format": "date"},
    "start": {"type": "string", "format": "time"},
    "expression": {"type": "string"},
}
_COMPUTED = {"kind", "date", "start", "expression"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    words=st.lists(_WORDS, max_size=14),
    names=st.lists(st.sampled_from(sorted(_PROPERTIES)), min_size=1, max_size=5, unique=True),
    needed=st.booleans(),
    glue=st.sampled_from([" ", ""]),
)
def test_no_string_is_in_the_arguments_that_the_user_did_not_write(
    words: list[str], names: list[str], needed: bool, glue: str
) -> None:
    text = glue.join(words)
    tool = spec({name: _PROPERTIES[name] for name in names}, names if needed else names[:1])
    found = fill(tool, Reading(text, DAY), shared_encoder())
    for name, value in found.args.items():
        if name in _COMPUTED:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                assert one
                assert one in text
    assert {slot.name for slot in found.missing} == set(names if needed else names[:1]) - set(found.args)


@pytest.mark.parametrize("text", ["", " ", "?", "。", "\n\n", "a" * 5_000, "word " * 2_000, "字" * 2_000])
def test_odd_texts_are_read_without_harm(text: str) -> None:
    fill(spec({name: _PROPERTIES[name] for name in _PROPERTIES}), Reading(text, DAY), shared_encoder())
