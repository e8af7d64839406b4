"""Prompt templates: Mustache over a schema, validated, without a way from a template into Python."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

from backstay import PromptTemplate
from backstay.core.errors import TemplateError


class Line(BaseModel):
    sku: str
    amount: Decimal = Decimal("1.50")


class Order(BaseModel):
    name: str
    age: int = 0
    lines: list[Line] = []
    due: date | None = None
    note: str = Field("", alias="remark")


def template(text: str, **more: Any) -> PromptTemplate[Order]:
    return PromptTemplate(Order, text, name="order", **more)


def test_a_model_a_mapping_and_keywords_render_alike() -> None:
    one = template("{{name}} is {{age}}")
    assert one.render(Order(name="Ann", age=3)) == one.render({"name": "Ann", "age": 3}) == "Ann is 3"
    assert one.render(name="Ann", age="3") == "Ann is 3"
    assert one.render({"name": "Bo"}, age=4) == "Bo is 4"


def test_lists_sections_dates_and_numbers_come_out_as_json_has_them() -> None:
    one = template("{{#lines}}{{sku}}: {{amount}};{{/lines}}{{^due}} no date{{/due}}{{#due}} {{due}}{{/due}}")
    assert one.render(name="A", lines=[{"sku": "x"}, Line(sku="y", amount=Decimal(2))]) == "x: 1.50;y: 2; no date"
    assert one.render(name="A", due=date(2026, 11, 30)) == " 2026-11-30"


def test_nothing_is_escaped() -> None:
    said = '<b> & "R&D" \' `x` = /'
    assert template("{{name}}|{{{name}}}|{{&name}}").render(name=said) == f"{said}|{said}|{said}"


def test_data_is_never_a_template() -> None:
    assert template("{{name}}").render(name="{{age}} {{#lines}}x{{/lines}} {{=<% %>=}}") == (
        "{{age}} {{#lines}}x{{/lines}} {{=<% %>=}}"
    )


def test_no_attribute_or_method_of_an_object_can_be_reached() -> None:
    one = template("{{name.upper}}|{{name.__class__}}|{{lines.count}}|{{age.real}}|{{#lines}}{{sku.upper}}{{/lines}}")
    assert one.render(name="a", lines=[{"sku": "s"}], age=5) == "||||"


def test_functions_get_the_validated_data_and_their_names_may_not_be_fields() -> None:
    one = template("{{twice}}", functions={"twice": lambda order: order.age * 2})
    assert one.render(name="x", age="21") == "42"
    with pytest.raises(TemplateError, match="'order': the function 'age' is named like a field"):
        template("{{age}}", functions={"age": lambda _: 1})


def test_a_function_that_raises_is_named() -> None:
    one = template("{{bad}}", functions={"bad": lambda order: 1 // order.age})
    with pytest.raises(TemplateError, match="'order', function 'bad' raised ZeroDivisionError"):
        one.render(name="x")


def test_defaults_fill_what_is_left_out_and_nothing_else() -> None:
    one = template("{{name}}|{{note}}", defaults={"name": "somebody", "note": "n"})
    assert one.render() == "somebody|n"
    assert one.render(name="", remark="r") == "|r"
    assert one.render(Order(name="Ann")) == "Ann|n"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"name": "x", "age": "not int"}, r"template 'order', field 'age' \(int\): .*valid integer.*got str"),
        ({}, r"template 'order', field 'name' \(str\): .*required, got nothing"),
        ({"name": "x", "lines": [{}]}, r"field 'lines\.0\.sku'.*required"),
        ({"name": "x", "nmae": "y"}, r"field 'nmae'.*not permitted"),
    ],
)
def test_errors_name_template_field_and_type_and_never_the_value(data: dict[str, Any], told: str) -> None:
    for render in (lambda one: one.render(data), lambda one: one.render(**data)):
        with pytest.raises(TemplateError, match=told) as raised:
            render(template("{{name}}"))
        assert "not int" not in raised.value.message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{nmae}}", "names 'nmae', and there is: age, due"),
        ("{{#lines}}x", "the section 'lines' is not closed"),
        ("{{#lines}}{{/due}}", "closes a section that is not open"),
        ("{{name", "opened with {{ and not closed"),
        ("{{> other}}", "is a partial"),
    ],
)
def test_what_could_not_be_filled_is_an_error_where_the_template_is_made(text: str, told: str) -> None:
    with pytest.raises(TemplateError, match=told.replace("{", r"\{")):
        template(text)


def test_a_default_or_a_model_of_something_else_is_refused() -> None:
    with pytest.raises(TemplateError, match="a default for 'colour'"):
        template("x", defaults={"colour": "red"})
    with pytest.raises(TemplateError, match="expected Order or a mapping, got Line"):
        template("x").render(Line(sku="s"))  # type: ignore[arg-type]
    with pytest.raises(TemplateError, match="expected a pydantic model class"):
        PromptTemplate(dict, "x")  # type: ignore[type-var]


def test_update_changes_in_place_and_a_bad_one_changes_nothing() -> None:
    one = template("{{name}}")
    one.update("{{name}}!", defaults={"name": "you"})
    assert one.render() == "you!"
    with pytest.raises(TemplateError):
        one.update("{{#lines}}", defaults={"name": "other"})
    assert one.render() == "you!"


@pytest.mark.parametrize("is_customized", [False, True])
def test_a_fork_shares_nothing_that_can_change(is_customized: bool) -> None:
    lines = [{"sku": "a"}]
    one = template("{{#lines}}{{sku}}{{/lines}}", defaults={"name": "n", "lines": lines})

    def change(copy: PromptTemplate[Order]) -> None:
        copy.update("other {{name}}", defaults={"name": "m"})

    two = one.fork(change if is_customized else None)
    two.update(defaults={"lines": [{"sku": "b"}]})
    lines[0]["sku"] = "z"
    assert one.render() == "a"
    assert two.render() == ("other m" if is_customized else "b")


def test_a_customizer_may_return_another_template_and_nothing_else() -> None:
    one = template("x")
    assert one.fork(lambda _: template("y")).render(name="") == "y"
    with pytest.raises(TemplateError, match="returned str"):
        one.fork(lambda _: "y")  # type: ignore[arg-type,return-value]


def test_the_mustache_library_is_loaded_at_the_first_render() -> None:
    program = (
        "import sys; from backstay import Agent, PromptTemplate; from backstay.models import ScriptedModel\n"
        "Agent(ScriptedModel('x'), role='r'); print('mstache' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
