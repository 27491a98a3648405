"""Lists, dicts, sets and comprehensions as expressions, and what a subscript takes out of them."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole
from promptcache_lint.readers.python.drawn import drawn_traits
from promptcache_lint.readers.python.items import is_listed, settle_items
from promptcache_lint.readers.python.known import as_set, environment
from promptcache_lint.readers.python.tables import calls_each, chosen
from promptcache_lint.readers.python.values import (
    MOST_ITEMS,
    Map,
    Seq,
    Str,
    Thing,
    Traits,
    element_of,
    map_traits,
    order_traits,
    traits_of,
    union_of,
    with_traits,
    without_order,
)

if TYPE_CHECKING:
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["comprehension", "dict_display", "display", "subscript"]

_ISO = re.compile(r"\.isoformat\(\)$|^str\((?!time)[\w.]+(?:\([\w.]*\))?\)$")
"""How a time is written with its date in front, in ISO's form or Python's own."""
_LENGTH_OF_A_DATE = 10


def dict_display(machine: Interpreter, node: ast.Dict, frame: Frame) -> Value:
    """A dict display."""
    pairs: list[tuple[str | None, Value]] = []
    for key, item in zip(node.keys, node.values, strict=True):
        value = machine.evaluate(item, frame)
        if key is None:
            pairs += value.pairs if isinstance(value, Map) else ()
            continue
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        if name is None:
            machine.run_for_effect(key, frame)
        pairs.append((name, value))
    result = Map(_stored(pairs), partial=None in node.keys)
    machine.sinks.built_dict(result, node, frame)
    return result


def _stored(pairs: list[tuple[str | None, Value]]) -> tuple[tuple[str | None, Value], ...]:
    """What `Map.set` leaves of pairs that are stored one after another."""
    kept: list[tuple[str | None, Value]] = []
    seen: set[str] = set()
    for key, value in pairs:
        if key is not None and key in seen:
            kept = [pair for pair in kept if pair[0] != key]
        elif key is not None:
            seen.add(key)
        del kept[MOST_ITEMS:]
        kept.append((key, value))
    return tuple(kept)


def display(machine: Interpreter, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
    """A list, tuple or set display."""
    items: list[Value] = []
    traits: Traits = ()
    partial = False
    for element in node.elts:
        value = machine.evaluate(element, frame)
        if isinstance(element, ast.Starred):
            partial = True
            if isinstance(value, Seq):
                items += value.items
                traits += value.traits
                continue
        items.append(value)
    if isinstance(node, ast.Set):
        return as_set(machine, tuple(items), node, frame)
    sequence = Seq(tuple(items), traits, "tuple" if isinstance(node, ast.Tuple) else "list", partial)
    machine.sinks.built_list(sequence, node, frame)
    return sequence


def comprehension(
    machine: Interpreter, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, frame: Frame
) -> Value:
    """A comprehension or generator: one item stands for all."""
    saved = dict(frame.names)
    traits: Traits = ()
    for generator in node.generators:
        iterable = machine.evaluate(generator.iter, frame)
        ordered = iterable.traits if isinstance(iterable, Seq | Map) else order_traits(iterable)
        traits += ordered + drawn_traits(iterable)
        machine.assign(generator.target, element_of(iterable), frame)
        if not isinstance(node, ast.DictComp) and is_listed(node.elt):
            settle_items(generator.target, frame)
        for condition in generator.ifs:
            machine.run_for_effect(condition, frame)
    traits = tuple(dict.fromkeys(traits))
    if isinstance(node, ast.DictComp):
        key = machine.evaluate(node.key, frame)
        value = machine.evaluate(node.value, frame)
        order = union_of((traits, order_traits(value), order_traits(key)))
        result: Value = Map(((None, without_order(with_traits(value, traits_of(key)))),), order, partial=True)
    else:
        items = _items(machine, node, iterable, frame)
        if isinstance(node, ast.SetComp):
            result = as_set(machine, items, node, frame)
        else:
            result = Seq(items, traits, partial=True)
    inner = frame.names
    frame.names = saved | {  # what is the same object has not grown
        name: value
        for name, value in inner.items()
        if value is not (old := saved.get(name)) and old is not None and _mutated(old, value)
    }
    return result


def _items(
    machine: Interpreter,
    node: ast.ListComp | ast.GeneratorExp | ast.SetComp,
    iterable: Value,
    frame: Frame,
) -> tuple[Value, ...]:
    """What a comprehension makes: one item for all, but one of each function that it calls."""
    if not calls_each(iterable):
        return (machine.evaluate(node.elt, frame),)
    assert isinstance(iterable, Seq)
    items = []
    for function in iterable.items:
        machine.assign(node.generators[-1].target, function, frame)
        items.append(machine.evaluate(node.elt, frame))
    return tuple(items)


def _mutated(before: Value, after: Value) -> bool:
    """Whether a list of the surrounding function grew inside a comprehension."""
    return (
        isinstance(before, Seq)
        and isinstance(after, Seq)
        and before.items == after.items[: len(before.items)]
    )


def subscript(machine: Interpreter, node: ast.Subscript, frame: Frame) -> Value:
    """An item or slice of a value."""
    base = machine.evaluate(node.value, frame)
    index = node.slice
    label = frame.module.label(node)
    if isinstance(index, ast.Slice):
        of_day = _day_of(machine, base, node, frame)
        if of_day is not None:
            return of_day
        return base if isinstance(base, Str | Seq) else Thing(label, traits_of(base))
    if isinstance(base, Thing) and base.type == "os.environ":
        return environment(machine, machine.evaluate(index, frame), node, frame)
    machine.run_for_effect(index, frame)
    match base:
        case Map() if isinstance(index, ast.Constant) and isinstance(index.value, str):
            value = base.get(index.value)
            return value if value is not None else Thing(label)
        case Map() if (function := chosen((v for _, v in base.pairs), machine.relevance)) is not None:
            return function
        case Map():
            return _map_item(base, label)
        case Seq():
            return _seq_item(machine, base, index)
        case Thing():
            return Thing(label, base.traits, settled=base.settled)
        case _:
            return Thing(label, traits_of(base))


def _map_item(base: Map, label: str) -> Value:
    """What a dict holds under a key that varies: which item it is, the dict's order does not tell."""
    traits = tuple(trait for trait in base.traits if not trait.mark.order)
    return element_of(Seq(tuple(value for _, value in base.pairs), traits)) if base.pairs else Thing(label)


