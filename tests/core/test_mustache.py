"""Lines of a template that hold nothing but a tag, as the Mustache specification has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from backstay import PromptTemplate
from backstay.core.errors import TemplateError
from backstay.core.mustache import tags, without_lone_lines


class Data(BaseModel):
    a: str = "A"
    yes: bool = True
    no: bool = False
    rows: list[int] = [1, 2]
    inner: dict[str, bool] = {"yes": True}


def shown(text: str) -> str:
    return PromptTemplate(Data, text).render()


ALONE = {
    "a section on lines of its own": ("x\n{{#yes}}\ny\n{{/yes}}\nz\n", "x\ny\nz\n"),
    "an inverted section": ("x\n{{^no}}\ny\n{{/no}}\nz\n", "x\ny\nz\n"),
    "a section that is not shown": ("x\n{{#no}}\ny\n{{/no}}\nz\n", "x\nz\n"),
    "indented": ("x\n  {{#yes}}\n  y\n  {{/yes}}\nz\n", "x\n  y\nz\n"),
    "indented by tabs": ("x\n\t{{#yes}}\ny\n\t{{/yes}}\nz", "x\ny\nz"),
    "blanks behind": ("x\n{{#yes}}  \t\ny\n{{/yes}} \nz", "x\ny\nz"),
    "the first line": ("{{#yes}}\ny{{/yes}}", "y"),
    "the first line, indented": ("  {{#yes}}\ny\n{{/yes}}\nz", "y\nz"),
    "the last line, without a break": ("{{#yes}}\ny\n{{/yes}}", "y\n"),
    "the last line, indented": ("x\n{{#yes}}\ny\n  {{/yes}}", "x\ny\n"),
    "the last line, with blanks": ("x\n{{#yes}}\ny\n{{/yes}}  ", "x\ny\n"),
    "breaks of Windows": ("x\r\n{{#yes}}\r\ny\r\n{{/yes}}\r\nz", "x\r\ny\r\nz"),
    "breaks of an old Mac": ("x\r{{#yes}}\ry\r{{/yes}}\rz", "x\ry\rz"),
    "nothing between": ("x\n{{#yes}}\n{{/yes}}\nz", "x\nz"),
    "one below the other": ("{{#yes}}\n{{^no}}\ny\n{{/no}}\n{{/yes}}\nz", "y\nz"),
    "one below the other, indented": ("{{#yes}}\n  {{^no}}\n  y\n  {{/no}}\n{{/yes}}\nz", "  y\nz"),
    "blank lines around it stay": ("x\n\n{{#yes}}\n\ny\n\n{{/yes}}\n\nz", "x\n\n\ny\n\n\nz"),
    "a list": ("{{#rows}}\n- {{.}}\n{{/rows}}\n", "- 1\n- 2\n"),
    "a list, indented": ("rows:\n  {{#rows}}\n  - {{.}}\n  {{/rows}}\nend", "rows:\n  - 1\n  - 2\nend"),
    "a dotted name": ("x\n{{#inner.yes}}\ny\n{{/inner.yes}}\nz", "x\ny\nz"),
    "blanks inside the tag": ("x\n{{# yes }}\ny\n{{/ yes }}\nz", "x\ny\nz"),
    "a comment": ("x\n{{! said }}\nz", "x\nz"),
    "an indented comment": ("x\n   {{! said }}\nz", "x\nz"),
    "a comment alone": ("  {{! said }}\n", ""),
    "a comment of several lines": ("x\n{{!\n  one\n  two\n}}\nz", "x\nz"),
    "a comment of several lines, indented": ("x\n  {{!\n    one\n  }}\nz", "x\nz"),
    "two comments below each other": ("x\n{{! 1 }}\n  {{! 2 }}\nz", "x\nz"),
    "other delimiters": ("x\n{{=<% %>=}}\n<%#yes%>\ny\n<%/yes%>\n<%={{ }}=%>\nz", "x\ny\nz"),
}
BESIDE = {
    "text before": ("x {{#yes}}\ny{{/yes}}", "x \ny"),
    "text behind": ("{{#yes}} x\n{{/yes}}y", " x\ny"),
    "a name before": ("{{a}}{{#yes}}\nContext: {{a}}{{/yes}}", "A\nContext: A"),
    "a name and blanks before": ("{{a}}  {{#yes}}\ny{{/yes}}", "A  \ny"),
    "a raw name before": ("{{{a}}}{{#yes}}\ny{{/yes}}", "A\ny"),
    "a name behind": ("{{#yes}}{{a}}\n{{/yes}}y", "A\ny"),
    "another section before": ("{{#yes}}{{^no}}\ny{{/no}}{{/yes}}", "\ny"),
    "two ends": ("{{#yes}}{{^no}}y{{/no}}{{/yes}}\nz", "y\nz"),
    "a section on one line": ("x\n{{#yes}}y{{/yes}}\nz", "x\ny\nz"),
    "a section on one line, indented": (" {{#yes}}y{{/yes}}\n", " y\n"),
    "an end and a beginning": ("{{#yes}}\nx\n{{/yes}}{{^no}}\ny\n{{/no}}\nz", "x\n\ny\nz"),
    "a comment behind a name": ("{{a}}{{! said }}\nz", "A\nz"),
    "a comment before text": ("{{! said }} x\nz", " x\nz"),
    "two comments": ("x\n {{! 1 }} {{! 2 }}\nz", "x\n  \nz"),
    "the end of a comment of several lines before": ("{{! 1\n }}{{#yes}}\ny{{/yes}}", "\ny"),
    "delimiters behind text": ("x {{=<% %>=}}\n<%a%>", "x \nA"),
    "a name alone": ("x\n  {{a}}\nz", "x\n  A\nz"),
    "a raw name alone": ("x\n  {{{a}}}\n  {{&a}}\n", "x\n  A\n  A\n"),
}


@pytest.mark.parametrize(("text", "wanted"), ALONE.values(), ids=list(ALONE))
def test_a_tag_alone_on_its_line_takes_the_line_with_it(text: str, wanted: str) -> None:
    assert shown(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), BESIDE.values(), ids=list(BESIDE))
def test_a_tag_beside_anything_else_leaves_the_line_as_it_is(text: str, wanted: str) -> None:
    assert shown(text) == wanted


def test_what_is_filled_in_never_makes_a_line_blank_or_alone() -> None:
    made = PromptTemplate(Data, "{{a}}{{#yes}}\ny\n{{/yes}}\n")
    assert made.render(a="") == "\ny\n"
    assert made.render(a=" \n ") == " \n \ny\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{=<% %>=}}<%nobody%>", "names 'nobody'"),
        ("{{=<% %>=}}<%#yes%>", "section 'yes' is not closed"),
        ("{{=<% %>=}}<%a", "opened with <% and not closed"),
        ("{{=<%=}}", "names 1 delimiters, expected two"),
        ("{{=<% %>=}}<%>other%>", "is a partial"),
        ("{{{a}}", "opened with {{ and not closed"),
    ],
)
def test_other_delimiters_are_checked_where_the_template_is_made(text: str, told: str) -> None:
    with pytest.raises(TemplateError, match=f"template 'Data'.*{told}"):
        PromptTemplate(Data, text)


_PIECES = st.sampled_from(["{{a}}", "{{#yes}}", "{{/yes}}", "{{! n }}", "{{!\n}}", " ", "\t", "\n", "\r\n", "x"])


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_only_blanks_and_breaks_go(text: str) -> None:
    left = without_lone_lines(text)
    assert [text[one.start : one.end] for one in tags(text)] == [left[one.start : one.end] for one in tags(left)]
    assert "".join(left.split()) == "".join(text.split())
    assert len(left) <= len(text)
