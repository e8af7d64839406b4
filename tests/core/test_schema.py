"""Every hostile signature, with and without postponed annotations: what is shown, what arrives, what is refused."""

import asyncio
import functools
import inspect
import sys
import timeit
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from pydantic import Field

from backstay.core.canon import canonical, freeze, thaw
from backstay.core.context import RunContext
from backstay.core.errors import ToolDefinitionError
from backstay.core.meanings import Money
from backstay.core.messages import Args, Json
from backstay.core.schema import ArgumentsError, canonical_args, signature_of, validate
from core.signatures import MODULES, SHAPES, Shape, first_problem, received, signature, table

CONTEXT = object()


@pytest.fixture(params=list(MODULES))
def cases(request: pytest.FixtureRequest) -> ModuleType:
    return MODULES[request.param]


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    return thaw(signature_of(function).schema["properties"])


def called(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """Call as the pipeline does, and check on the way that canonical arguments say the same."""
    signature = signature_of(function)
    input = validate(signature.model, args)
    frozen = canonical_args(input)
    again = validate(signature.model, freeze(frozen))
    assert again == input
    assert canonical_args(again) == frozen
    assert validate(signature.model, input) == input
    result = signature.call(input, CONTEXT)
    return asyncio.run(result) if signature.is_async else result


def refusal(function: Callable[..., Any], args: Any) -> tuple[str, ...]:
    with pytest.raises(ArgumentsError) as caught:
        validate(signature_of(function).model, args)
    assert caught.value.code == "tool.input"
    return caught.value.problems


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.function)
def test_every_shape_is_called_and_refuses_by_name(shape: Shape) -> None:
    """With postponed annotations it is the same, and what is told names something the model can see."""
    told = {(received(shape, module), first_problem(shape, module)) for module in MODULES.values()}
    assert len(told) == 1
    ((_, problem),) = told
    seen = {*shape.refused, *signature(shape, MODULES["plain"]).schema.get("required", ())}  # type: ignore[misc]
    assert problem.partition(":")[0].partition(".")[0] in seen


def test_the_table_of_signatures_on_the_page_is_the_one_of_this_suite() -> None:
    page = Path(__file__).parents[2] / "docs" / "writing-a-tool.md"
    assert table() in page.read_text("utf-8"), "run: PYTHONPATH=src python tests/core/signatures.py"


