"""Paths, hosts and patterns by tables: what holds, what breaks, and what may be read in two ways and so never holds."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.boundary.predicates import Bound, Scene, check_problems, evaluate, limit_text
from backstay.boundary.predicates.globs import matcher
from backstay.core.context import Principal
from backstay.core.messages import Args, Json

SCENE = Scene(0.0, Principal(id="ann"))
SRV = {"op": "path", "under": ["/srv/a", "/tmp/out"]}
SHOP = {"op": "host", "in": ["example.com", "münchen.de", "127.0.0.1"]}
TMP = {"op": "glob", "like": ["/srv/*.tmp", "/var/**/*.log"]}


def found(check: Args, value: Json) -> str:
    """`holds`, `breaks`, or `doubt`: broken whether the check is negated or not."""
    assert check_problems(check) == []
    bound = (Bound("x", "", value),)
    broken, opposite = evaluate(check, bound, SCENE), evaluate({"op": "not", "of": check}, bound, SCENE)
    if broken and opposite:
        return "doubt"
    assert bool(broken) != bool(opposite)
    return "breaks" if broken else "holds"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("/srv/a", "holds"), ("/srv/a/", "holds"), ("/srv/a/b/c.txt", "holds"), ("//srv//a/./b", "holds"),
        ("/srv/a/../a/b", "holds"), ("/tmp/out/x", "holds"), ("/../srv/a/b", "holds"), ("/srv/a/日本", "holds"),
        ("/srv/a/%", "holds"), ("/srv/a/b~", "holds"),
        ("/srv/ab", "breaks"), ("/srv", "breaks"), ("/srv/a/../b", "breaks"), ("/srv/a/../../etc/passwd", "breaks"),
        ("/etc/passwd", "breaks"), ("/", "breaks"), ("/tmp/outside", "breaks"),
        ("", "doubt"), ("srv/a", "doubt"), ("../srv/a", "doubt"), ("a/../../b", "doubt"), ("~/x", "doubt"),
        ("/srv/a/~root/x", "doubt"), ("/srv/a\\..\\b", "doubt"), ("/srv/a\0/x", "doubt"), ("/srv/a/%2e%2e/b", "doubt"),
        ("/srv/a/%2E%2E", "doubt"), ("/srv/a/%u002e", "doubt"), ("file:///srv/a/x", "doubt"), ("C:/srv/a", "doubt"),
        ("/srv/a/\u202ex", "doubt"), ("/srv/a/\n", "doubt"), ("/srv/a/．．/b", "doubt"), ("／srv/a", "doubt"),
        ("/srv/a\u2215b", "doubt"), ("/SRV/a/b", "doubt"), ("/srv/A", "doubt"), (7, "doubt"), (True, "doubt"),
        ({"path": "/srv/a"}, "doubt"), ("/srv/a/" + "x" * 5000, "doubt"),
    ],
)  # fmt: skip
def test_a_path_lies_under_a_folder_by_whole_components(value: Json, wanted: str) -> None:
    assert found(SRV, value) == wanted


def test_a_relative_path_is_judged_from_where_it_begins() -> None:
    based = {"op": "path", "under": ["/etc"], "base": "/srv/app"}
    assert found(based, "../../etc/passwd") == "holds"
    assert found(based, "etc/passwd") == "breaks"
    assert found(based, "") == "doubt"
    relative = {"op": "path", "under": ["reports"]}
    assert found(relative, "reports/2026/x.csv") == "holds"
    assert found(relative, "other/x.csv") == "breaks"
    assert found(relative, "reports/../../x") == "doubt"
    assert found(relative, "/reports/x") == "doubt"


def test_every_path_of_a_list_has_to_lie_there() -> None:
    bound = (Bound("paths", "", ("/srv/a/x", "/etc/passwd", "/srv/a/y")),)
    (breach,) = evaluate(SRV, bound, SCENE)
    assert (breach.path, breach.value) == ("paths.1", "/etc/passwd")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("example.com", "holds"), ("EXAMPLE.com", "holds"), ("example.com.", "holds"), ("a.b.example.com", "holds"),
        ("https://example.com", "holds"), ("https://www.example.com/a?b=c@d#e", "holds"),
        ("https://example.com:443/x", "holds"), ("HTTP://example.com", "holds"), ("bob@example.com", "holds"),
        ("bob+x@mail.example.com", "holds"), ("mailto:bob@example.com", "holds"), ("münchen.de", "holds"),
        ("xn--mnchen-3ya.de", "holds"), ("MÜNCHEN.de", "holds"), ("https://ｅxample.com/", "holds"),
        ("127.0.0.1", "holds"),
        ("evil.com", "breaks"), ("notexample.com", "breaks"), ("example.com.evil.com", "breaks"),
        ("https://evil.com/example.com", "breaks"), ("https://evil.com?x=.example.com", "breaks"),
        ("https://evil.com#.example.com", "breaks"), ("bob@example.com.evil.com", "breaks"), ("muenchen.de", "breaks"),
        ("日本.jp", "breaks"), ("bob", "breaks"),
        ("https://example.com@evil.com/", "doubt"), ("https://evil.com:80@example.com/", "doubt"),
        ("https://example.com:8443/", "doubt"), ("https://example.com:80/", "doubt"), ("example.com:443", "doubt"),
        ("https://example.com\\@evil.com", "doubt"), ("javascript://example.com/%0a", "doubt"),
        ("file://example.com/x", "doubt"), ("//example.com/x", "doubt"), ("example.com/path", "doubt"),
        ("example.com evil.com", "doubt"), ("a@example.com, b@evil.com", "doubt"), ("Bob <bob@example.com>", "doubt"),
        ("bob@evil.com@example.com", "doubt"), ("bob@example.com?bcc=eve@evil.com", "doubt"),
        ("https://exa\u200bmple.com", "doubt"), ("https://example.com\n.evil.com", "doubt"), ("exаmple.com", "doubt"),
        ("раураӏ.com", "doubt"), ("faß.de", "doubt"), ("xn--80ak6aa92e.com", "doubt"), ("xn--\u00e9.com", "doubt"),
        ("example。com", "doubt"), ("https://example.com％2eevil.com", "doubt"), ("a..example.com", "doubt"),
        (".example.com", "doubt"), ("-a.example.com", "doubt"), ("https://", "doubt"), ("", "doubt"),
        ("https://[::1]/", "doubt"), ("2130706433", "doubt"), ("0x7f.1", "doubt"), ("127.1", "doubt"),
        ("0177.0.0.1", "doubt"), ("10.0.0.5", "doubt"), (7, "doubt"), (["example.com", {}], "doubt"),
        ("℀.example.com", "doubt"), ("a" * 64 + ".example.com", "doubt"), ("x." * 200 + "example.com", "doubt"),
    ],
)  # fmt: skip
def test_a_host_is_a_listed_one_or_below_it(value: Json, wanted: str) -> None:
    value = tuple(value) if isinstance(value, list) else value
    assert found(SHOP, value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("/srv/x.tmp", "holds"), ("/srv/.tmp", "holds"), ("/SRV/X.TMP", "holds"), ("/var/a/b/x.log", "holds"),
        ("/var/x.log", "holds"), ("/ｓrv/x.tmp", "holds"),
        ("/srv/a/x.tmp", "breaks"), ("/srv/x.tmp.exe", "breaks"), ("x.tmp", "breaks"), ("", "breaks"),
        ("/var/ax.log/y", "breaks"),
        ("/srv/../etc/x.tmp", "doubt"), ("/var/..", "doubt"), ("/srv/x\u200b.tmp", "doubt"), ("/srv/\\x.tmp", "doubt"),
        (3, "doubt"), ("/srv/" + "x" * 5000 + ".tmp", "doubt"),
    ],
)  # fmt: skip
def test_a_text_is_like_a_pattern_as_a_whole(value: Json, wanted: str) -> None:
    assert found(TMP, value) == wanted


def test_a_pattern_without_a_folder_is_in_doubt_about_files_inside_folders() -> None:
    keys = {"op": "glob", "like": ["*.key", "?.pem", "**/*.pfx"]}
    assert [found(keys, value) for value in ("a.key", "a.pem", "ab.pem", "a.pfx", "x/y/a.pfx")] == [
        "holds", "holds", "breaks", "holds", "holds",
    ]  # fmt: skip
    assert found(keys, "/etc/a.key") == "doubt"


_LETTERS = st.text("ab/.*?", max_size=8)


def _pattern(glob: str) -> str:
    """The same pattern for `re`, star by star: an oracle."""
    out, at = "", 0
    while at < len(glob):
        if glob[at] == "*":
            end = at
            while end < len(glob) and glob[end] == "*":
                end += 1
            double = end - at > 1
            if double and glob[end : end + 1] == "/" and (at == 0 or glob[at - 1] == "/"):
                out, at = out + "(?:.*/)?", end + 1
                continue
            out, at = out + (".*" if double else "[^/]*"), end
            continue
        out += "[^/]" if glob[at] == "?" else re.escape(glob[at])
        at += 1
    return out


@given(_LETTERS, st.text("ab/.", max_size=10))
def test_patterns_agree_with_regular_expressions(glob: str, text: str) -> None:
    assert matcher(glob)(text) == (re.fullmatch(_pattern(glob), text, re.DOTALL) is not None)


def test_no_pattern_makes_matching_slow() -> None:
    matches = matcher("*a" * 120 + "b")
    began = time.process_time()
    assert not matches("a" * 4000)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    "check",
    [
        {"op": "path"}, {"op": "path", "under": []}, {"op": "path", "under": "/srv"}, {"op": "path", "under": [7]},
        {"op": "path", "under": ["../x"]}, {"op": "path", "under": ["~"]}, {"op": "path", "under": [""]},
        {"op": "path", "under": ["/a"], "base": "b"}, {"op": "path", "under": ["/a"], "base": 3},
        {"op": "path", "under": ["/x"] * 1001}, {"op": "path", "under": ["/a"], "x": 1},
        {"op": "host"}, {"op": "host", "in": []}, {"op": "host", "in": ["https://a.com"]},
        {"op": "host", "in": ["a@b.com"]}, {"op": "host", "in": ["*.a.com"]}, {"op": "host", "in": ["exаmple.com"]},
        {"op": "glob"}, {"op": "glob", "like": []}, {"op": "glob", "like": [""]}, {"op": "glob", "like": ["x" * 257]},
    ],
)  # fmt: skip
def test_a_place_that_is_none_is_a_problem(check: Any) -> None:
    assert check_problems(check)


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (SRV, "only under /srv/a, /tmp/out"),
        ({"op": "not", "of": {"op": "path", "under": ["/etc"]}}, "not (only under /etc)"),
        ({"op": "host", "in": ["a.com"]}, "only at a.com"),
        ({"op": "glob", "like": ["*.tmp"]}, "only like *.tmp"),
    ],
)
def test_a_place_reads_as_one_line(check: Args, text: str) -> None:
    assert limit_text(check) == text


@given(st.text(max_size=30), st.sampled_from([SRV, SHOP, TMP]))
def test_whatever_the_text_it_holds_breaks_or_is_in_doubt(value: str, check: Args) -> None:
    assert found(check, value) in ("holds", "breaks", "doubt")
