"""Tools that are listed from an attribute to which the conversation adds: ``self.active`` and its like."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, is_model_call, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.conversations.facts import Facts
    from promptcache_lint.readers.python.modules import Class, Function

__all__ = ["growth", "moved_key"]

_GROWS = {"add", "append", "update", "extend", "insert", "remove", "discard", "pop", "clear"}
_IN_A_TALK = re.compile(
    r"_?(?:activate|enable|disable|discover|unlock|load|reveal|expand|handle|dispatch|on|use|run|execute|call|apply"
    r"|process)(?:_\w+)?"
)
_DEEPEST = 2


def growth(value: ast.expr, facts: Facts) -> tuple[ast.AST, Severity] | None:
    """Where what the tools are listed from grows, and how sure it is that a talk makes it grow."""
    cls = _class_of(facts)
    if cls is None:
        return None
    names = {name for name in _attributes(value, cls, _DEEPEST) if not name.rpartition(".")[2].isupper()}
    if not names:
        return None
    asking = next((method for method in cls.methods.values() if method.node is facts.node), None)
    for method in sorted(cls.methods.values(), key=lambda each: each is not asking):
        own = method is asking
        if not own and not (_IN_A_TALK.fullmatch(method.name) and _is_called(method.name, facts)):
            continue
        for node in ast.walk(method.node):
            if _grown(node) in names:
                return node, Severity.ERROR if own else Severity.WARNING
    return None


def moved_key(value: ast.expr, facts: Facts) -> ast.AST | None:
    """Where the talk moves on from one entry of a table of tools to another: ``TOOLS[self.stage]``."""
    match value:
        case (
            ast.Subscript(slice=ast.Attribute(value=ast.Name(id="self")) as key)
            | ast.Call(
                func=ast.Attribute(attr="get"), args=[ast.Attribute(value=ast.Name(id="self")) as key, *_]
            )
        ):
            name = spell(key)
        case _:
            return None
    cls = _class_of(facts)
    for method in cls.methods.values() if cls is not None else ():
        if method.node is facts.node or _is_called(method.name, facts):
            for node in method.kinds.get(ast.Assign, ()):
                if isinstance(node, ast.Assign) and name in map(spell, node.targets):
                    return node
    return None


def _class_of(facts: Facts) -> Class | None:
    for cls in facts.module.classes.values():
        if any(method.node is facts.node for method in cls.methods.values()):
            return cls
    return None


def _attributes(value: ast.AST, cls: Class, room: int) -> Iterator[str]:
    """The attributes that an expression goes through, or a method of the class that it calls."""
    for node in ast.walk(value):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                method: Function | None = cls.methods.get(name)
                if method is not None and room > 0:
                    for inner in ast.walk(method.node):
                        if isinstance(inner, ast.Return) and inner.value is not None:
                            yield from _attributes(inner.value, cls, room - 1)
            case ast.comprehension(iter=given):
                yield from _listed(given)
            case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple"), args=[given, *_]):
                yield from _listed(given)
            case _:
                continue
    yield from _listed(value)


def _listed(node: ast.AST) -> Iterator[str]:
    """``self.active``, ``self.active.values()``, ``sorted(self.active)``."""
    match node:
        case ast.Call(func=ast.Name(), args=[inner, *_]):
            yield from _listed(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="values" | "items" | "keys" | "copy")):
            yield from _listed(inner)
        case ast.Attribute(value=ast.Name(id="self")):
            yield spell(node)


def _grown(node: ast.AST) -> str:
    """The attribute that something is added to, or taken from."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in _GROWS:
            return spell(owner)
        case ast.AugAssign(target=ast.Attribute()):
            return spell(node.target)
        case ast.Assign(targets=[ast.Subscript(value=owner)]):
            return spell(owner)
        case _:
            return ""


def _is_called(name: str, facts: Facts) -> bool:
    """Whether the function that asks the model calls a method of its own, which is no question to a model."""
    return any(
        called_name(call) == f"self.{name}" and not is_model_call(call)
        for call in facts.of(ast.Call)
        if isinstance(call, ast.Call)
    )
