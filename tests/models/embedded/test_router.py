"""`ToolRouter` on its own: scores, threshold, margin, evidence."""

from __future__ import annotations

from collections.abc import Sequence

from backstay.core.canon import freeze
from backstay.core.encoder import Encoder
from backstay.core.messages import ToolSpec
from backstay.models.embedded import SentenceEncoder, ToolRouter, shared_encoder
from backstay.models.embedded.proposals import PROPOSE, Menu, unwrap, wrap

WEATHER = ToolSpec(
    name="get_weather", description="Weather in a place. Use it when the user asks about rain.", schema={}
)
ORDER = ToolSpec(
    name="find_order",
    description="One order of a customer.",
    schema={},
    examples=(("What is the status of order 7?", {}), ("Show me order 12", {})),
)
TOOLS = (WEATHER, ORDER)


def test_the_nearest_tool_is_chosen_with_its_score() -> None:
    route = ToolRouter().route("Is it going to rain in Oslo?", TOOLS)
    assert route.chosen == "get_weather"
    assert [name for name, _ in route.scores] == ["get_weather", "find_order"]
    assert route.score == route.scores[0][1]
    assert route.margin == route.scores[0][1] - route.scores[1][1]


def test_chinese_finds_tools_described_in_english() -> None:
    assert ToolRouter().route("明天会下雨吗？", TOOLS).chosen == "get_weather"


def test_below_the_threshold_or_the_margin_nothing_is_chosen() -> None:
    text = "Show me order 1001"
    assert ToolRouter(threshold=9.0).route(text, TOOLS).chosen is None
    assert ToolRouter(margin=9.0).route(text, TOOLS).chosen is None
    assert ToolRouter().route("Fix my bicycle", TOOLS).chosen is None
    assert ToolRouter().route("anything", ()).chosen is None


def test_evidence_adds_and_rules_out() -> None:
    text = "Show me order 1001"
    assert ToolRouter().route(text, TOOLS, lambda spec: None if spec is ORDER else 3.0).chosen == "get_weather"


def test_small_talk_gets_no_tool() -> None:
    text = "Thanks a lot, you are great"
    router = ToolRouter(threshold=0.0, margin=0.0)
    assert router.route(text, TOOLS).chosen is not None
    assert router.route(text, TOOLS, aside=("Thank you very much",)).chosen is None


def test_numbers_do_not_decide() -> None:
    router = ToolRouter()
    assert router.route("Show me order 7", TOOLS).scores == router.route("Show me order 123456", TOOLS).scores


def test_any_encoder_will_do() -> None:
    class Letters:
        def encode(self, texts: Sequence[str]) -> list[list[float]]:
            return [[float("rain" in text), float("order" in text), 0.1] for text in texts]

    encoder: Encoder = Letters()
    assert ToolRouter(encoder, threshold=0.1).route("rain", TOOLS).chosen == "get_weather"
    assert isinstance(shared_encoder(), SentenceEncoder)


def test_the_encoder_is_multilingual_and_remembers() -> None:
    encoder = shared_encoder()
    first, same, other = encoder.encode(["The parcel is lost", "包裹丢了", "I like cheese"])
    assert float(first @ same) > float(first @ other) + 0.2
    assert encoder.encode(["The parcel is lost"])[0] is first


def test_proposals_are_spread_and_wrapped_again() -> None:
    branch = {
        "type": "object",
        "properties": {"name": {"const": "refund"}, "arguments": {"type": "object", "properties": {}}},
    }
    schema = freeze({"type": "object", "properties": {"action": {"anyOf": [branch]}, "reason": {"type": "string"}}})
    spec = ToolSpec(name=PROPOSE, description="Propose. Actions:\n- refund: Pay an order back.", schema=schema)  # type: ignore[arg-type]
    menu = Menu.of((*TOOLS, spec))
    assert [one.name for one in menu.options] == ["get_weather", "find_order", "refund"]
    assert menu.proposed == {"refund"}
    assert menu.options[-1].description == "Pay an order back."
    assert unwrap(wrap("refund", {"a": 1}, "because")) == ("refund", {"a": 1})
    assert unwrap({"action": "refund"}) is None
