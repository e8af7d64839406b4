"""What `python -m bench` prints: ours beside its budgets, and beside the peers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bench.__main__ import main
from bench.peer import environment
from bench.peer.environment import NAMES, Peer
from bench.table import Row, as_json, beside_peers, printed

OURS = Row(scenario="one_tool", what="a run, CPU", measured=0.5, unit="ms", budget=0.25, peer_key="one_tool")
BOTH = replace(OURS, peers={"langgraph": 5.0, "pydantic-ai": 0.25}, guarded_peers={"langgraph": 6.0})


def test_each_peer_has_a_column_with_its_ratio() -> None:
    header, _, lean, guarded, *_ = beside_peers([BOTH], ["pydantic-ai", "langgraph"]).splitlines()
    assert re.split("  +", header) == ["beside the peers", "ours", "pydantic-ai", "langgraph"]
    assert re.split("  +", lean)[1:] == ["0.5 ms", "0.25 ms (0.5×)", "5 ms (10.0×)"]
    assert guarded.startswith("one_tool: the same, peers guarded")
    assert guarded.split()[-3:] == ["6", "ms", "(12.0×)"]
    assert "0.25 ms" not in guarded


def test_without_peers_there_is_no_second_table() -> None:
    assert beside_peers([OURS], []) == ""
    assert printed([OURS]).splitlines()[2].split("  ")[-1] == "over"


def test_a_row_that_was_not_measured_shows_the_peers_without_ratios() -> None:
    line = beside_peers([replace(BOTH, measured=None)], ["langgraph"]).splitlines()[2]
    assert line.endswith("5 ms")


def test_both_tables_fit_160_columns_with_every_peer() -> None:
    what = "1,000 runs at once (one call, two requests of 10 ms), wall"
    figures = {name: 123.4 for name in NAMES}
    row = Row(scenario="concurrent", what=what, measured=1.23, unit="s", budget=1.5, peers=figures)
    shown = f"{printed([row])}\n{beside_peers([row], NAMES)}"
    assert all(name in shown for name in NAMES)
    assert max(map(len, shown.splitlines())) <= 160


def test_the_file_holds_figures_and_ratios() -> None:
    (row,) = json.loads(as_json([BOTH], {}))["rows"]
    assert row["verdict"] == "over"
    assert row["peers"] == {"langgraph": 5.0, "pydantic-ai": 0.25}
    assert row["ratios"] == {"langgraph": 10.0, "pydantic-ai": 0.5}
    assert row["guarded_ratios"] == {"langgraph": 12.0}


def test_every_peer_has_a_script_and_pinned_requirements() -> None:
    for name in NAMES:
        wanted = (environment.REQUIREMENTS / f"{name}.txt").read_text().split()
        assert wanted
        assert all("==" in one for one in wanted)
        assert (environment.REQUIREMENTS.parent / f"{name.replace('-', '_')}.py").exists()


def test_a_peer_that_cannot_be_set_up_is_told_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "REQUIREMENTS", tmp_path)
    found = environment.with_more(Peer(name="langgraph"), "one_tool")
    assert found.missing.startswith("FileNotFoundError")
    assert "langgraph" in capsys.readouterr().err
    assert environment.with_more(found, "ten_rounds") is found
    assert capsys.readouterr().err == ""


def test_peers_are_chosen_or_left_out_but_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--no-peer", "--peer", "langgraph"])
    with pytest.raises(SystemExit):
        main(["--peer", "nobody"])
    assert "langgraph" in capsys.readouterr().err
