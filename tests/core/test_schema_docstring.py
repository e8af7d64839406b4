"""Docstrings in the three styles say the same."""

from typing import Annotated, Any

from pydantic import Field

from backstay.core.schema import signature_of
from backstay.core.schema.docstring import read


def test_a_docstring_without_sections_is_the_description() -> None:
    docs = read("Only: this.\n\n    More @here : x\n    ", ["x"])
    assert docs.description == "Only: this.\n\nMore @here : x"
    assert docs.parameters == {}


def test_no_docstring_says_nothing() -> None:
    assert read(None, ["x"]).description == ""
    assert read("  \n ", ["x"]).description == ""


def test_lists_in_a_parameters_text_keep_their_lines() -> None:
    docs = read("Do.\n\nArgs:\n    x: one of\n        - a: first\n        - b: second\n", ["x"])
    assert docs.parameters["x"] == "one of\n- a: first\n- b: second"


def test_kwargs_of_any_type_keep_their_description() -> None:
    def use(**fields: Any) -> None:
        """Do.

        Args:
            **fields: column and value.
        """

    assert signature_of(use).schema["additionalProperties"] == {"description": "column and value."}


def test_a_callable_object_is_described_by_its_call_or_its_class() -> None:
    class Described:
        """Find things.

        Args:
            x: what to find.
        """

        def __call__(self, x: int, y: Annotated[int, Field(description="Field's word")] = 1) -> int:
            return x

    signature = signature_of(Described())
    shown: Any = signature.schema
    assert (signature.name, signature.description) == ("Described", "Find things.")
    assert shown["properties"]["x"]["description"] == "what to find."
    assert shown["properties"]["y"]["description"] == "Field's word"
