"""Counters that are seen to count: ``next(numbers)``, ``global calls; calls += 1``, ``self.turn += 1``.

What is called a counter, without being seen to count, is left to the rules' names.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import Str, Thing, traits_of

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.modules import Class, Function, Module
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["ENDLESS", "Counters"]

ENDLESS = "itertools.count"
"""The type of an endless count that outlives the call it is used in."""

_TALK = re.compile(r"(?:\w+_)?(?:messages|history|turns|conversation|transcript|exchanges)")
_USAGE = re.compile(r"\b(?:usage|cost|(?:\w+_)?tokens)\b")
"""How a program spells what a request has used."""
_USED = ("usage", "cost", "tokens")
"""Of which one stands wherever it does."""


class Counters:
    """Knows what the functions and classes of a program count up from call to call."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._mark = vocabulary.mark("PC107")
        self._of_module: dict[Module, dict[str, Value]] = {}
        self._of_class: dict[Class, dict[str, Value]] = {}

    def length(self, node: ast.Call, frame: Frame) -> Thing:
        """What ``len(messages)`` gives: of a conversation it is a count of its turns."""
        label = frame.module.label(node)
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                if _TALK.fullmatch(name) and self._mark is not None:
                    place = frame.module.place(node)
                    return Thing(label, (Trait(self._mark, place, label, guessed=True),))
        return Thing(label)

    def next_of(self, node: ast.expr, frame: Frame) -> Value:
        """What ``next`` gives of an endless count."""
        return self._value(node, frame.module.label(node), frame.module, Severity.ERROR) or Thing()

    def stepped(self, node: ast.AugAssign, value: Value, frame: Frame) -> Value:
        """The value a target has after ``+=``: a counter, if it is kept for the next call."""
        function = frame.function
        if function is None or isinstance(value, Str) or not _is_own(value) or not _counts(node, function):
            return value
        always = not isinstance(function.node, ast.Lambda) and node in function.node.body
        severity = Severity.ERROR if always else Severity.WARNING
        return self._value(node, ast.unparse(node.target), frame.module, severity) or value

    def of_module(self, module: Module) -> dict[str, Value]:
        """The variables that functions of a module count up."""
        known = self._of_module.get(module)
        if known is None:
            known = self._of_module[module] = {}
            if "global " in module.source.text:
                for function in module.functions.values():
                    known |= self._counted_in(function, module)
        return known

    def of_class(self, cls: Class) -> dict[str, Value]:
        """The attributes that methods of a class count up, by their names."""
        known = self._of_class.get(cls)
        if known is None:
            known = self._of_class[cls] = {}
            for method in cls.methods.values():
                for name, value in self._counted_in(method, method.module).items():
                    if name.startswith("self."):
                        known[name[5:]] = value
        return known

    def _counted_in(self, function: Function, module: Module) -> dict[str, Value]:
        found: dict[str, Value] = {}
        if "+=" not in function.text and "-=" not in function.text:
            return found
        for node in function.kinds.get(ast.AugAssign, ()):
            if isinstance(node, ast.AugAssign) and _counts(node, function):
                name = ast.unparse(node.target)
                value = self._value(node, name, module, Severity.WARNING)
                if value is not None:
                    found[name] = value
        return found

    def _value(self, node: ast.AST, label: str, module: Module, severity: Severity) -> Thing | None:
        if self._mark is None:
            return None
        mark = replace(self._mark, severity=min(severity, self._mark.severity))
        return Thing(label, (Trait(mark, module.place(node), label),))


def _is_own(value: Value) -> bool:
    """Whether nothing but its being a counter is known of a value."""
    return all(trait.mark.code == "PC107" for trait in traits_of(value))


def _counts(node: ast.AugAssign, function: Function) -> bool:
    """Whether ``node`` adds a number, or what a request has used, to what is kept between calls.

    The function must not reset it.
    """
    match node:
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=ast.Constant(value=int())):
            name = _spelled(node.target)
        case ast.AugAssign(op=ast.Add(), value=value) if any(
            word in function.text for word in _USED
        ) and _USAGE.search(ast.unparse(value)):
            name = _spelled(node.target)
        case _:
            return False
    if isinstance(node.target, ast.Name):
        shared = (*function.kinds.get(ast.Global, ()), *function.kinds.get(ast.Nonlocal, ()))
        if not any(name in node.names for node in shared if isinstance(node, ast.Global | ast.Nonlocal)):
            return False
    elif not name.startswith("self.") or name.count(".") > 1 or function.name == "__init__":
        return False
    return not any(
        isinstance(inner, ast.Assign) and any(_spelled(target) == name for target in inner.targets)
        for inner in function.kinds.get(ast.Assign, ())
    )


def _spelled(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
        case _:
            return ast.unparse(node)