def _day_of(machine: Interpreter, base: Value, node: ast.Subscript, frame: Frame) -> Value | None:
    """The date of a time that is written in ISO's form: ``datetime.now().isoformat()[:10]``."""
    index = node.slice
    assert isinstance(index, ast.Slice)
    wanted = index.upper.value if isinstance(index.upper, ast.Constant) else None
    hole = base.parts[0] if isinstance(base, Str) and len(base.parts) == 1 else base
    date = machine.vocabulary.mark("PC109")
    of_a_day = index.lower is None and isinstance(wanted, int) and 0 < wanted <= _LENGTH_OF_A_DATE
    if not of_a_day or date is None or not isinstance(hole, Hole | Thing):
        return None
    if not any(map(_ISO.search, (hole.label, frame.module.label(node.value)))):
        return None
    return map_traits(base, lambda t: replace(t, mark=date) if t.mark.code == "PC101" else t)


def _seq_item(machine: Interpreter, base: Seq, index: ast.expr) -> Value:
    position = None
    if isinstance(index, ast.Constant) and isinstance(index.value, int):
        position = index.value
    elif isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
        position = -index.operand.value if isinstance(index.operand.value, int) else None
    if position is not None and not base.partial and -len(base.items) <= position < len(base.items):
        return with_traits(base.items[position], base.traits)
    return chosen(base.items, machine.relevance) or element_of(base)
