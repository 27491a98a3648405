"""Methods of lists and sets, and of whatever is gone through with a function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    element_of,
    order_traits,
    traits_of,
    with_traits,
    without_order,
)
from promptcache_lint.readers.typescript import binding, filling, texts
from promptcache_lint.readers.typescript.items import as_thing
from promptcache_lint.readers.typescript.racing import race_traits

if TYPE_CHECKING:
    from promptcache_lint.readers.python.values import Traits, Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["CALLBACKS", "change", "filled_messages", "of_list", "with_callback"]

_FILLING = {"format", "formatMessages", "formatPromptValue", "invoke", "partial", "stream"}
CALLBACKS = {
    "map",
    "flatMap",
    "filter",
    "forEach",
    "find",
    "findLast",
    "some",
    "every",
    "sort",
    "toSorted",
    "reduce",
}
"""The methods of an array that call a function for its items."""
_MOST_ITEMS = 12


def _run_callback(machine: Machine, made: Call, item: Value, frame: Frame, *rest: Value) -> Value | None:
    callback = made.first
    if not isinstance(callback, Ref):
        return None
    racing = made.name in {"map", "flatMap", "forEach"}
    place = frame.module.place(made.node)
    return machine.call(callback, [item, *rest], frame, place, racing=racing, move=False)


def _items(receiver: Value) -> list[Value]:
    if isinstance(receiver, Seq) and not receiver.partial and len(receiver.items) <= _MOST_ITEMS:
        return list(receiver.items)
    return [element_of(receiver)]


def with_callback(machine: Machine, made: Call, receiver: Value, frame: Frame) -> Value | None:
    """Methods of a list that are given a function."""
    order = receiver.traits if isinstance(receiver, Seq) else order_traits(receiver)
    partial = not isinstance(receiver, Seq) or receiver.partial
    match made.name:
        case "map" | "flatMap":
            results: list[Value] = []
            for index, item in enumerate(as_thing(made.first, each) for each in _items(receiver)):
                position = (
                    Thing(constant=str(index), settled=True) if not partial else Thing("index", settled=True)
                )
                value = _run_callback(machine, made, item, frame, position) or Thing(
                    frame.module.label(made.node)
                )
                results += value.items if made.name == "flatMap" and isinstance(value, Seq) else [value]
            return Seq(tuple(results), order, partial=partial)
        case "forEach":
            for item in _items(receiver):
                _run_callback(machine, made, item, frame, Thing("index", settled=True))
            return Thing(constant="undefined")
        case "filter" | "find" | "findLast" | "some" | "every":
            _run_callback(machine, made, element_of(receiver), frame)
            if made.name == "filter":
                return (
                    replace(receiver, partial=True)
                    if isinstance(receiver, Seq) and isinstance(made.first, Ref) and made.first.target
                    else receiver
                )
            if made.name.startswith("find"):
                return element_of(without_order(receiver))  # which one it is, its order does not tell
            return Thing(settled=True)
        case "sort" | "toSorted":
            return _sorted(machine, made, receiver, frame)
        case "reduce":
            return _reduced(machine, made, receiver, frame)
    return None


def _sorted(machine: Machine, made: Call, receiver: Value, frame: Frame) -> Value:
    """Sorting cures an order; comparing by chance shuffles."""
    item = element_of(receiver)
    compared = _run_callback(machine, made, item, frame, item)
    drawn: Traits = ()
    if compared is not None:
        drawn = tuple(trait for trait in traits_of(compared) if trait.mark.code == "PC103")
    label = frame.module.label(made.node)
    value = with_traits(receiver, drawn, label) if drawn else without_order(receiver)
    return change(made, value, machine, frame) if made.name == "sort" else value


def _reduced(machine: Machine, made: Call, receiver: Value, frame: Frame) -> Value:
    value: Value = made.values[1] if len(made.values) > 1 else Str(())
    for item in _items(receiver):
        result = None
        if isinstance(made.first, Ref):
            place = frame.module.place(made.node)
            result = machine.call(made.first, [value, item], frame, place, move=False)
        value = result if result is not None else value
    return with_traits(value, receiver.traits) if isinstance(receiver, Seq) else value


def of_list(machine: Machine, made: Call, receiver: Seq, frame: Frame) -> Value | None:
    """The result of a method of a list or set; None where nothing is known of it."""
    name, first = made.name, made.first
    if name in CALLBACKS:
        return with_callback(machine, made, receiver, frame)
    match name:
        case "push" | "add" | "unshift" if made.arguments:
            race = race_traits(machine, made.target, made.values, frame)
            new = tuple(made.values)
            items = (*new, *receiver.items) if name == "unshift" else (*receiver.items, *new)
            partial = receiver.partial or any(node.type == "spread_element" for _, node in made.arguments)
            return change(
                made,
                replace(receiver, items=items[-200:], traits=(*receiver.traits, *race), partial=partial),
                machine,
                frame,
            )
        case "join":
            return texts.join(machine, first, receiver, made.node, frame)
        case "concat":
            items = receiver.items
            traits = receiver.traits
            for value in made.values:
                items = (*items, *(value.items if isinstance(value, Seq) else (value,)))
                traits = (*traits, *(value.traits if isinstance(value, Seq) else ()))
            return replace(receiver, items=items[:200], traits=traits)
        case "splice" | "fill" if len(made.values) > 2:
            return change(
                made,
                replace(receiver, items=(*receiver.items, *made.values[2:])[:200], partial=True),
                machine,
                frame,
            )
        case (
            "slice"
            | "reverse"
            | "toReversed"
            | "flat"
            | "values"
            | "toSpliced"
            | "with"
            | "toString"
            | "keys"
        ):
            return receiver
        case "entries":
            rows = tuple(Seq((Thing("index", settled=True), item)) for item in receiver.items)
            return Seq(rows, receiver.traits, partial=receiver.partial)
        case "at" | "pop" | "shift" | "get":
            return element_of(receiver)
        case "union" | "intersection" | "difference" if first is not None:
            return replace(receiver, traits=(*receiver.traits, *order_traits(first)), partial=True)
        case "pipe":
            return receiver
        case _ if name in _FILLING:
            filled = filled_messages(machine, receiver, first, made, frame)
            machine.sinks.messages(filled, made.node, frame)
            return filled
        case _:
            return Thing(frame.module.label(made.node), traits_of(receiver))


def filled_messages(machine: Machine, receiver: Seq, given: Value | None, made: Call, frame: Frame) -> Seq:
    """The messages of a chat template with their placeholders filled."""
    if not isinstance(given, Map):
        return receiver

    def fill(value: Value) -> Value:
        match value:
            case Str():
                return filling.filled(machine, value, given, made.node, frame)
            case Seq():
                return replace(value, items=tuple(fill(item) for item in value.items))
            case Map():
                return replace(value, pairs=tuple((key, fill(item)) for key, item in value.pairs))
            case _:
                return value

    return replace(receiver, items=tuple(fill(item) for item in receiver.items))


def change(made: Call, value: Value, machine: Machine, frame: Frame) -> Value:
    """Store what a method made of the object it was called on."""
    if made.target is not None:
        binding.store(machine, made.target, value, frame)
    return value
