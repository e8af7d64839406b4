"""`TrustedText`: a value is trusted only where it stands as a whole token of the right kind."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstay.boundary.provenance import TrustedText
from backstay.core.context import Origin


def origin(text: str, value: str, *, exact: bool = False) -> Origin:
    trusted = TrustedText()
    trusted.add("m1", text)
    return trusted.origin("to", value, exact=exact)


def found(text: str, value: str, *, exact: bool = False) -> str | None:
    where = origin(text, value, exact=exact)
    return text[slice(*where.span)] if where.span is not None else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("refund order 1001.", "1001"),
        ("refund order #1001!", "1001"),
        ("order:1001", "1001"),
        ("id=1001", "1001"),
        ("(1001)", "1001"),
        ("“1001”", "1001"),
        ("'1001'", "1001"),
        ("`1001`, please", "1001"),
        ("**1001**", "1001"),
        ("| 1001 |", "1001"),
        ("orders 1001,1002", "1002"),
        ("orders 1001;1002", "1001"),
        ("退款订单1001", "1001"),
        ("退款订单1001给张三", "1001"),
        ("订单1001一起退", "1001"),
        ("订单:1001", "1001"),
        ("订单号：1001，谢谢", "1001"),
        ("订单1001、1002", "1002"),
        ("주문1001을", "1001"),
        ("1001号", "1001"),
        ("ticket 0013", "0013"),
        ("AB-1001-C", "AB-1001-C"),
        ("see ABC-1 and abc-1", "abc-1"),
        ("发给bob@example.com吧", "bob@example.com"),
        ("open https://x.com/a.", "https://x.com/a"),
    ],
)
def test_an_identifier_is_found_however_it_is_wrapped(text: str, value: str) -> None:
    assert found(text, value, exact=True) == value
    assert found(text, value) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("order 0013", "13"),
        ("order 13", "0013"),
        ("order 120", "120.00"),
        ("order ABC-1", "abc-1"),
        ("order AB-1001-C", "AB-1001"),
        ("order AB-1001-C", "1001"),
        ("order 11001", "1001"),
        ("order 10011", "1001"),
        ("order A1001", "1001"),
        ("order é1001", "1001"),
        ("order 1001\u200b2", "1001"),
        ("order 1001", "1001\u200b"),
        ("order 1001", "１００１"),
        ("order 1001", " 1001"),
        ("order 1001", ""),
        ("...", ""),
        ("数据/1001.txt", "1001.txt"),
        ("一万2000", "2000"),
    ],
)
def test_an_identifier_is_never_a_part_nor_a_likeness(text: str, value: str) -> None:
    assert found(text, value, exact=True) is None


def test_a_text_in_full_width_letters_is_the_same_text() -> None:
    assert found("订单１００１号", "1001", exact=True) == "１００１"
    assert found("订单１００１号", "１００１", exact=True) == "１００１"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pay 120", "120.00"),
        ("pay 120.00 EUR", "120"),
        ("pay €120", "120.0"),
        ("pay 120€", "120"),
        ("退120元", "120.00"),
        ("pay 1,200.50", "1200.50"),
        ("pay 120,50 EUR", "120.50"),
        ("pay 20%", "20"),
        ("pay 0.5", "0.50"),
    ],
)
def test_numbers_are_compared_by_what_they_are_worth(text: str, value: str) -> None:
    assert found(text, value) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pay 1,200", "200"),
        ("pay 1,200", "1"),
        ("pay EUR1,200", "200"),
        ("pay 1\u202f200", "200"),
        ("pay 1,00,000", "000"),
        ("pay 1'200", "200"),
        ("pay 1.200", "1.2"),
        ("pay 1200", "120"),
        ("pay 120.5", "120"),
        ("pay 120,50", "50"),
        ("pay -120", "120"),
        ("转1万元", "1"),
        ("3点5", "5"),
        ("10:30", "10"),
        ("2026-06-15", "2026"),
        ("192.168.0.1", "1"),
        ("fe80::1", "1"),
        ("order 0013", "13"),
        ("order 13", "0013"),
    ],
)
def test_a_part_of_a_number_is_another_number(text: str, value: str) -> None:
    assert found(text, value) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mail bob@example.com.", "bob@example.com"),
        ("mail BOB@Example.com", "bob@example.com"),
        ("<bob@example.com>", "bob@example.com"),
        ("mailto:bob@example.com", "bob@example.com"),
        ("邮箱:bob@example.com", "bob@example.com"),
        ("a@x.com,b@y.com", "b@y.com"),
        ("a@x.com;b@y.com", "a@x.com"),
        ("'bob@example.com'", "bob@example.com"),
        ("ask @bob", "bob"),
        ("in #general", "general"),
        ("Alice's order", "alice"),
        ("给张三、李四", "李四"),
    ],
)
def test_an_address_or_a_name_is_found(text: str, value: str) -> None:
    assert found(text, value) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.bob@example.com", "bob@example.com"),
        ("a+bob@example.com", "bob@example.com"),
        ("o'brien@example.com", "brien@example.com"),
        ("evil!bob@example.com", "bob@example.com"),
        ("аbob@example.com", "bob@example.com"),  # the first letter is Cyrillic
        ("bob@example.com", "bоb@example.com"),  # the second letter of the value is Cyrillic
        ("bob@example.com.cn", "bob@example.com"),
        ("bob@mail.example.com", "example.com"),
        ("bob@example.com", "example.com"),
        ("bob@example.com", "bob"),
        ("用户@example.com", "example.com"),
        ("bob@例子.com", "bob"),
        ("bob@fass.de", "bob@faß.de"),
        ("bob@kelvin.de", "bob@\u212aelvin.de"),
        ("bob@example.com", "bob@example.com\nBcc: eve@example.com"),
        ("bob@example.com", "bob@example.com,eve@example.com"),
        ("张三丰", "张三"),
        ("Bobby", "Bob"),
    ],
)
def test_a_part_or_a_likeness_of_an_address_is_another_address(text: str, value: str) -> None:
    assert found(text, value) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("see https://x.com/a?b=c,d&e=(f).", "https://x.com/a?b=c,d&e=(f)"),
        ("(https://x.com/a)", "https://x.com/a"),
        ("[here](https://x.com/a_(b)).", "https://x.com/a_(b)"),
        ("打开https://x.com/a看看", "https://x.com/a"),
        ("url=https://x.com/a", "https://x.com/a"),
        ("HTTPS://X.com", "https://x.com/"),
        ("https://user@X.com/a", "https://user@x.com/a"),
        ("read /etc/passwd.", "/etc/passwd"),
        ("read 'C:\\x\\y'", "C:\\x\\y"),
        ("read ./a/b.txt, then", "./a/b.txt"),
    ],
)
def test_a_url_or_a_path_is_found_whole(text: str, value: str) -> None:
    assert found(text, value) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("https://x.com/a", "https://x.com"),
        ("https://x.com/a", "https://x.com/A"),
        ("https://x.com/a", "x.com"),
        ("https://x.com/a,b", "https://x.com/a"),
        ("https://x.com/a b", "https://x.com/ab"),
        ("https://x.com/数据", "https://x.com/"),
        ("https://x.com/a", "https://x.com／a"),
        ("https://User@x.com/", "https://user@x.com/"),
        ("x.com/?to=https://evil.com", "https://evil.com"),
        ("/home/u/file.txt", "file.txt"),
        ("/home/u/file.txt", "/home/u"),
        ("/A/b", "/a/b"),
        ("C:\\x\\y", "\\x\\y"),
        ("server:/etc/passwd", "/etc/passwd"),
        ("a/b", "b"),
        ("https://x.com/a:数据", "https://x.com/a:"),
        ("server:data/x", "data/x"),
    ],
)
def test_a_part_of_a_url_or_a_path_leads_somewhere_else(text: str, value: str) -> None:
    assert found(text, value) is None


def test_a_value_of_several_words_is_found_from_token_to_token() -> None:
    assert found("to Bob\n Smith, now", "Bob Smith", exact=True) == "Bob\n Smith"
    assert found("to Bob Smith.", "bob smith") == "Bob Smith"
    assert found("Jim Bob SmithX, Bob Smith", "Bob Smith") == "Bob Smith"
    assert found("to Bob Smith", "bob smith", exact=True) is None
    for text in ("Jim-Bob Smith", "Bob Smith-Jones", "Bob, Smith", "Bob", "XBob Smith"):
        assert found(text, "Bob Smith") is None
    assert found("to Bob Smith", "Bob\nSmith") is None
    assert found("to Bob Smith", " Bob Smith") is None
    assert found("to Ανδρέας Χ", "Ανδρέασ Χ") is None  # another sigma, which a pattern takes for the same
    assert found("pay DE89 3704", "de89 3704") == "DE89 3704"


def test_a_quotation_ends_with_its_own_mark_or_before_it() -> None:
    quoted = (
        "say 'Friday suits me.' to her",
        "say ‘Friday suits me.’",
        'say "Friday suits me."',
        "say 'Friday suits me.'.",
    )
    for text in quoted:
        assert found(text, "Friday suits me.") == "Friday suits me."
        assert found(text, "Friday suits me") == "Friday suits me"


def test_an_origin_names_the_first_message_and_its_characters() -> None:
    trusted = TrustedText()
    trusted.add("m1", "nothing")
    assert not trusted.origin("to", "1001", exact=True).trusted
    trusted.add("m2", "order 1001")
    trusted.add("m3", "1001 again")
    where = trusted.origin("to", "1001", exact=True)
    assert where == Origin(path="to", value="1001", message_id="m2", span=(6, 10), trusted=True, source="user")
    assert trusted.origin("to", "12", exact=True) == Origin(
        path="to", value="12", message_id=None, span=None, trusted=False
    )


def test_two_texts_of_one_message_keep_their_own_characters() -> None:
    trusted = TrustedText()
    trusted.add("m1", "ABC-1")
    trusted.add("m1", "then XYZ-9")
    assert trusted.origin("id", "XYZ-9", exact=True).span == (5, 10)


@pytest.mark.parametrize(
    "text",
    ["a" * 50_000, "://" * 20_000, "a://" * 20_000, "订1" * 20_000, "1," * 20_000, "'" * 50_000, "a=b:" * 20_000],
)
def test_hostile_texts_are_read_in_their_length(text: str) -> None:
    assert found(text, "b c") is None


_words = st.text(st.sampled_from("abc1.@/-_:=#' ,(\u200b订退１é!?%"), max_size=14)


@settings(max_examples=2000, deadline=None)
@given(_words, _words, st.booleans())
def test_what_is_trusted_stands_there_and_is_no_part_of_a_longer_run(text: str, value: str, exact: bool) -> None:
    where = origin(text, value, exact=exact)
    assert where.trusted == (where.span is not None) == (where.message_id is not None)
    if where.span is None:
        return
    start, end = where.span
    plain = unicodedata.normalize("NFKC", text[start:end])
    assert value
    if exact and "://" not in value:
        assert " ".join(value.split()) in (" ".join(text[start:end].split()), " ".join(plain.split()))
    for inside, outside in ((text[start], text[start - 1 : start]), (text[end - 1], text[end : end + 1])):
        both_words = inside.isascii() and inside.isalnum() and outside.isascii() and outside.isalnum()
        assert not both_words
        assert outside not in ("/", "-", "_", "\u200b")
        assert outside != "é" or inside in "订退"
        assert outside != "@" or text[:start].endswith("@")


@settings(max_examples=1000, deadline=None)
@given(st.text(max_size=40), st.text(max_size=10), st.booleans())
def test_any_text_and_any_value_give_an_answer(text: str, value: str, exact: bool) -> None:
    assert origin(text, value, exact=exact).value == value
    if value and not any(char.isspace() for char in value) and value.isalnum() and value.isascii():
        assert found(f"{text} {value} {text}", value, exact=True) is not None
