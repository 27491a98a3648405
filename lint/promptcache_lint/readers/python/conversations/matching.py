"""Which parameter of a function gets which argument of a call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["matched"]

_OWN = {"self", "cls"}


def matched(call: ast.Call, node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The parameters of a function with what a call gives them."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    positional = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
    if positional[:1] and positional[0] in _OWN:
        positional = positional[1:]
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        yield from zip(positional, call.args, strict=False)
    named = {*positional, *(argument.arg for argument in node.args.kwonlyargs)}
    yield from ((each.arg, each.value) for each in call.keywords if each.arg in named)
