"""Why a path or a host is in doubt, and where the doubt ends."""

from __future__ import annotations

from typing import Any

import pytest

from backstay.boundary.predicates import Bound, Scene, check_problems, evaluate
from backstay.core.context import Principal

AT = Scene(0.0, Principal(id="ann"))
BASED = {"op": "path", "under": ["/srv/app"], "base": "/srv/app/"}
SHOP = {"op": "host", "in": ["example.com"]}


def why(check: Any, value: Any) -> str:
    """`holds`, `breaks`, or the doubt."""
    assert check_problems(check) == []
    broken = evaluate(check, [Bound("x", "", value)], AT)
    return "holds" if not broken else broken[0].limit.partition("; ")[2] if broken[0].is_doubt else "breaks"


def under(*folders: str, **more: str) -> dict[str, Any]:
    return {"op": "path", "under": list(folders), **more}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("x/y.csv", "holds"),
        ("./x", "holds"),
        ("", "the value is not clear: it is empty"),
        ("../x", "breaks"),
        ("/etc/passwd", "breaks"),
        ("/srv/app/x", "holds"),
        ("file:///etc/passwd", "the value is not clear: it begins like a URL or a drive"),
        ("https://evil.org/x", "the value is not clear: it begins like a URL or a drive"),
        ("C:/windows", "the value is not clear: it begins like a URL or a drive"),
        ("c:x", "the value is not clear: it begins like a URL or a drive"),
        ("1:x", "holds"),
        ("~/x", "the value is not clear: it holds a '~', which may stand for a home folder"),
    ],
)
def test_a_path_from_a_working_folder_is_read_by_itself_first(value: str, wanted: str) -> None:
    assert why(BASED, value) == wanted


def test_an_absolute_path_does_not_begin_in_the_working_folder() -> None:
    etc = under("/etc", base="/srv/app")
    assert why(etc, "/etc/passwd") == "holds"
    assert why(etc, "etc/passwd") == "breaks"
    assert why(under("/srv/app", base="/"), "srv/app/x") == "holds"


def test_without_a_working_folder_the_model_is_told_which_kind_of_path_to_give() -> None:
    told = "where the value lies cannot be told, give a "
    assert why(under("/srv"), "srv/x") == f"{told}whole path, from / on"
    assert why(under("srv"), "/srv/x") == f"{told}path from the working folder on"
    assert why(under("srv", "/srv"), "x/y") == f"{told}whole path, from / on"
    assert why(under("srv", "/srv"), "/x/y") == f"{told}path from the working folder on"
    assert why(under("reports"), "") == "the value is not clear: it is empty"
    assert why(under("reports"), "C:reports") == "the value is not clear: it begins like a URL or a drive"


def test_a_path_and_a_url_have_at_most_4096_characters() -> None:
    folder, url = "/srv/", "https://example.com/"
    assert why(under("/srv"), folder + "x" * (4096 - len(folder))) == "holds"
    assert why(under("/srv"), folder + "x" * (4097 - len(folder))) == "the value is not clear: it is too long"
    assert why(SHOP, url + "x" * (4096 - len(url))) == "holds"
    assert why(SHOP, url + "x" * (4097 - len(url))) == "the host is not clear: it is too long"


def test_a_name_is_the_same_in_both_forms_of_its_letters_and_one_like_it_is_in_doubt() -> None:
    assert why(under("/srv/caf\u00e9"), "/srv/cafe\u0301/x") == "holds"
    assert why(under("/srv/cafe\u0301"), "/srv/caf\u00e9/x") == "holds"
    assert why(under("/srv/file2"), "/srv/\uff46ile\u00b2") == "the value differs in letter case alone"
    assert why(under("/srv/STRASSE"), "/srv/straße/x") == "the value differs in letter case alone"


