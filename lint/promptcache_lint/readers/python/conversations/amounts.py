"""How large the numbers are that a function names: literals, constants, defaults, and sums of them."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import constant, spell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["amount", "before_end", "is_share", "names_in"]

_SIGNS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_DEEPEST = 4


def amount(node: ast.AST | None, facts: Facts, room: int = _DEEPEST) -> float | None:
    """The number that an expression stands for, the largest of several; None if it is not seen."""
    value = constant(node)
    if isinstance(value, int | float):
        return value
    if room == 0:
        return None
    match node:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv()):
            left, right = amount(node.left, facts, room - 1), amount(node.right, facts, room - 1)
            return left / right if left is not None and right else None
        case ast.BinOp() if type(node.op) in _SIGNS:
            left, right = amount(node.left, facts, room - 1), amount(node.right, facts, room - 1)
            return None if left is None or right is None else _SIGNS[type(node.op)](left, right)
        case ast.IfExp(body=first, orelse=second):
            either = [amount(first, facts, room - 1), amount(second, facts, room - 1)]
            return None if None in either else max(number for number in either if number is not None)
        case ast.Name() | ast.Attribute():
            found = [amount(given, facts, room - 1) for given in _given(spell(node), facts)]
            known = [number for number in found if number is not None]
            return max(known) if known else None
        case _:
            return None


def before_end(lower: ast.expr) -> ast.expr | None:
    """How many of the last items a slice has that begins there: ``n`` of ``-n``, ``2 * n`` of ``-2 * n``."""
    match lower:
        case ast.UnaryOp(op=ast.USub()):
            return lower.operand
        case ast.BinOp(op=ast.Mult(), left=left, right=right) if (counted := before_end(left)) is not None:
            return ast.copy_location(ast.BinOp(counted, lower.op, right), lower)
        case _:
            return None


def is_share(node: ast.AST | None, facts: Facts) -> bool:
    """Whether an expression is a part of something by the code's own words: ``n // 2``, ``limit * 0.5``."""
    written = [node, *_given(spell(node), facts)]
    return any(_divides(inner) for value in written if value is not None for inner in ast.walk(value))


def names_in(node: ast.AST | None) -> set[str]:
    """The names and attributes that an expression is made of."""
    return {name for inner in ast.walk(node) if (name := spell(inner))} if node is not None else set()


def _divides(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Div() | ast.FloorDiv()):
            return True
        case ast.BinOp(op=ast.Mult(), left=ast.Constant(value=float() as share)):
            return share < 1
        case ast.BinOp(op=ast.Mult(), right=ast.Constant(value=float() as share)):
            return share < 1
        case _:
            return False


def _given(name: str, facts: Facts) -> list[ast.expr]:
    """What a name is given: in the function, as a default, or for an attribute anywhere in the module."""
    if not name:
        return []
    if "." in name:
        return list(_of_attribute(name, facts))
    own = [value for node in facts.of(ast.Assign) for target, value in _pairs(node) if spell(target) == name]
    own += [
        default
        for node in facts.of(ast.arguments)
        if isinstance(node, ast.arguments)
        for argument, default in _defaults(node)
        if argument == name
    ]
    if own or any(isinstance(node, ast.arg) and node.arg == name for node in facts.of(ast.arg)):
        return own
    body = facts.module.tree.body
    return [value for node in body for target, value in _pairs(node) if spell(target) == name]


def _of_attribute(name: str, facts: Facts) -> Iterator[ast.expr]:
    """What ``self.most`` is given in the classes of the module: there, in ``__init__``, or by its default."""
    last = name.rpartition(".")[2]
    for cls in (node for node in facts.module.tree.body if isinstance(node, ast.ClassDef)):
        for statement in cls.body:
            yield from (value for target, value in _pairs(statement) if spell(target) == last)
            if not isinstance(statement, ast.FunctionDef) or statement.name != "__init__":
                continue
            defaults = dict(_defaults(statement.args))
            for inner in ast.walk(statement):
                for target, value in _pairs(inner):
                    if spell(target) == name:
                        yield defaults.get(spell(value), value)


def _defaults(arguments: ast.arguments) -> list[tuple[str, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    late = positional[len(positional) - len(arguments.defaults) :]
    found = [(each.arg, default) for each, default in zip(late, arguments.defaults, strict=True)]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return found + [(each.arg, default) for each, default in named if default is not None]


def _pairs(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its value; ``HIGH, LOW = 200, 100`` are two."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
            targets
        ) == len(values):
            return list(zip(targets, values, strict=True))
        case ast.Assign():
            return [(target, node.value) for target in node.targets]
        case ast.AnnAssign(value=ast.expr() as value):
            return [(node.target, value)]
        case _:
            return []
