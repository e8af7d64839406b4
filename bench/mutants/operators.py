"""What may be wrong in a module: every mutant of it, as a syntax tree."""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Change: TypeAlias = tuple[ast.AST | None, str]
"""What stands in the place of a node (None: nothing), and how it is told where that is not its source."""

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}
_SMOOTHING = frozenset({"strip", "lstrip", "rstrip", "casefold", "lower", "upper", "normalize"})
"""Methods without which a text stays as it was given."""
_WORD = re.compile(r"[a-z_*]+([.:_-][a-z_*]*)*\Z")
"""A text that programs compare; a sentence for a reader is no mutant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change to a module."""

    id: str
    """Digest of module, function, change and which of several equal ones it is: it survives moved lines."""
    module: str
    """Path inside the package's folder, such as `boundary/judge.py`."""
    function: str
    """Dotted name of the function or class around it, empty at the top."""
    line: int
    first: int
    last: int
    """First and last line of the statement around it, or of the head of a compound one."""
    is_inside: bool
    """Whether it runs when a function is called; what stands outside runs at import."""
    before: str
    after: str
    path: tuple[tuple[str, int], ...]
    """Where the node stands in the tree: fields and places in them (-1: no list)."""
    change: ast.AST | None


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines."""
    found: list[Mutant] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for node, path, around in _nodes(ast.parse(source), (), _Around()):
        for change, told in _changes(node, around):
            before, after = _told(node, ""), _told(change, told)
            same = (module, around.function, before, after)
            seen[same] += 1
            name = hashlib.sha256("\0".join((*same, str(seen[same]))).encode()).hexdigest()[:10]
            first, last = around.lines or (1, 1)
            found.append(
                Mutant(
                    id=name, module=module, function=around.function, line=getattr(node, "lineno", first),
                    first=first, last=last, is_inside=around.is_inside, before=before, after=after,
                    path=path, change=change,
                )
            )  # fmt: skip
    return found


def applied(mutant: Mutant, source: str) -> ast.Module:
    """Return the module's tree with the change made."""
    tree = ast.parse(source)
    node: Any = tree
    for field, index in mutant.path[:-1]:
        node = getattr(node, field) if index < 0 else getattr(node, field)[index]
    field, index = mutant.path[-1]
    old = getattr(node, field) if index < 0 else getattr(node, field)[index]
    new = ast.copy_location(ast.Pass() if mutant.change is None else copy.deepcopy(mutant.change), old)
    if index < 0:
        setattr(node, field, new)
    else:
        getattr(node, field)[index] = new
    return ast.fix_missing_locations(tree)


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a node."""

    function: str = ""
    lines: tuple[int, int] | None = None
    returns: str = ""
    bound: frozenset[str] = frozenset()
    """Names that have a value before the statement: without it they would have another."""
    is_inside: bool = False
    is_condition: bool = False
    """Whether it decides alone, or as a part of `and` or `or`, over a branch."""


def _nodes(
    node: ast.AST, path: tuple[tuple[str, int], ...], around: _Around
) -> Iterator[tuple[ast.AST, tuple[tuple[str, int], ...], _Around]]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "ctx"):
            continue
        known = set(around.bound)
        for index, child in enumerate(value) if isinstance(value, list) else ((-1, value),):
            if not isinstance(child, ast.AST) or _is_no_code(child):
                continue
            here = replace(
                _inside(child, around, frozenset(known)),
                is_inside=around.is_inside or (field == "body" and isinstance(node, ast.FunctionDef)),
                is_condition=_decides(node, field),
            )
            way = (*path, (field, index))
            yield child, way, here
            yield from _nodes(child, way, here)
            if isinstance(child, ast.stmt):
                known |= {one.id for one in ast.walk(child) if isinstance(one, ast.Name) and _is_stored(one)}


def _decides(node: ast.AST, field: str) -> bool:
    return (isinstance(node, ast.If | ast.IfExp) and field == "test") or isinstance(node, ast.BoolOp)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_no_code(node: ast.AST) -> bool:
    """Imports, docstrings and the names of types."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.annotation).endswith("TypeAlias")
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_type = isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal")
    return is_text or is_type or isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr)


