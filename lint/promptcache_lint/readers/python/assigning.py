"""Binding the targets of assignments and loops: names, attributes, items, and tuples of these."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.conversations.facts import constant
from promptcache_lint.readers.python.values import Map, Seq, element_of, order_traits, union_of, without_order

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["assign"]


def assign(machine: Interpreter, target: ast.expr, value: Value, frame: Frame) -> None:
    """Bind a target: a name, an attribute, an item, or a tuple of targets."""
    match target:
        case ast.Name():
            frame.set(target.id, value)
            machine.sinks.assigned(target.id, value, target, frame)
        case ast.Attribute():
            spelling = machine.spelling(target)
            if spelling:
                frame.set(spelling, value)
            machine.sinks.assigned(target.attr, value, target, frame)
        case ast.Subscript():
            _store_item(machine, target, value, frame)
        case ast.Tuple() | ast.List():
            for index, inner in enumerate(target.elts):
                assign(machine, inner, _item(value, index), frame)
        case ast.Starred():
            assign(machine, target.value, value, frame)
        case _:
            return


def _item(value: Value, index: int) -> Value:
    if isinstance(value, Seq) and value.kind == "tuple" and index < len(value.items):
        return value.items[index]
    if isinstance(value, Seq) and not value.partial and index < len(value.items):
        return value.items[index]
    return element_of(value)


def _stored(container: Map, key: str | None, value: Value) -> Map:
    """A dict with an item more. Under keys that vary, the order of what comes is that of the dict itself."""
    if key is not None:
        return container.set(key, value)
    grown = container.set(None, without_order(value))
    return replace(grown, traits=union_of((grown.traits, order_traits(value))))


def _store_in_item(machine: Interpreter, target: ast.Subscript, value: Value, frame: Frame) -> None:
    """``blocks[-1]["cache_control"] = …``: a key of a dict that stands in a list."""
    match target:
        case ast.Subscript(
            value=ast.Subscript(value=owner, slice=index), slice=ast.Constant(value=str() as key)
        ):
            spelling = machine.spelling(owner)
        case _:
            return
    list_ = machine.evaluate(owner, frame) if spelling else None
    position = constant(index)
    if not isinstance(list_, Seq) or not isinstance(position, int) or isinstance(position, bool):
        return
    if not -len(list_.items) <= position < len(list_.items):
        return
    item = list_.items[position]
    if isinstance(item, Map):
        items = list(list_.items)
        items[position] = item.set(key, value)
        frame.set(spelling, replace(list_, items=tuple(items)))


def _store_item(machine: Interpreter, target: ast.Subscript, value: Value, frame: Frame) -> None:
    spelling = machine.spelling(target.value)
    if not spelling:
        _store_in_item(machine, target, value, frame)
        return
    container = machine.evaluate(target.value, frame)
    key = target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(container, Map):
        frame.set(spelling, _stored(container, key if isinstance(key, str) else None, value))
    elif isinstance(container, Seq):
        frame.set(spelling, Seq((*container.items, value), container.traits, container.kind, partial=True))
    machine.jinja.stored(container, key, value)
    if isinstance(key, str):
        machine.sinks.assigned(key, value, target, frame)
