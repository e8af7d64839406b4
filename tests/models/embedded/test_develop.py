"""The floors on the developing prompts: right tool 95 %, exact arguments 85 %. The other set is reported."""

from __future__ import annotations

from bench.embedded.__main__ import FLOORS, run_pipeline
from bench.embedded.cases import load_cases, load_tools


def test_the_developing_prompts_keep_their_floors() -> None:
    scores = run_pipeline("develop")
    wanted = [one for one in scores if one.case.tool is not None]
    outside = [one for one in scores if one.case.tool is None]
    assert sum(one.is_right for one in wanted) / len(wanted) >= FLOORS["right"]
    assert sum(one.is_exact for one in wanted) / len(wanted) >= FLOORS["exact"]
    assert sum(one.is_right for one in outside) / len(outside) >= 0.9


def test_the_sets_are_as_large_and_as_far_apart_as_promised() -> None:
    develop, held_out = load_cases("develop"), load_cases("held_out")
    assert len(develop) >= 80
    assert len(held_out) >= 60
    assert len(load_tools("held_out")) == 12
    names = [{spec.name for spec in load_tools(one)} for one in ("develop", "held_out")]
    assert not names[0] & names[1]
    for cases in (develop, held_out):
        assert sum(one.lang == "zh" for one in cases) * 3 >= len(cases)
        assert {"out", "ask", "multi", "list", "follow_up"} <= {one.kind for one in cases}
