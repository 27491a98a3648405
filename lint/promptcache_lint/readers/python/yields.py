"""What of a function can reach its caller: the expressions behind its results and behind what it changes.

A clock that is only logged, or a time taken and measured, is no part of it. Goes by names, without regard to
the order of statements, so that rather too much flows than too little.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.callees import is_request
from promptcache_lint.readers.python.walking import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from promptcache_lint.readers.python.program import Function

__all__ = ["Flow", "flow_into", "flow_of"]

_GROWING = frozenset(
    {
        *("append", "appendleft", "add", "insert", "extend", "update", "setdefault", "put", "write"),
        "writelines",
    }
)
_MOVING = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr),
    *(ast.For, ast.AsyncFor, ast.comprehension, ast.withitem, ast.Match),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Global, ast.Nonlocal, ast.Expr),
)
"""The nodes that move a value from one place to another."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The names in all expressions that may flow out of a function; ``called`` are those that are called.

    ``sets``: a set is displayed in one of them.
    """

    words: frozenset[str]
    called: frozenset[str]
    sets: bool


def flow_of(function: Function) -> Flow:
    """What may flow out of a function."""
    return _flow(_Slice(function))


def flow_into(function: Function, names: AbstractSet[str]) -> Flow:
    """What may flow from a function into those it calls, or hands on, by one of ``names``."""
    moves = _Slice(function, inside=True)
    moves.roots = []
    for node in function.kinds.get(ast.Call, ()):
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if _last_name(node.func) in names or any(_last_name(value) in names for value in given):
            moves.roots += given
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is not None and _last_name(owner) not in {"self", "cls"}:
                moves.roots.append(owner)
    return _flow(moves)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case _:
            return ""


def _flow(moves: _Slice) -> Flow:
    words: set[str] = set()
    called: set[str] = set()
    sets = False
    for node in moves.reached():
        if type(node) is ast.Name:
            words.add(node.id)
        elif type(node) is ast.Attribute:
            words.add(node.attr)
        elif type(node) is ast.Call:
            if type(node.func) is ast.Name:
                called.add(node.func.id)
            elif type(node.func) is ast.Attribute:
                called.add(node.func.attr)
        elif type(node) is ast.Set or type(node) is ast.SetComp:
            sets = True
    return Flow(frozenset(words), frozenset(called), sets)


def _is_answer(call: ast.Call) -> bool:
    """Whether a call asks a model: what it answers has nothing of what it was asked, or of its client."""
    return isinstance(call.func, ast.Attribute) and is_request(call)


class _Slice:
    """``roots`` leave the function; ``behind`` holds, for each variable, what may be stored in it.

    ``inside``: what comes from outside is not told apart; what is stored in it matters in the function too.
    """

    def __init__(self, function: Function, *, inside: bool = False) -> None:
        node = function.node
        parameters = node.args
        given = (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)
        self._outer = set() if inside else {parameter.arg for parameter in given}
        self.roots: list[ast.AST] = [*parameters.defaults, *filter(None, parameters.kw_defaults)]
        if isinstance(node, ast.Lambda):
            self.roots.append(node.body)
        self._behind: dict[str, list[ast.AST]] = {}
        for inner in (inner for kind in _MOVING for inner in function.kinds.get(kind, ())):
            if inner is not node:
                self._enter(inner)

    def reached(self) -> Iterator[ast.AST]:
        """The nodes of all expressions that flow out."""
        pending: list[ast.AST] = list(self.roots)
        seen: set[str] = set()
        answered: set[ast.AST] = set()
        while pending:
            for inner in nodes_of(pending.pop()):
                if inner in answered:
                    continue
                if type(inner) is ast.Call and _is_answer(inner):
                    answered.update(nodes_of(inner))
                    continue
                yield inner
                if type(inner) is ast.Name and inner.id not in seen:
                    seen.add(inner.id)
                    pending += self._behind.get(inner.id, ())

    def _enter(self, node: ast.AST) -> None:
        match node:
            case ast.Return() | ast.Yield() | ast.YieldFrom():
                self.roots += [node.value] if node.value is not None else []
            case ast.Assign():
                for target in node.targets:
                    self._store(target, node.value)
            case (
                ast.AnnAssign(value=ast.expr() as value)
                | ast.AugAssign(value=value)
                | ast.NamedExpr(value=value)
            ):
                self._store(node.target, value)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                self._store(node.target, node.iter)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._store(target, node.context_expr)
            case ast.Match():
                self._capture(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._behind.setdefault(node.name, []).append(node)
            case ast.Global() | ast.Nonlocal():
                self._outer.update(node.names)
                for name in node.names:
                    self.roots += self._behind.get(name, ())
            case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
                self._given_away(call)
            case _:
                return

    def _capture(self, node: ast.Match) -> None:
        for pattern in nodes_of(node):
            if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                self._behind.setdefault(pattern.name, []).append(node.subject)

    def _store(self, target: ast.expr, value: ast.expr) -> None:
        """A value comes into a variable, or into what it refers to: what came from outside leaves with it."""
        match target:
            case ast.Name():
                self._behind.setdefault(target.id, []).append(value)
                if target.id in self._outer:
                    self.roots.append(value)
            case ast.Tuple() | ast.List():
                for inner in target.elts:
                    self._store(inner, value)
            case ast.Starred():
                self._store(target.value, value)
            case ast.Attribute() | ast.Subscript():
                self._into(target.value, value)
            case _:
                return

    def _into(self, owner: ast.expr, value: ast.expr) -> None:
        while isinstance(owner, ast.Attribute | ast.Subscript):
            owner = owner.value
        if isinstance(owner, ast.Name) and owner.id not in self._outer:
            self._behind.setdefault(owner.id, []).append(value)
        else:
            self.roots.append(value)

    def _given_away(self, call: ast.Call) -> None:
        """A call whose result nobody takes may change its receiver and its arguments."""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        match call.func:
            case ast.Attribute(attr=name, value=owner) if name in _GROWING:
                for value in given:
                    self._into(owner, value)
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                self.roots.append(call)
            case ast.Name(id="print"):
                for stream in (keyword.value for keyword in call.keywords if keyword.arg == "file"):
                    for value in call.args:
                        self._into(stream, value)
            case ast.Name():
                for value in given:
                    if isinstance(value, ast.Name | ast.Attribute):
                        self._into(value, call)
            case _:
                return
