"""Docstrings in the three styles say the same."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import Field

from backstay.core.schema import signature_of
from backstay.core.schema.docstring import read


def google(x: int, *numbers: float, **kwargs: str) -> float:
    """Do a thing: well.

    Use it when: the user asks.

    Args:
        x (int): one: with colon
            and a second line.
        *numbers (float): the numbers.
        **kwargs: the rest.

    Returns:
        float: r.
    """
    return x


def numpy(x: int, *numbers: float, **kwargs: str) -> float:
    """Do a thing: well.

    Use it when: the user asks.

    Parameters
    ----------
    x : int
        one: with colon
        and a second line.
    *numbers : float
        the numbers.
    **kwargs
        the rest.

    Returns
    -------
    float
        r.
    """
    return x


def sphinx(x: int, *numbers: float, **kwargs: str) -> float:
    r"""Do a thing: well.

    Use it when: the user asks.

    :param int x: one: with colon
        and a second line.
    :param \*numbers: the numbers.
    :param \**kwargs: the rest.
    :returns: r.
    :rtype: float
    """
    return x


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_each_style_gives_description_parameters_stars_and_result(function: Callable[..., Any]) -> None:
    signature = signature_of(function)
    shown: Any = signature.schema
    assert signature.description == "Do a thing: well.\n\nUse it when: the user asks."
    assert shown["properties"]["x"]["description"] == "one: with colon and a second line."
    assert shown["properties"]["numbers"]["description"] == "the numbers."
    assert shown["additionalProperties"] == {"type": "string", "description": "the rest."}
    assert read(function.__doc__, ["x"]).returns == "r."


def test_types_in_the_docstring_swallow_no_parameter() -> None:
    docs = read("Args:\n    x (int): one.\n    y (float): two.\nReturns:\n    float: r.", ["x", "y"])
    assert docs.parameters == {"x": "one.", "y": "two."}
    assert docs.returns == "r."


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
