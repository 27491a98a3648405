"""What syntax says of when a statement is run, of what a name is given, and of a call's arguments."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.callees import is_request
from promptcache_lint.readers.python.walking import children_of, nodes_of
from promptcache_lint.readers.talks import is_talk

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "argument",
    "around",
    "asks_for_it",
    "calls",
    "definitions",
    "ends",
    "fields_called",
    "holds",
    "is_given",
    "is_in",
    "is_of_a_failure",
    "name_of",
    "names_in",
    "own_nodes",
    "parameters",
    "parents_of",
    "sends_within",
    "stores",
]

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRIES = re.compile(r"(?:_?(?:attempts?|retry|retries|try_?\w*|tries)\w*)")
_ADDS = {"append", "extend", "insert", "add", "write", "add_message"}

Around = list[tuple[ast.AST, str]]
"""The branches, loops and handlers around a statement, outermost first, each with the part it stands in."""


@lru_cache(maxsize=32)  # one file has many findings
def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """What each node stands in."""
    return {child: node for node in nodes_of(tree) for child in children_of(node)}


def around(node: ast.AST, above: dict[ast.AST, ast.AST], top: ast.AST | None = None) -> Around:
    """What decides, in its function, whether and how often a node is run."""
    found: Around = []
    at, outer = node, above.get(node)
    while outer is not None and outer is not top and not isinstance(outer, _FunctionNode):
        part = _part(outer, at)
        if part:
            found.append((outer, part))
        at, outer = outer, above.get(outer)
    return found[::-1]


def _part(outer: ast.AST, inner: ast.AST) -> str:
    """The part of a branch or loop that a node stands in; empty where it is run in any case."""
    match outer:
        case ast.If() | ast.While() if inner is outer.test:
            return ""
        case ast.For() | ast.AsyncFor() if inner is outer.iter or _is_of_tries(outer):
            return ""
        case ast.If() | ast.While() | ast.For() | ast.AsyncFor():
            return "orelse" if inner in outer.orelse else "body"
        case ast.ExceptHandler() | ast.match_case():
            return "body"
        case _:
            return ""


def _is_of_tries(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop sends one request again where it has failed."""
    return isinstance(loop.target, ast.Name) and _TRIES.fullmatch(loop.target.id) is not None


def holds(defined: Around, used: Around) -> bool:
    """Whether what is defined there is so wherever it is used, and anew in each round that uses it."""
    if defined != used[: len(defined)]:
        return False
    return not any(isinstance(outer, _LOOPS) for outer, _ in used[len(defined) :])


def is_in(node: ast.AST, outer: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a node stands in another one."""
    at: ast.AST | None = node
    while at is not None and at is not outer:
        at = above.get(at)
    return at is not None


def asks_for_it(test: ast.expr, node: ast.AST) -> bool:
    """Whether a branch only asks whether there is what the message holds: ``if system: … {… system}``."""
    wanted = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) else test
    return isinstance(wanted, ast.Name) and any(
        isinstance(inner, ast.Name) and inner.id == wanted.id for inner in nodes_of(node)
    )


def sends_within(outer: ast.AST) -> bool:
    """Whether a request to a model is made, or the result given back, in a branch or loop."""
    return any(
        isinstance(node, ast.Return) or (isinstance(node, ast.Call) and is_request(node))
        for node in nodes_of(outer)
    )


def names_in(function: _FunctionNode, texts: set[str]) -> Iterator[str]:
    """The names that a function uses, and which of ``texts`` it writes out."""
    clients = {
        id(node.value)
        for node in nodes_of(function)
        if isinstance(node, ast.Attribute) and node.attr in {"create", "stream", "parse", "count_tokens"}
    }
    for node in nodes_of(function):
        match node:
            case ast.Attribute(attr=name) if id(node) not in clients:
                yield "history" if is_talk(name) else name
            case ast.Name(id=name):
                yield name
            case ast.Constant(value=str() as text) if text in texts:
                yield "history"
            case _:
                continue


def own_nodes(function: _FunctionNode) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    body = function.body if isinstance(function.body, list) else [function.body]
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _FunctionNode | ast.ClassDef):
            pending += children_of(node)


@lru_cache(maxsize=512)
def definitions(name: str, function: _FunctionNode) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements that give a variable or attribute a value, and those that add to the one it has."""
    bases: list[ast.stmt] = []
    adds: list[ast.stmt] = []
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=owner)]) if _is(owner, name):
                adds.append(node)
            case ast.Assign(targets=targets, value=value) if any(name in _bound(each) for each in targets):
                (adds if _mentions(value, name) else bases).append(node)
            case ast.AnnAssign(target=target, value=ast.expr()) if name in _bound(target):
                bases.append(node)
            case ast.AugAssign(target=target) if name in _bound(target):
                adds.append(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=attr))) if (
                attr in _ADDS and _is(owner, name)
            ):
                adds.append(node)
            case ast.For(target=target) | ast.AsyncFor(target=target) if name in _bound(target):
                bases.append(node)
            case ast.With(items=items) | ast.AsyncWith(items=items) if any(
                item.optional_vars is not None and name in _bound(item.optional_vars) for item in items
            ):
                bases.append(node)
            case _:
                continue
    return bases, adds