ALIKE = "the host is not clear: it holds a character that looks like one of an address"
ODD = "the host is not clear: it holds a blank, a backslash or an invisible character"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("https://example.com/a", "holds"),
        ("https://example.com/a b", ODD),
        ("https://example.com/a\\b", ODD),
        ("https://example.com/a\u200bb", ODD),
        ("https://example.com/a\u00a0b", ODD),
        ("https://example.com/a\u2028b", ODD),
        ("", "the host is not clear: it is empty"),
        ("https://example.com/\u2100", ALIKE),
        ("https://example.com/?a\uff20b", ALIKE),
        ("//example.com", "the host is not clear: it is neither a URL with its scheme, nor a mail address, nor a host"),
        ("example.com#", "the host is not clear: it is neither a URL with its scheme, nor a mail address, nor a host"),
        ("ftp://example.com", "holds"),
        ("ftp://example.com:21/x", "holds"),
        ("ws://example.com:80", "holds"),
        ("wss://example.com:443", "holds"),
        ("wss://example.com:80", "the host is not clear: it names an odd port"),
        ("https://example.com:", "the host is not clear: it names an odd port"),
        ("gopher://example.com", "the host is not clear: the scheme 'gopher' is not known"),
        ("https://bob@example.com", "the host is not clear: it names a user before the host"),
        ("b(o)b@example.com", "the host is not clear: what stands before the '@' is no plain mail address"),
        ("BOB@example.com", "holds"),
        ("mailto:eve@evil.org", "breaks"),
        ("256.0.0.1", "the host is not clear: it is a number that may be read as an address"),
        ("0x7f000001", "the host is not clear: it is a number that may be read as an address"),
        ("xn--a\u0308.com", "the host is not clear: it holds a name that cannot be decoded"),
        ("xn--example-.com", "the host is not clear: it holds a name that is written in an odd way"),
        ("fa\u00df.de", "the host is not clear: it holds a letter that is read in two ways"),
        ("ex\u0430mple.com", "the host is not clear: it holds letters that look like others"),
        ("\u0441\u043e\u0440\u0435.com", "the host is not clear: it holds letters that look like others"),
        ("\u0434\u043e\u043c.ru", "breaks"),
        ("\u65e5\u672c\u3054.jp", "breaks"),
        ("\u00fc\u2665.com", "the host is not clear: 'ü♥' is no part of a host"),
        ("a_b.example.com", "holds"),
        ("a-.example.com", "the host is not clear: 'a-' is no part of a host"),
        ("a" * 63 + ".example.com", "holds"),
        ("a" * 64 + ".example.com", f"the host is not clear: '{'a' * 64}' is no part of a host"),
        ("1.example.com", "holds"),
        ("b\u00fccher-x1.de", "breaks"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940.com", "breaks"),
        ("\u0661\u0662.com", "breaks"),
        (3, "the value is no host"),
    ],
)  # fmt: skip
def test_a_host_that_is_not_clear_says_why(value: Any, wanted: str) -> None:
    assert why(SHOP, value) == wanted


@pytest.mark.parametrize("name", ["\u00c4b", "\ufb01\u00fc", "\uff41\u00fc"])
def test_an_encoded_name_is_written_in_one_way(name: str) -> None:
    encoded = f"xn--{name.encode('punycode').decode('ascii')}.com"
    assert why(SHOP, encoded) == "the host is not clear: it holds a name that is written in an odd way"


def test_a_host_has_at_most_253_characters() -> None:
    below = ".".join(["a" * 49] * 4)  # 199, and a dot
    assert why(SHOP, f"{'b' * 41}.{below}.example.com") == "holds"
    assert why(SHOP, f"{'b' * 42}.{below}.example.com") == "the host is not clear: it is too long"


def test_an_address_lies_below_no_other_and_whose_it_is_cannot_be_told_from_a_name() -> None:
    home = {"op": "host", "in": ["127.0.0.1"]}
    assert why(home, "127.0.0.1") == "holds"
    assert why(home, "http://127.0.0.1:80/x") == "holds"
    assert why(home, "10.127.0.0.1") == "the host is not clear: it is a number that may be read as an address"
    assert why(home, "127.0.0.2") == "breaks"
    assert why(home, "example.com") == "breaks"
    assert why(SHOP, "127.0.0.1") == "whose the address is cannot be told"
