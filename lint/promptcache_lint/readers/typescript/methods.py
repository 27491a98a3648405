"""Methods of values: what they do to texts, lists, objects and times."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.expressions import repeated
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    traits_of,
    with_traits,
)
from promptcache_lint.readers.typescript import filling, lists, texts
from promptcache_lint.readers.typescript.clocks import (
    date_method,
    iso_cut,
    iso_halves,
    literal,
    literal_number,
    with_options,
)
from promptcache_lint.readers.typescript.querying import ROWS, narrowed
from promptcache_lint.readers.typescript.racing import race_traits
from promptcache_lint.readers.typescript.shapes import entries_of, keys_of, values_of

if TYPE_CHECKING:
    from promptcache_lint.readers.python.values import Traits, Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["method"]

_FILLING = {"format", "formatMessages", "formatPromptValue", "invoke", "partial", "stream"}
_SAME_TEXT = {
    *("trim", "trimStart", "trimEnd", "toString", "valueOf", "toLowerCase", "toUpperCase", "normalize"),
    *("slice", "substring", "substr", "padStart", "padEnd", "toWellFormed", "pipe", "stripIndent"),
}
_ASKING = {
    *(
        "includes",
        "indexOf",
        "lastIndexOf",
        "startsWith",
        "endsWith",
        "test",
        "match",
        "search",
        "has",
        "some",
    ),
    *("every", "findIndex", "charCodeAt", "localeCompare", "length", "isBefore", "isAfter", "isSame"),
}
_ADDING = {"push", "unshift", "add", "append"}
_FIELD = re.compile(r"[{}\[\]<>%$|]|__|@@|##")


def method(machine: Machine, made: Call, receiver: Value, frame: Frame) -> Value | None:
    """The result of a method of a value; None where nothing is known of it."""
    name = made.name
    if name in {"then", "finally", "catch"}:
        return _then(machine, made, receiver, frame)
    if name in _ASKING and name not in lists.CALLBACKS:
        return Thing(frame.module.label(made.node), settled=True)
    match receiver:
        case Str():
            return _of_text(machine, made, receiver, frame)
        case Seq():
            return lists.of_list(machine, made, receiver, frame)
        case Map():
            return _of_map(machine, made, receiver, frame)
        case Thing(type=kind) if kind == ROWS and name not in {*lists.CALLBACKS, "join"}:
            return narrowed(receiver, name, frame.module.label(made.node))
        case Thing():
            return _of_thing(machine, made, receiver, frame)
        case _:
            return None


def _then(machine: Machine, made: Call, receiver: Value, frame: Frame) -> Value:
    if made.name == "then" and isinstance(made.first, Ref):
        frame.waited = True
        value = machine.call(made.first, [receiver], frame, frame.module.place(made.node), move=False)
        return value if value is not None else Thing(frame.module.label(made.node))
    return receiver


def _of_text(machine: Machine, made: Call, receiver: Str, frame: Frame) -> Value | None:
    name, first = made.name, made.first
    if name in {"replace", "replaceAll"} and len(made.arguments) > 1:
        return _replaced(machine, made, receiver, frame)
    if name in _FILLING:
        filled = (
            filling.filled(machine, receiver, first, made.node, frame) if isinstance(first, Map) else receiver
        )
        machine.sinks.filled(filled, made, frame)
        return filled
    if name in _SAME_TEXT:
        return receiver
    if name == "repeat":
        times = Thing() if first is None else first
        return repeated(receiver, times, frame.module.label(made.node), frame.module.place(made.node))
    if name == "concat":
        parts = list(receiver.parts)
        for value, node in made.arguments:
            parts += texts.parts_of(machine, value, node, frame)
        return Str(tuple(parts))
    if name in {"split", "matchAll"}:
        return Seq((receiver,), partial=True)
    return Thing(frame.module.label(made.node), traits_of(receiver))


def _replaced(machine: Machine, made: Call, receiver: Str, frame: Frame) -> Value:
    """``text.replace("{{time}}", now)``: a template filled by hand."""
    new, node = made.arguments[1]
    if isinstance(new, Ref):
        new = machine.call(new, [Thing()], frame, frame.module.place(node), move=False) or new
    wanted = literal(made.first)
    if wanted is None:
        wanted = _of_pattern(frame.module.text(made.arguments[0][1]))
    if not traits_of(new) and not isinstance(new, Thing):
        return receiver
    parts = texts.parts_of(machine, new, node, frame)
    if not wanted:  # a pattern that is made while the program runs may fit, or not
        return with_traits(receiver, _perhaps(receiver, traits_of(new)), frame.module.label(node))
    filled = filling.replaced(receiver, wanted, parts, frame.module)
    return with_traits(receiver, traits_of(new), frame.module.label(node)) if filled == receiver else filled


def _perhaps(receiver: Str, traits: Traits) -> Traits:
    """The traits of what may be filled in: none where the text has nothing that looks like a field."""
    text = literal(receiver)
    if text is not None and _FIELD.search(text) is None:
        return ()
    return tuple(replace(trait, guessed=True) for trait in traits)


def _of_pattern(text: str) -> str:
    """The literal that a simple regular expression matches (``/{{now}}/g``); empty for others."""
    body = text[1 : text.rfind("/")] if text.startswith("/") else ""
    plain = body.replace("\\", "")
    return plain if plain and not set(body.replace("\\{", "").replace("\\}", "")) & set("*+?|()^$.") else ""


def _of_map(machine: Machine, made: Call, receiver: Map, frame: Frame) -> Value | None:
    name, first = made.name, made.first
    key = literal(first) if first is not None else None
    match name:
        case "set" if len(made.arguments) > 1:
            race = race_traits(machine, made.target, made.values[1:], frame)
            grown = receiver.set(key, made.values[1])
            return lists.change(
                made, replace(grown, traits=(*grown.traits, *race), partial=True), machine, frame
            )
        case "get":
            found = receiver.get(key) if key is not None else None
            if found is not None:
                return found
            value: Value = Thing(frame.module.label(made.node))
            for _, item in receiver.pairs[:20]:
                value = (
                    item if isinstance(value, Thing) else merge(value, item, frame.module.place(made.node))
                )
            return value
        case "values":
            return values_of(receiver)
        case "keys":
            return keys_of(receiver)
        case "entries":
            return entries_of(receiver)
        case "forEach":
            return lists.with_callback(machine, made, values_of(receiver), frame)
        case _ if name in _FILLING and receiver.get("content") is not None:
            return lists.filled_messages(machine, Seq((receiver,)), first, made, frame).items[0]
        case _:
            return Thing(frame.module.label(made.node), traits_of(receiver))


def _of_thing(machine: Machine, made: Call, receiver: Thing, frame: Frame) -> Value | None:
    name, label = made.name, frame.module.label(made.node)
    if name in lists.CALLBACKS and isinstance(made.first, Ref):
        return lists.with_callback(machine, made, receiver, frame)
    if receiver.type.startswith("Intl:"):
        return _international(machine, made, receiver, frame)
    if receiver.type == "iso" and name in {"slice", "substring", "substr"}:
        end = literal_number(made.values[1]) if len(made.values) > 1 else None
        if literal_number(made.first) not in {0, None}:
            return Thing(label, receiver.traits)
        return iso_cut(receiver, end, label, machine.vocabulary)
    if receiver.type == "iso" and name == "split":
        return iso_halves(receiver, label, machine.vocabulary)
    if receiver.type == "iso" and name in {"replace", "replaceAll", "trim"}:
        return receiver
    if receiver.traits or receiver.type == "Date":
        written = date_method(name, receiver, made.values, label, machine.vocabulary)
        if written is not None:
            return _lasting(written, receiver)
    if name in _ADDING and made.arguments:
        return _added(machine, made, receiver, frame)
    if name == "join":
        if not receiver.traits:
            return replace(receiver, label=receiver.label or label)
        return Thing(label, receiver.traits)
    if name in {"toString", "trim", "valueOf", "toUpperCase", "toLowerCase"}:
        return replace(receiver, label=label)
    if receiver.traits:
        given = tuple(t for value in made.values for t in traits_of(value))
        return Thing(
            label, tuple(dict.fromkeys((*receiver.traits, *given))), receiver.type, settled=receiver.settled
        )
    return None


def _lasting(written: Value, receiver: Thing) -> Value:
    """What is written of a time, which lasts as that does."""
    lasts = receiver.settled and not receiver.traits
    return replace(written, settled=True) if lasts and isinstance(written, Thing) else written


def _added(machine: Machine, made: Call, receiver: Thing, frame: Frame) -> Value:
    """Something is added to a list of which nothing is known: from now on one thing in it is."""
    race = race_traits(machine, made.target, made.values, frame)
    known = Seq((Thing("...", receiver.traits), *made.values), race, partial=True)
    return lists.change(made, known, machine, frame)


def _international(machine: Machine, made: Call, receiver: Thing, frame: Frame) -> Value | None:
    """``Intl.DateTimeFormat``: without an argument it writes the current time."""
    label = frame.module.label(made.node)
    if made.name in {"format", "formatToParts", "formatRange"}:
        mark = machine.vocabulary.call("time.time")
        traits: Traits = tuple(t for value in made.values for t in traits_of(value))
        if not made.arguments and mark is not None:
            traits = (Trait(mark, frame.module.place(made.node), label),)
        keys = tuple((key, Thing()) for key in receiver.type[5:].split(",") if key)
        return with_options(traits, [Map(keys)], "day", label, machine.vocabulary)
    if made.name == "resolvedOptions":
        mark = machine.vocabulary.call("locale.getlocale")
        return Thing(label, (Trait(mark, frame.module.place(made.node), label),) if mark is not None else ())
    return None