def test_a_union_takes_each_of_its_types(cases: ModuleType) -> None:
    assert properties(cases.union) == {"x": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
    assert called(cases.union, {"x": 1}) == 1
    assert called(cases.union, {"x": "1"}) == "1"
    assert refusal(cases.union, {"x": [1]}) == ("x: expected a whole number or text, got [1]",)


def test_an_optional_list_works(cases: ModuleType) -> None:
    assert called(cases.optional_list, {}) is None
    assert called(cases.optional_list, {"x": ["a"]}) == ["a"]


def test_star_args_are_an_array_and_arrive_as_positions(cases: ModuleType) -> None:
    assert properties(cases.rest)["rest"] == {"type": "array", "items": {"type": "string"}}
    assert signature_of(cases.rest).schema["required"] == ("x",)
    assert called(cases.rest, {"x": 1, "rest": ["a", "b"]}) == (1, ("a", "b"))
    assert called(cases.rest, {"x": 1}) == (1, ())


def test_double_star_kwargs_are_typed_extra_keys(cases: ModuleType) -> None:
    shown = signature_of(cases.extra).schema
    assert shown["additionalProperties"] == {"type": "number"}
    assert list(properties(cases.extra)) == ["x"]
    assert called(cases.extra, {"x": 1, "z": "2", "**": 3}) == (1, {"z": 2.0, "**": 3.0})
    assert refusal(cases.extra, {"x": 1, "z": "much"}) == ('z: expected a number, got "much"',)


def test_extra_keys_are_refused_by_name_without_kwargs(cases: ModuleType) -> None:
    assert signature_of(cases.rest).schema["additionalProperties"] is False
    assert refusal(cases.rest, {"x": 1, "colour": 2}) == ("colour: no such argument; this tool takes x, rest",)


def test_a_limit_is_shown_and_enforced(cases: ModuleType) -> None:
    assert properties(cases.limited) == {"x": {"type": "integer", "minimum": 1}}
    assert refusal(cases.limited, {"x": 0}) == ("x: expected at least 1, got 0",)
    assert called(cases.decorated, {"x": 2}) == 2


def test_a_recursive_model_arrives_as_models_all_the_way_down(cases: ModuleType) -> None:
    shown = signature_of(cases.recursive).schema
    assert shown["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    node = called(cases.recursive, {"node": {"value": 1, "children": [{"value": 2}]}})
    assert isinstance(node.children[0], cases.Node)
    assert refusal(cases.recursive, {"node": {"value": 1, "children": [{"value": "q"}]}}) == (
        'node.children.0.value: expected a whole number, got "q"',
    )


def test_enum_and_literal_show_their_values_and_arrive_as_themselves(cases: ModuleType) -> None:
    shown = signature_of(cases.choices).schema
    assert shown["$defs"]["Colour"]["enum"] == ("red", "blue")
    assert properties(cases.choices)["size"] == {"type": "string", "enum": ["s", "m"], "default": "s"}
    assert called(cases.choices, {"colour": "red"}) == (cases.Colour.RED, "s")
    assert refusal(cases.choices, {"colour": "x", "size": "xl"}) == (
        "colour: expected one of 'red' or 'blue', got \"x\"",
        "size: expected one of 's' or 'm', got \"xl\"",
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("default_object", "MISSING"), ("default_unequal", "UNEQUAL")],
)
def test_a_default_that_json_cannot_hold_arrives_as_the_same_object(
    cases: ModuleType, name: str, expected: str
) -> None:
    function, default = getattr(cases, name), getattr(cases, expected)
    signature = signature_of(function)
    assert "required" not in signature.schema
    assert "default" not in signature.schema["properties"]["x"]
    input = validate(signature.model, {})
    assert "x" not in canonical_args(input)
    result = signature.call(validate(signature.model, canonical_args(input)), None)
    assert (result[0] if isinstance(result, tuple) else result) is default
    assert canonical_args(validate(signature.model, {"x": [1]}))["x"] == (1,)


def test_a_default_its_own_type_would_refuse_is_left_out_of_canonical_arguments(cases: ModuleType) -> None:
    assert called(cases.wrong_default, {}) == ("auto", "2020-01-01")
    assert canonical_args(validate(signature_of(cases.wrong_default).model, {})) == {}
    assert refusal(cases.wrong_default, {"x": "auto"}) == ('x: expected a whole number, got "auto"',)


def test_a_default_of_none_makes_the_parameter_optional(cases: ModuleType) -> None:
    assert called(cases.silent_none, {}) == (None, None)
    assert called(cases.silent_none, {"x": None, "y": 2}) == (None, 2)
    assert refusal(cases.silent_none, {"y": 0}) == ("y: expected at least 1, got 0",)


def test_positional_only_and_keyword_only_parameters_are_called_by_kind(cases: ModuleType) -> None:
    assert called(cases.positional_only, {"a": 1}) == (1, 2, 3, 4)
    assert called(cases.positional_only, {"d": 9, "c": 8, "b": 7, "a": 6}) == (6, 7, 8, 9)


def test_an_untyped_parameter_takes_anything_json_has(cases: ModuleType) -> None:
    assert properties(cases.untyped) == {"a": {}, "b": {"default": 1}}
    assert called(cases.untyped, {"a": [1, {"k": [2]}]}) == ([1, {"k": [2]}], 1)


def test_frozen_arguments_reach_an_untyped_parameter_as_ordinary_lists_and_dicts(cases: ModuleType) -> None:
    signature = signature_of(cases.untyped)
    given, _ = signature.call(validate(signature.model, freeze({"a": [{"k": [2]}]})), None)
    assert type(given) is list
    assert type(given[0]) is dict


def test_a_dataclass_arrives_as_its_instance(cases: ModuleType) -> None:
    assert signature_of(cases.boxed).schema["$defs"]["Box"]["required"] == ("width",)
    assert called(cases.boxed, {"box": {"width": "3"}}) == cases.Box(3)
    assert refusal(cases.boxed, {"box": {"width": 1, "depth": 2}}) == (
        "box.depth: no such argument; box takes width, label",
    )


def test_both_typed_dicts_work(cases: ModuleType) -> None:
    shown = signature_of(cases.stops).schema["$defs"]
    assert shown["OldStop"]["required"] == ("city",)
    assert shown["NewStop"]["required"] == ("city",)
    args = {
        "old": {"city": "a", "following": {"city": "b"}},
        "new": {"city": "c", "note": "n"},
        "many": [{"city": "d"}],
    }
    assert called(cases.stops, args) == (args["old"], args["new"], args["many"])
    assert refusal(cases.stops, {**args, "new": {}}) == ("new.city: missing; expected text",)


def test_a_typed_dict_inside_a_dataclass_works(cases: ModuleType) -> None:
    assert called(cases.tour, {"tour": {"stops": [{"city": "a"}]}}) == cases.Tour([{"city": "a"}])


def test_date_set_and_bytes_arrive_as_such(cases: ModuleType) -> None:
    shown = properties(cases.real_objects)
    assert shown["day"] == {"type": "string", "format": "date"}
    assert shown["ids"] == {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    assert shown["blob"] == {"type": "string", "contentEncoding": "base64", "default": "YWI="}
    args = {"day": "2026-01-31", "ids": [10, 9, 9], "blob": "/+8="}
    assert called(cases.real_objects, args) == (date(2026, 1, 31), {9, 10}, b"\xff\xef")
    input = validate(signature_of(cases.real_objects).model, args)
    assert canonical(canonical_args(input)) == '{"blob":"/+8=","day":"2026-01-31","ids":[9,10]}'


def test_names_that_pydantic_needs_are_shown_and_given_as_they_are(cases: ModuleType) -> None:
    names = ["schema", "model_config", "copy", "json", "model_dump", "validate"]
    assert list(properties(cases.reserved_names)) == names
    assert called(cases.reserved_names, {"schema": 7, "model_config": "s", "copy": 8}) == (7, "s", 8, 2, 3, 4)
    missing, *unknown = refusal(cases.reserved_names, {"arg_schema": 1, "model_config": "s"})
    assert missing == "schema: missing; expected a whole number"
    assert unknown == [f"arg_schema: no such argument; this tool takes {', '.join(names)}"]


def test_names_with_underscores_are_shown_and_given_as_they_are(cases: ModuleType) -> None:
    assert list(properties(cases.underscored)) == ["_x", "__y"]
    assert called(cases.underscored, {"_x": 1, "__y": 3}) == (1, 3)


def test_parameters_called_self_and_cls_work(cases: ModuleType) -> None:
    assert called(cases.self_and_cls, {"self": 1, "cls": 2}) == (1, 2)


def test_async_is_seen_through_objects_partials_and_declared_awaitables(cases: ModuleType) -> None:
    assert signature_of(cases.async_callable).is_async
    assert signature_of(cases.async_partial).is_async
    assert signature_of(cases.coroutine).is_async
    assert signature_of(cases.awaited).is_async
    assert not signature_of(cases.union).is_async
    assert called(cases.async_callable, {"x": "1"}) == 1
    assert called(cases.async_partial, {}) == 1
    assert called(cases.awaited, {"x": 4}) == 4


def test_a_callable_object_is_named_after_its_class(cases: ModuleType) -> None:
    signature = signature_of(cases.async_callable)
    assert (signature.name, signature.description) == ("AsyncCallable", "Do.")


def test_what_a_partial_has_bound_no_model_can_set(cases: ModuleType) -> None:
    assert signature_of(cases.partial).name == "three"
    assert list(properties(cases.partial)) == ["b"]
    assert called(cases.partial, {"b": 2}) == (1, 2, 5)
    assert refusal(cases.partial, {"b": 2, "c": 9}) == ("c: no such argument; this tool takes b",)


@pytest.mark.parametrize("name", ["class_method", "static", "method"])
def test_bound_class_and_static_methods_work(cases: ModuleType, name: str) -> None:
    assert list(properties(getattr(cases, name))) == ["x"]
    result = called(getattr(cases, name), {"x": 1})
    assert result == ((1, {}) if name == "method" else 1)


def test_kwargs_cannot_reach_the_instance_of_a_method(cases: ModuleType) -> None:
    assert refusal(cases.method, {"x": 1, "self": 2}) == ("self: no such argument; this tool takes x",)


def test_a_method_called_like_a_builtin_hides_nothing(cases: ModuleType) -> None:
    inner, ids = called(cases.Toolbox().list, {"inner": {"n": 1}, "ids": [2]})
    assert isinstance(inner, cases.Toolbox.Inner)
    assert ids == [2]


@pytest.mark.parametrize("name", ["with_context", "with_optional_context", "with_unseen_deps"])
def test_the_context_is_given_and_no_model_can_set_it(cases: ModuleType, name: str) -> None:
    function = getattr(cases, name)
    assert signature_of(function).context_parameter == "ctx"
    assert list(properties(function)) == ["x"]
    assert CONTEXT in called(function, {"x": 1})
    assert refusal(function, {"x": 1, "ctx": {}}) == ("ctx: no such argument; this tool takes x",)


def test_marks_become_meanings(cases: ModuleType) -> None:
    signature = signature_of(cases.meant)
    assert dict(signature.meanings) == {
        "amount": "money:EUR",
        "text": "text",
        "to": "recipient",
        "order": "id:order",
    }


def test_a_decimal_is_shown_as_a_number_or_a_short_text(cases: ModuleType) -> None:
    number, text = properties(cases.meant)["amount"]["anyOf"]
    assert number == {"type": "number"}
    assert text["type"] == "string"
    assert len(text["pattern"]) < 30
    assert called(cases.meant, {"amount": "1.50"}) == Decimal("1.50")
    assert called(cases.meant, {"amount": 2}) == Decimal(2)


def test_a_strict_model_takes_what_json_can_say(cases: ModuleType) -> None:
    assert called(cases.strict, {"p": {"day": "2026-01-31", "ids": [2, 1]}}).ids == {1, 2}
    assert refusal(cases.strict, {"p": {"day": "2026-01-31", "ids": ["2"]}}) == (
        'p.ids.0: expected a whole number, got "2"',
    )


def test_fields_own_words_win_over_the_docstring(cases: ModuleType) -> None:
    shown = properties(cases.field_defaults)
    assert shown["x"] == {
        "type": "integer",
        "minimum": 1,
        "default": 3,
        "description": "Field's word",
        "examples": [4],
    }
    assert shown["_y"] == {"type": "integer", "minimum": 1, "default": 3, "description": "hidden name"}
    assert called(cases.field_defaults, {"_y": 4}) == (3, 4)


def test_unpacked_types_become_their_parts(cases: ModuleType) -> None:
    assert set(properties(cases.unpacked)) == {"x", "pair", "city", "note", "following"}
    assert called(cases.unpacked, {"x": 1, "pair": [2, "b"], "city": "c"}) == (1, (2, "b"), {"city": "c"})


def test_an_alias_is_the_name_the_model_uses(cases: ModuleType) -> None:
    assert set(properties(cases.aliased)) == {"from", "nn"}
    assert called(cases.aliased, {"from": "a", "nnn": 2}) == ("a", 2)
    assert refusal(cases.aliased, {"from_": "a"}) == (
        "from: missing; expected text",
        "from_: no such argument; this tool takes from, nn",
    )


@pytest.mark.parametrize("make", ["local_signature", "nested_signature"])
def test_models_local_to_a_function_are_found(cases: ModuleType, make: str) -> None:
    signature = getattr(cases, make)()
    args: dict[str, Any] = {"inner": {"q": 1}}
    if make == "local_signature":
        args |= {"whole": {"part": {"x": 2}}, "parts": []}
    result = signature.call(validate(signature.model, args), None)
    assert (result.part.x if make == "local_signature" else result.q) in (1, 2)
    assert (signature.returns is not None) == (make == "local_signature")


def test_no_titles_are_shown_unless_they_were_asked_for(cases: ModuleType) -> None:
    def titled(title: str, n: Annotated[int, Field(title="How many")] = 1) -> None:
        """Do."""

    functions = [one for one in vars(cases).values() if inspect.isfunction(one) and one.__doc__ == "Do."]
    assert len(functions) > 25
    for function in functions:
        assert '"title"' not in canonical(signature_of(function).schema)
    assert properties(titled) == {
        "title": {"type": "string"},
        "n": {"type": "integer", "default": 1, "title": "How many"},
    }


def test_a_json_alias_of_ours_is_any_json_value() -> None:
    def store(value: Json, *more: Args) -> Json:
        """Do."""
        return [value, *more]

    assert called(store, {"value": {"a": [1]}, "more": [{"b": None}]}) == [{"a": [1]}, {"b": None}]


def _unresolvable(x: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do."""


def _unresolvable_return(x: int) -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821
    """Do."""


def _no_type(x: "not a type") -> None:  # type: ignore[valid-type]  # noqa: F722
    """Do."""


def _function(ok: int, x: Callable[[int], int]) -> None:
    """Do."""


def _class(x: type[Path]) -> None:
    """Do."""


def _foreign(ok: int, x: ModuleType) -> None:
    """Do."""


def _misplaced(ok: int, x: Annotated[str, Field(ge=1)]) -> None:
    """Do."""


def _mark_without_currency(x: Annotated[int, Money]) -> None:
    """Do."""


def _star_context(*x: RunContext[Any]) -> None:
    """Do."""


def _mixed_context(x: RunContext[Any] | int) -> None:
    """Do."""


def _two_contexts(x: RunContext[Any], y: RunContext[Any]) -> None:
    """Do."""


def _same_alias(x: Annotated[int, Field(alias="b")], b: int) -> None:
    """Do."""


def _generator(x: int) -> Iterator[int]:
    """Do."""
    yield x


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (_unresolvable, "parameter 'x'"),
        (_unresolvable_return, "return of _unresolvable_return"),
        (_no_type, "parameter 'x'"),
        (_function, "parameter 'x'"),
        (_class, "parameter 'x'"),
        (_foreign, "parameter 'x'"),
        (_misplaced, "parameter 'x'"),
        (_mark_without_currency, "parameter 'x'"),
        (_star_context, "parameter 'x'"),
        (_mixed_context, "parameter 'x'"),
        (_two_contexts, "x and y"),
        (_same_alias, "two parameters are called b"),
        (_generator, "_generator is a generator"),
        (max, "max: its signature cannot be read"),
        (classmethod(_function), "below @classmethod"),
        (5, "int is not callable"),
        (lambda x: x, "a lambda has no name"),
    ],
)
def test_what_cannot_work_is_an_error_at_definition_that_names_it(function: Any, named: str) -> None:
    with pytest.raises(ToolDefinitionError, match=named) as caught:
        signature_of(function)
    assert caught.value.code == "tool.definition"


def test_a_method_without_its_instance_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match=r"'self' of .*the bound method"):

        class Box:
            def open(self, x: int) -> None:
                """Do."""

            signature_of(open, frame=sys._getframe())


def test_a_missing_description_has_its_own_code_and_an_empty_one_is_taken() -> None:
    def bare(x: int) -> None: ...

    with pytest.raises(ToolDefinitionError) as caught:
        signature_of(bare)
    assert caught.value.code == "tool.undescribed"
    assert signature_of(bare, description="").description == ""
    named = signature_of(lambda x: x, name="echo", description="Say it again.")
    assert (named.name, named.description) == ("echo", "Say it again.")


def test_a_mutable_default_is_not_shared_between_calls() -> None:
    def collect(into: list[int] = []) -> list[int]:  # noqa: B006
        """Do."""
        into.append(1)
        return into

    assert called(collect, {}) == [1]
    assert called(collect, {}) == [1]


def test_a_partial_may_settle_a_parameter_no_model_can_give() -> None:
    bound = functools.partial(_function, x=abs)
    assert list(properties(bound)) == ["ok"]


def test_a_call_costs_little() -> None:
    def pay(order_id: str, amount: Decimal) -> Decimal:
        """Do."""
        return amount

    signature = signature_of(pay)
    args = {"order_id": "A-1", "amount": "3.50"}

    def once() -> None:
        input = validate(signature.model, args)
        canonical_args(input)
        signature.call(input, None)

    seconds = min(timeit.repeat(once, number=2_000, repeat=5)) / 2_000
    assert seconds < 50e-6, f"{seconds * 1e6:.1f} µs; it is about 6 on an idle machine"
