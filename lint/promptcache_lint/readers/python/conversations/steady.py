"""Values that are written over a message and are the same in every turn, so that nothing is lost by it."""

from __future__ import annotations

import ast
import re

from promptcache_lint.readers.python.conversations.facts import constant, role_of

__all__ = ["is_cleaned", "is_fixed", "is_own"]

_CONFIGURED = re.compile(r"(?:_|^)(?:prompt|instructions?|persona|preamble)$")
"""``agent.output_prompt``: what somebody was set up with, the same in each turn."""
_REPEATABLE = {"replace", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"}


def is_fixed(value: ast.expr | None) -> bool:
    """A value that is the same each time: a literal, a constant of the module, a message made of those."""
    match value:
        case ast.Constant():
            return True
        case ast.Name():
            return value.id.isupper()
        case ast.Attribute():
            return _CONFIGURED.search(value.attr) is not None
        case ast.Dict():
            return all(is_fixed(inner) for inner in value.values)
        case ast.Call() if role_of(value):
            return all(is_fixed(inner) for inner in [*value.args, *(k.value for k in value.keywords)])
        case _:
            return False


def is_cleaned(target: ast.expr, value: ast.expr | None) -> bool:
    """``m.content = m.content.replace(a, b)``, ``.strip()``: done again, it changes nothing more."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _REPEATABLE:
            return False
        if value.func.attr == "replace" and not isinstance(
            constant(value.args[0] if value.args else None), str
        ):
            return False
        value = value.func.value
        if ast.unparse(value) == ast.unparse(target):
            return True
    return False


def is_own(target: ast.expr, value: ast.expr | None) -> bool:
    """``copy["content"] = f"{copy['content']} Use JSON."``: made of the message alone, so the same again."""
    owner = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
    if value is None or isinstance(value, ast.Name):
        return False
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return bool(names & owner) and all(name in owner or name.isupper() or name == "str" for name in names)
