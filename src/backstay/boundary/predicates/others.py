"""Checks against what stands elsewhere: another argument, the user's own words, the principal's claims, an owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from backstay.boundary.predicates.language import (
    Bound,
    Breach,
    Check,
    Op,
    Scene,
    Test,
    doubt,
    each,
    keys,
    left_out,
    named,
    nothing_given,
    present,
    shown,
)
from backstay.boundary.predicates.sets import key_of
from backstay.core.messages import Args, Json


def elsewhere(args: Args, name: str, like: str) -> Sequence[Bound]:
    """What stands at a dotted place of the arguments. In a list that `like` lies in, only of the item it lies in."""
    return present(tuple(_inside(args, "", name.split("."), like.split("."))))


def _inside(value: Json, at: str, rest: Sequence[str], like: Sequence[str]) -> Iterator[Bound]:
    if isinstance(value, list | tuple) and rest:
        mine = like[0] if like and like[0].isdecimal() else None
        for index, item in enumerate(value):
            if mine is None or mine == str(index):
                yield from _inside(item, f"{at}.{index}", rest, like[1:] if mine is not None else ())
    elif not rest:
        yield Bound(at.lstrip("."), "", value)
    elif isinstance(value, Mapping):
        is_same = bool(like) and like[0] == rest[0]
        yield from _inside(value.get(rest[0]), f"{at}.{rest[0]}", rest[1:], like[1:] if is_same else ())


def _keys(values: Sequence[Bound]) -> frozenset[str | None]:
    return frozenset(key_of(one.value) for one in values)


def _ready_same(check: Check) -> Test:
    name, text = check["argument"], _text_same(check)

    def test(bound: Sequence[Bound], scene: Scene) -> tuple[Breach, ...]:
        if left_out(check, bound):
            return nothing_given(text)
        broken: list[Breach] = []
        for one in bound:
            if one.value is None:
                continue
            mine, wanted = _keys(present((one,))), _keys(elsewhere(scene.args, name, one.path))
            if not wanted or None in mine or None in wanted:
                broken.append(doubt(one, f"{text}; {'there is none' if not wanted else 'they cannot be compared'}"))
            elif mine != wanted:
                broken.append(Breach(one.path, shown(one.value), text))
        return tuple(broken)

    return test


def _ready_subset(check: Check) -> Test:
    name, text = check.get("argument"), _text_subset(check)
    fixed = None if name is not None else frozenset(key_of(one) for one in check["of"])

    def judge(one: Bound, scene: Scene) -> Breach | None:
        allowed = _keys(elsewhere(scene.args, str(name), one.path)) if fixed is None else fixed
        key = key_of(one.value)
        if key is None or None in allowed:
            return doubt(one, f"{text}; the value cannot be compared")
        return None if key in allowed else Breach(one.path, shown(one.value), text)

    return each(check, text, judge)


def _ready_words(check: Check) -> Test:
    text = _text_words(check)

    def judge(one: Bound, scene: Scene) -> Breach | None:
        value = one.value
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            return doubt(one, f"{text}; the value is no word or number")
        if scene.words is None:
            return doubt(one, f"{text}; nothing is known of them")
        mark, _, kind = one.meaning.partition(":")
        is_id = mark == "id"
        is_said = scene.words.is_said(str(value), exact=is_id, kind=kind if is_id else "")
        return None if is_said else Breach(one.path, shown(value), text)

    return each(check, text, judge)


def _ready_claim(check: Check) -> Test:
    name, text = check["name"], _text_claim(check)

    def judge(one: Bound, scene: Scene) -> Breach | None:
        claim, key = scene.principal.claims.get(name), key_of(one.value)
        allowed = _keys(present((Bound(name, "", claim),)))
        if not allowed or None in allowed:
            return doubt(one, f"{text}; nothing is known of it")
        if key is None:
            return doubt(one, f"{text}; the value cannot be compared")
        return None if key in allowed else Breach(one.path, shown(one.value), text)

    return each(check, text, judge)


def _ready_owned(check: Check) -> Test:
    text, given = _text_owned(check), check.get("kind")

    def judge(one: Bound, scene: Scene) -> Breach | None:
        kind = given or one.meaning.partition("id:")[2]
        if not kind or kind not in scene.owners:
            raise ValueError(f"nobody has said whose {kind or 'such a thing'} is: Boundary(owners={{{kind!r}: ...}})")
        value = one.value
        if isinstance(value, bool) or not isinstance(value, str | int):
            return doubt(one, f"{text}; the value is no identifier")
        try:
            owner = scene.owners[kind](str(value))
        except Exception as error:  # whatever a developer's function raises, the call is denied
            raise ValueError(f"owners[{kind!r}] raised {type(error).__name__}") from error
        if owner is not None and not isinstance(owner, str):
            raise ValueError(f"owners[{kind!r}] returned {type(owner).__name__}, expected a principal's id or None")
        return None if owner == scene.principal.id and owner else Breach(one.path, shown(value), text)

    return each(check, text, judge)


def _problems_subset(check: Check, _depth: int) -> list[str]:
    if ("argument" in check) == ("of" in check):
        return ["'subset_of' has either an 'argument' or an 'of'"]
    if "argument" in check:
        return keys(check, {"argument"}) + named(check, "argument")
    values = check["of"]
    if not isinstance(values, list | tuple) or not values:
        return ["of must be an array of at least one text or number"]
    return keys(check, {"of"}) + [
        f"of may hold texts and numbers, got {shown(one)}" for one in values if key_of(one) is None
    ]


def _problems_owned(check: Check, _depth: int) -> list[str]:
    return keys(check, set(), frozenset({"kind"})) + (named(check, "kind") if "kind" in check else [])


def _text_same(check: Check) -> str:
    return f"only the same as {check['argument']}"


def _text_subset(check: Check) -> str:
    return f"only among {check['argument'] if 'argument' in check else ', '.join(map(shown, check['of']))}"


def _text_words(_check: Check) -> str:
    return "only what stands in the user's own words"


def _text_claim(check: Check) -> str:
    return f"only the {check['name']} of the person it is for"


def _text_owned(check: Check) -> str:
    return f"only {check['kind'] + 's' if 'kind' in check else 'what'} of the person it is for"


OTHERS: Mapping[str, Op] = {
    "same_as": Op(
        _ready_same, left_out, lambda check, _depth: keys(check, {"argument"}) + named(check, "argument"), _text_same
    ),
    "subset_of": Op(_ready_subset, left_out, _problems_subset, _text_subset),
    "own_words": Op(_ready_words, left_out, lambda check, _depth: keys(check, set()), _text_words),
    "claim": Op(
        _ready_claim, left_out, lambda check, _depth: keys(check, {"name"}) + named(check, "name"), _text_claim
    ),
    "owned_by": Op(_ready_owned, left_out, _problems_owned, _text_owned),
}
