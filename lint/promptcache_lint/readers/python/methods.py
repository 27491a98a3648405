"""Methods of values: what they do to texts, lists, dicts and clocks."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.readers.placeholders import PLACEHOLDER, date_only
from promptcache_lint.readers.python import strings, templates
from promptcache_lint.readers.python.bindings import is_known
from promptcache_lint.readers.python.commands import RUNNING
from promptcache_lint.readers.python.drawn import drawn_traits
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.prompt_templates import FILLING, template_filled
from promptcache_lint.readers.python.streams import written_out
from promptcache_lint.readers.python.tables import chosen
from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    element_of,
    traits_of,
    with_traits,
    without_order,
)

if TYPE_CHECKING:
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["method"]

_FILLING = {"format", "format_map", "substitute", "safe_substitute"}
_SAME_TEXT = {
    "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "expandtabs", "casefold", "encode",
    "removeprefix", "removesuffix", "replace", "decode", "ljust", "rjust", "center", "translate",
}  # fmt: skip
_NUMBERS = {"count", "index", "find", "startswith", "endswith", "isdigit", "__len__", "total_seconds"}
_READING = {"read_text", "read_bytes", "read", "open", "readlines", "exists", "is_file", "is_dir", "stat"}
_ZONES = {"tzname", "utcoffset", "dst"}
"""What a clock says of its zone, which does not tick."""
_COARSE = {"weekday", "isoweekday", "toordinal", "isocalendar"}


def method(machine: Interpreter, made: Call, receiver: Value, frame: Frame) -> Value | None:
    """The result of a method of a value; None where nothing is known of it."""
    assert isinstance(made.node.func, ast.Attribute)
    name = made.node.func.attr
    match receiver:
        case Str():
            return _of_text(machine, made, receiver, name, frame)
        case Seq():
            return _of_list(machine, made, receiver, name, frame)
        case Map():
            return _of_dict(machine, made, receiver, name, frame)
        case Thing():
            return _of_thing(machine, made, receiver, name, frame)
        case Ref(target=None) if name == "join" and receiver.dotted == "os.linesep":
            return strings.join(machine, Str(()), made.values[0], made.node.args[0], frame)
        case _:
            return None


def _of_text(machine: Interpreter, made: Call, receiver: Str, name: str, frame: Frame) -> Value | None:
    if name == "join" and made.arguments:
        return strings.join(machine, receiver, made.values[0], made.node.args[0], frame)
    if name in FILLING:
        return template_filled(machine, made, receiver, name, frame)
    if name in _FILLING:
        named = dict(made.named)
        if made.arguments and isinstance(made.values[0], Map):
            expression = made.arguments[0][1]
            named |= {key: (value, expression) for key, value in made.values[0].pairs if key is not None}
        dollar = name in {"substitute", "safe_substitute"}
        use = templates.Use(machine, made.node, frame)
        return templates.template_fields(use, receiver, list(made.arguments), named, dollar=dollar)
    if name == "replace" and len(made.arguments) > 1:
        return _replaced(machine, made, receiver, frame)
    if name in _SAME_TEXT:
        return receiver
    if name in {"split", "splitlines", "partition"}:
        return Seq((receiver,), partial=True)
    return Thing(frame.module.label(made.node), () if name in _NUMBERS else traits_of(receiver))


def _replaced(machine: Interpreter, made: Call, receiver: Str, frame: Frame) -> Value:
    """``text.replace("{{time}}", now)``: a template filled by hand."""
    old, (new, expression) = made.values[0], made.arguments[1]
    wanted = "".join(getattr(part, "text", "\0") for part in old.parts) if isinstance(old, Str) else ""
    if not wanted or not (traits_of(new) or PLACEHOLDER.fullmatch(wanted)):
        return receiver
    filling = templates.Filling(strings.parts_of(machine, new, expression, frame), is_known(new))
    parts = templates.replaced(templates.Use(machine, made.node, frame), receiver.parts, wanted, filling)
    return with_traits(receiver, traits_of(new)) if parts == receiver.parts else Str(parts)


def _change(machine: Interpreter, made: Call, value: Value, frame: Frame) -> Value:
    """Store what a method made of the object it was called on."""
    assert isinstance(made.node.func, ast.Attribute)
    spelling = machine.spelling(made.node.func.value)
    if spelling:
        owner = frame
        while spelling not in owner.names and owner.outer is not None:
            owner = owner.outer
        owner.store(spelling, value)
    return Thing(constant="None")


def _of_list(machine: Interpreter, made: Call, receiver: Seq, name: str, frame: Frame) -> Value | None:
    first = made.values[0] if made.arguments else None
    match name:
        case "append" | "add" | "appendleft" | "write" if first is not None:
            return _change(machine, made, replace(receiver, items=(*receiver.items[-199:], first)), frame)
        case "insert" if len(made.arguments) > 1:
            return _change(
                machine, made, replace(receiver, items=(made.values[1], *receiver.items[:199])), frame
            )
        case "getvalue" | "read":
            return written_out(machine, receiver, made.node, frame)
        case "extend" | "update" | "writelines" if first is not None:
            items = first.items if isinstance(first, Seq) else (element_of(first),)
            order = first.traits if isinstance(first, Seq) else drawn_traits(first)
            grown = Seq(
                (*receiver.items, *items)[-200:], receiver.traits + order, receiver.kind, partial=True
            )
            return _change(machine, made, grown, frame)
        case "sort":
            return _change(machine, made, without_order(receiver), frame)
        case "reverse" | "clear" | "remove" | "discard":
            return Thing(constant="None")
        case "copy" | "union" | "intersection" | "difference" | "symmetric_difference":
            inherited = tuple(t for value in made.values for t in traits_of(value) if t.mark.order)
            return replace(receiver, traits=receiver.traits + inherited, partial=True)
        case "pop" | "popleft":
            return element_of(receiver)
        case _ if name in FILLING:
            return template_filled(machine, made, receiver, name, frame)
        case _ if name in _NUMBERS:
            return Thing(settled=True)
        case _:
            return Thing(frame.module.label(made.node), traits_of(receiver))


def _of_dict(machine: Interpreter, made: Call, receiver: Map, name: str, frame: Frame) -> Value | None:
    values = tuple(value for _, value in receiver.pairs)
    match name:
        case "items":
            keys = [
                Thing(constant=key, settled=True) if key is not None else Thing() for key, _ in receiver.pairs
            ]
            rows = tuple(Seq((key, value), kind="tuple") for key, value in zip(keys, values, strict=True))
            return Seq(rows, receiver.traits, partial=receiver.partial)
        case "values":
            return Seq(values, receiver.traits, partial=receiver.partial)
        case "keys":
            items = tuple(Thing(constant=key, settled=True) for key, _ in receiver.pairs)
            return Seq(items, receiver.traits, partial=receiver.partial)
        case "get" | "pop" | "setdefault" if made.arguments:
            key = made.node.args[0]
            found = (
                receiver.get(key.value)
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
                else None
            )
            if found is None and not isinstance(key, ast.Constant):
                found = chosen(values, machine.relevance)
            default = made.values[1] if len(made.values) > 1 else None
            if found is not None and default is not None:
                return merge(found, default, frame.module.place(made.node))
            return found or default or Thing(frame.module.label(made.node))
        case "update" if made.arguments and isinstance(made.values[0], Map):
            grown = receiver
            for key_name, value in made.values[0].pairs:
                grown = grown.set(key_name, value)
            return _change(machine, made, grown, frame)
        case "copy":
            return receiver
        case _:
            return Thing(frame.module.label(made.node), traits_of(receiver))


def _of_thing(machine: Interpreter, made: Call, receiver: Thing, name: str, frame: Frame) -> Value | None:
    label = frame.module.label(made.node)
    if name in {"strftime", "format"} and receiver.traits and made.arguments:
        pattern = _literal(made.values[0])
        if pattern:
            marks = ((t, date_only(t.mark, pattern, machine.vocabulary)) for t in receiver.traits)
            kept = tuple(replace(t, mark=mark) for t, mark in marks if mark is not None)
            return Thing(label, kept, settled=not kept)
    midnight = name == "replace" and "hour" in made.named and not made.arguments
    if (name in {"date", *_COARSE} or midnight) and receiver.traits:
        date = machine.vocabulary.mark("PC109")
        traits = (replace(t, mark=date) if t.mark.code == "PC101" and date else t for t in receiver.traits)
        return Thing(label, tuple(traits))
    if name in {"append", "extend", "insert", "add"} and made.arguments:
        added = traits_of(made.values[-1])
        return (
            _change(machine, made, with_traits(receiver, added), frame) if added else Thing(constant="None")
        )
    if name == "sort":
        return _change(machine, made, without_order(receiver), frame)
    if name in _ZONES:
        return Thing(label, settled=True)
    if name == "keys":
        return Thing(label, receiver.traits, settled=True)
    if name in _READING and receiver.type not in RUNNING:
        return Thing(label, tuple(t for t in receiver.traits if t.mark.order), settled=True)
    filled = name in _FILLING or (name == "replace" and len(made.arguments) > 1 and _literal(made.values[0]))
    if filled and any(traits_of(value) for value in made.values_given()):
        return _unknown_template(machine, made, receiver, frame)
    if name in _NUMBERS:
        return Thing(label, () if name != "total_seconds" else receiver.traits)
    if receiver.traits:
        return Thing(label, receiver.traits, settled=receiver.settled)
    return None


def _unknown_template(machine: Interpreter, made: Call, receiver: Thing, frame: Frame) -> Value:
    """A template that is read or computed elsewhere, filled here: some text, then what fills it."""
    parts = list(strings.parts_of(machine, receiver, made.node.func, frame))
    for value, expression in (*made.arguments, *made.named.values()):
        if traits_of(value):
            parts += strings.parts_of(machine, value, expression, frame)
    return Str(tuple(parts))


def _literal(value: Value) -> str:
    if isinstance(value, Str) and len(value.parts) == 1 and hasattr(value.parts[0], "text"):
        return str(value.parts[0].text)
    return ""
