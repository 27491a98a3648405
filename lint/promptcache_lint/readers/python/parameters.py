"""What is known of a parameter when its function is run by itself: from its annotation, and its callers.

A parameter annotated as a set of texts has a set's order, and one annotated as a path a path's methods.
One that gets a literal from each call in its module is no unknown, so its name suggests nothing. Binding
arguments in real calls is left to `interpreter`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import Seq, Thing

if TYPE_CHECKING:
    from promptcache_lint.readers.python.modules import Function
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["gets_literals", "unbound_parameter"]

_PATH = "pathlib.Path"
_SETS = {"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"}


def unbound_parameter(parameter: ast.arg, function: Function, vocabulary: Vocabulary) -> Value:
    """The value of a parameter that nobody is known to bind."""
    name, place = parameter.arg, function.module.place(parameter)
    mark = vocabulary.call("set")
    if mark is not None and _is_set_of_texts(parameter.annotation):
        return Seq((Thing(settled=True),), (Trait(mark, place, name),), "set", partial=True)
    kind = _path_type(parameter.annotation, function)
    return Thing(name, type=kind, settled=not kind and gets_literals(name, function))


def _path_type(annotation: ast.expr | None, function: Function) -> str:
    """The type of a path that an annotation names, with or without None; empty for anything else."""
    match annotation:
        case ast.BinOp(left=inner, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _path_type(inner, function)
        case ast.Name(id=name) if function.module.imports.get(name) == _PATH:
            return _PATH
        case ast.Attribute(value=ast.Name(id="pathlib"), attr="Path"):
            return _PATH
        case _:
            return ""


def _is_set_of_texts(annotation: ast.expr | None) -> bool:
    """Whether an annotation says ``set[str]``, in any of its forms, or that or None."""
    match annotation:
        case ast.BinOp(left=inner, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _is_set_of_texts(inner)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _is_set_of_texts(inner)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=ast.Name(id="str")):
            return name in _SETS
        case _:
            return False


def gets_literals(name: str, function: Function) -> bool:
    """Whether each use of a function in its module is a call that gives this parameter a literal."""
    if function.owner is not None or function.module.functions.get(function.name) is not function:
        return False
    uses, calls = function.module.uses_of(function.name)
    if not 0 < uses == len(calls):
        return False
    arguments = function.node.args
    positional = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    index = positional.index(name) if name in positional else None
    return all(_is_literal(_given(call, name, index)) for call in calls)


def _given(call: ast.Call, name: str, index: int | None) -> ast.expr | None:
    """What a call gives to a parameter, by its name or its position."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if given is None and index is not None and index < len(call.args):
        return call.args[index]
    return given


def _is_literal(node: ast.expr | None) -> bool:
    """Whether an expression is written out to the last item, in an order of its own."""
    match node:
        case ast.Constant():
            return True
        case ast.List() | ast.Tuple():
            return all(map(_is_literal, node.elts))
        case ast.Dict():
            return all(key is not None and _is_literal(key) for key in node.keys) and all(
                map(_is_literal, node.values)
            )
        case _:
            return False
