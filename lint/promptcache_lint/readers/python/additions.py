"""What syntax says of a list of messages: what is added to it, and what stands in it as it is sent.

Whether a conversation goes on in it is `following`'s business.
"""

from __future__ import annotations

import ast

from promptcache_lint.readers.python import blocks
from promptcache_lint.readers.python.walking import nodes_of
from promptcache_lint.readers.talks import says_history

__all__ = [
    "added_to",
    "adds_answer",
    "binds",
    "is_own",
    "is_written",
    "looks_up",
    "parts",
    "says_talk",
]

_ASKED = {"user", "system", "developer"}
_GROWS = {"append", "extend"}
_ADDS = {*_GROWS, "insert"}


def is_written(node: ast.AST) -> bool:
    """Whether a message stands in the source as it is sent, and is the same each time."""
    return not any(
        isinstance(each, ast.Call | ast.Attribute | ast.Starred)
        or (isinstance(each, ast.Name) and not each.id.isupper())
        for each in nodes_of(node)
    )


def parts(node: ast.AST) -> list[ast.expr]:
    """The names and attributes that a value is made of."""
    return [each for each in nodes_of(node) if isinstance(each, ast.Name | ast.Attribute)]


def says_talk(name: str) -> bool:
    """Whether a name says that it holds what was said before."""
    return bool(name) and says_history([name], [name])


def is_own(node: ast.AST) -> bool:
    """Whether something is an attribute of the object itself."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def binds(node: ast.AST, attribute: str) -> bool:
    """Whether a statement gives an attribute a value that is not made of the one it has."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    bound = any(isinstance(each, ast.Attribute) and each.attr == attribute for each in targets)
    return bound and attribute not in map(blocks.name_of, parts(node.value))


def adds_answer(node: ast.AST, name: str) -> bool:
    """Whether a list, by the last part of its name, gets more than questions: ``history.append(answer)``."""
    return bool(name) and _answered(node) == name


def _answered(node: ast.AST) -> str:
    """The list, by the last part of its name, that gets more than questions; empty where none does."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[added]) if attr in _GROWS:
            return "" if _is_asked(added) else blocks.name_of(owner)
        case ast.AugAssign(target=target, op=ast.Add(), value=added):
            return "" if _is_asked(added) else blocks.name_of(target)
        case _:
            return ""


def added_to(node: ast.AST) -> set[str]:
    """The variables that something is added to by a statement, or in the rounds of a loop as an answer."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=to), attr=attr), args=[*_, _]) if attr in _ADDS:
            return {to}
        case ast.AugAssign(target=ast.Name(id=to), op=ast.Add()):
            return {to}
        case ast.For() | ast.AsyncFor():
            return {*map(_answered, nodes_of(node))} - {""}
        case _:
            return set()


def _is_asked(added: ast.expr) -> bool:
    if isinstance(added, ast.List):
        return all(map(_is_asked, added.elts))
    if not isinstance(added, ast.Dict):
        return isinstance(added, ast.Constant | ast.JoinedStr)
    roles = [
        value
        for key, value in zip(added.keys, added.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "role"
    ]
    return bool(roles) and isinstance(roles[0], ast.Constant) and roles[0].value in _ASKED


def looks_up(node: ast.AST, *, back: bool) -> bool:
    """Whether a node looks up what is kept under a key; ``back``: it is put back there."""
    match node:
        case ast.Call(func=ast.Attribute(attr="setdefault"), args=[_, ast.List(elts=[])]):
            return True
        case ast.Call(func=ast.Attribute(attr="get")):
            return back
        case ast.Subscript(value=ast.Name() | ast.Attribute(), slice=ast.Name() | ast.Attribute()):
            return True
        case _:
            return False