def _bound(target: ast.expr) -> set[str]:
    """The variables and attributes that an assignment gives a value."""
    named = (node for node in nodes_of(target) if isinstance(node, ast.Name | ast.Attribute))
    return {ast.unparse(node) for node in named if isinstance(node.ctx, ast.Store)}


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == name


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(inner, ast.expr) and _is(inner, name) for inner in nodes_of(node))


def is_of_a_failure(
    node: ast.Return, above: dict[ast.AST, ast.AST], function: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    """Whether nothing is given back, for something has failed."""
    nothing = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    return nothing and any(isinstance(outer, ast.ExceptHandler) for outer, _ in around(node, above, function))


def ends(body: list[ast.stmt]) -> bool:
    """Whether control never comes past the last of some statements: each way through gives something back."""
    match body[-1] if body else None:
        case ast.Return() | ast.Raise():
            return True
        case ast.If(body=first, orelse=other):
            return ends(first) and ends(other)
        case ast.With(body=inner) | ast.AsyncWith(body=inner):
            return ends(inner)
        case ast.Try(body=inner, handlers=handlers, orelse=other, finalbody=last):
            tried = ends(other or inner) and all(ends(handler.body) for handler in handlers)
            return tried or ends(last)
        case ast.While(test=ast.Constant(value=True)) as loop:
            return not any(isinstance(node, ast.Break) for node in nodes_of(loop))
        case ast.Match(cases=cases):
            return all(ends(case.body) for case in cases) and isinstance(cases[-1].pattern, ast.MatchAs)
        case _:
            return False


def name_of(node: ast.expr) -> str:
    """The last part of what is called."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _arguments(function: _FunctionNode) -> list[str]:
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def parameters(function: _FunctionNode) -> set[str]:
    """The names of a function's parameters, but for its object and the starred ones."""
    return {*_arguments(function), *(each.arg for each in function.args.kwonlyargs)}


def argument(call: ast.Call, function: _FunctionNode, name: str) -> ast.expr | None:
    """What a call gives to a parameter; None where nothing, or where a star hides it."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    names = _arguments(function)
    if any(isinstance(each, ast.Starred) for each in call.args) or name not in names:
        return None
    index = names.index(name)
    return call.args[index] if index < len(call.args) else None


def calls(call: ast.Call, function: _FunctionNode) -> bool:
    """Whether a call is of a function, by its name."""
    return not isinstance(function, ast.Lambda) and name_of(call.func) == function.name


def fields_called(name: str, tree: ast.AST) -> Iterator[tuple[ast.expr, int]]:
    """The defaults of the fields of that name that classes declare, each with its position among them."""
    for cls in (node for node in nodes_of(tree) if isinstance(node, ast.ClassDef)):
        declared = [each for each in cls.body if isinstance(each, ast.AnnAssign | ast.Assign)]
        for index, field in enumerate(declared):
            target = field.target if isinstance(field, ast.AnnAssign) else field.targets[0]
            if isinstance(target, ast.Name) and target.id == name and field.value is not None:
                yield field.value, index


def is_given(call: ast.Call, field: str, index: int) -> bool:
    """Whether an object is made with a value of its own for a field."""
    return any(keyword.arg in {field, None} for keyword in call.keywords) or index < len(call.args)


def stores(node: ast.Assign, attribute: str) -> bool:
    """Whether an assignment is to an attribute of that name."""
    return any(isinstance(target, ast.Attribute) and target.attr == attribute for target in node.targets)