def _inside(node: ast.AST, around: _Around, bound: frozenset[str]) -> _Around:
    if not isinstance(node, ast.stmt):
        return around
    name, returns = around.function, around.returns
    body = getattr(node, "body", None)
    last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        name = f"{name}.{node.name}".strip(".")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        bound = frozenset(one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg))
        returns = ast.unparse(node.returns) if node.returns else ""
    return replace(around, function=name, lines=(node.lineno, last), returns=returns, bound=bound)


def _changes(node: ast.AST, around: _Around) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from _other_comparisons(node, around)
        case ast.BoolOp(op=op, values=values):
            for index in range(len(values)):
                rest = [*values[:index], *values[index + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest), ""
        case ast.UnaryOp(op=ast.Not() | ast.USub()) if not around.is_condition:
            yield node.operand, ""
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC and not _is_text(node.left) and not _is_text(node.right):
            yield ast.BinOp(node.left, _ARITHMETIC[type(op)](), node.right), ""
        case ast.Constant(value=value):
            yield from ((ast.Constant(one), "") for one in _other_constants(value))
        case ast.IfExp():
            yield node.body, ""
            yield node.orelse, ""
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(node.target, node.iter, [], node.is_async), ""
        case ast.Call():
            yield from _other_calls(node)
        case ast.stmt():
            yield from _other_statements(node, around)


def _other_comparisons(node: ast.Compare, around: _Around) -> Iterator[Change]:
    for index, op in enumerate(node.ops):
        others = _COMPARE[type(op)]
        # What is a whole condition, or a part of one, is also taken away; its opposite would tell nothing more.
        for other in others[: len(others) - (around.is_condition or len(node.ops) > 1)]:
            ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
            yield ast.Compare(node.left, ops, node.comparators), ""


def _other_calls(node: ast.Call) -> Iterator[Change]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _SWAPPED:
            yield ast.Call(ast.Name(_SWAPPED[name], ast.Load()), node.args, node.keywords), ""
        case ast.Call(func=ast.Name(id="normalize"), args=[_, given]):
            yield given, ""
        case ast.Call(func=ast.Attribute(value=given, attr=name)) if name in _SMOOTHING:
            yield given, ""


def _other_statements(node: ast.stmt, around: _Around) -> Iterator[Change]:
    match node:
        case ast.If():
            yield ast.If(ast.Constant(False), node.body, node.orelse), "if False"
            yield ast.If(ast.Constant(True), node.body, node.orelse), "if True"
        case ast.While():
            yield ast.While(ast.Constant(False), node.body, node.orelse), "while False"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            others = (True, False) if around.returns in ("bool", "TypeGuard") else (None,)
            for one in others:
                if not (isinstance(value, ast.Constant) and value.value is one):
                    yield ast.Return(ast.Constant(one)), ""
        case ast.Continue() | ast.Break() | ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Expr():
            yield None, "pass"
        case ast.Assign(targets=targets):
            if any(_keeps(one, around.bound) for one in targets):
                yield None, "pass"


def _keeps(target: ast.expr, bound: frozenset[str]) -> bool:
    """Whether what is assigned to has a value without it too."""
    return isinstance(target, ast.Attribute | ast.Subscript) or (isinstance(target, ast.Name) and target.id in bound)


def _other_constants(value: object) -> tuple[bool | float | str, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int | float):
        return (value + 1, value - 1) if value else (1,)
    if isinstance(value, str):
        if not value:
            return ("x",)
        return (value + "x",) if _WORD.match(value) else ()
    return ()


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _told(node: ast.AST | None, told: str) -> str:
    """The source of a node on one line; of a compound statement its head."""
    if told or node is None:
        return told or "pass"
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    if isinstance(node, ast.comprehension):
        return ast.unparse(node).strip()
    return " ".join(ast.unparse(node).split())
