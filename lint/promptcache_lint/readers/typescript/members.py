"""What a member or an index takes out of a value, and how members are spelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    element_of,
    traits_of,
    with_traits,
)
from promptcache_lint.readers.typescript.clocks import iso_cut, literal, literal_number
from promptcache_lint.readers.typescript.counters import counted
from promptcache_lint.readers.typescript.module import Class, Closure, Module, unquoted
from promptcache_lint.readers.typescript.querying import ROWS, one_row
from promptcache_lint.readers.typescript.signs import attribute_mark, normal

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["environment", "key_of", "marked", "member", "member_of", "spelling", "subscript"]

_SIZES = {"length", "size", "byteLength"}


def marked(machine: Machine, ref: Ref, node: Node, frame: Frame) -> Value:
    """A name nobody in the tree defines: some are volatile values themselves."""
    mark = attribute_mark(ref.dotted, machine.vocabulary)
    if mark is None or ref.dotted == "process.env":
        return ref
    label = frame.module.label(node)
    return Thing(label, (Trait(mark, frame.module.place(node), label),), ref.dotted, settled=True)


def spelling(node: Node, frame: Frame) -> str:
    """A name or chain of members as text (``this.tools``); empty for anything else."""
    match node.type:
        case "identifier" | "this" | "shorthand_property_identifier":
            return frame.module.text(node)
        case "member_expression":
            target, name = node.child_by_field_name("object"), node.child_by_field_name("property")
            head = spelling(target, frame) if target is not None else ""
            return f"{head}.{frame.module.text(name).lstrip('#')}" if head and name is not None else ""
        case "non_null_expression" | "parenthesized_expression":
            return spelling(node.named_children[0], frame) if node.named_children else ""
        case _:
            return ""


def key_of(node: Node, frame: Frame) -> str:
    """The name of the member an expression means; empty where it is computed."""
    if node.type == "member_expression":
        name = node.child_by_field_name("property")
        return frame.module.text(name).lstrip("#") if name is not None else ""
    index = node.child_by_field_name("index")
    return unquoted(frame.module.text(index)) if index is not None and index.type == "string" else ""


def member(machine: Machine, node: Node, frame: Frame) -> Value:
    """The value of ``target.name``."""
    target, key = node.child_by_field_name("object"), node.child_by_field_name("property")
    if target is None or key is None:
        return Thing()
    name = frame.module.text(key).lstrip("#")
    if target.type == "this":
        value = frame.this_frame().names.get(f"this.{name}")
        if value is None:
            value = member_of(machine, machine.evaluate(target, frame), name, node, frame)
        return counted(machine, value, f"this.{name}", node, frame)
    return member_of(machine, machine.evaluate(target, frame), name, node, frame)


def member_of(machine: Machine, value: Value, name: str, node: Node, frame: Frame) -> Value:
    """The member ``name`` of a value."""
    match value:
        case Ref(target=None):
            return _of_name(machine, value, name, node, frame)
        case Ref(target=Module() as module):
            return machine.member_of_module(module, name)
        case Ref(target=Class() as cls):
            found = machine.objects.static(cls, name, frame, frame.module.place(node))
            return found if found is not None else Thing(name)
        case Instance():
            found = machine.objects.attribute(value, name, frame, frame.module.place(node))
            return found if found is not None else Thing(name)
        case Map():
            return _of_map(machine, value, name, node, frame)
        case _ if name in _SIZES:
            return Thing(frame.module.label(node), settled=True)
        case Thing(type=kind) if kind == ROWS and name in {"count", "rowCount"}:
            return Thing(frame.module.label(node), settled=True)
        case Thing():
            kind = value.type if value.type == ROWS else ""
            return Thing(frame.module.label(node), value.traits, kind, settled=value.settled)
        case Seq() if name.isdigit() and int(name) < len(value.items):
            return with_traits(value.items[int(name)], value.traits)
        case _:
            return Thing(frame.module.label(node))


def _of_map(machine: Machine, value: Map, name: str, node: Node, frame: Frame) -> Value:
    found = value.get(name)
    if found is None:
        return Thing(name)
    if isinstance(found, Ref) and found.dotted == "get()" and isinstance(found.target, Closure):
        result = machine.call(found, [], frame, frame.module.place(node))
        return result if result is not None else Thing(name)
    return found


def _of_name(machine: Machine, value: Ref, name: str, node: Node, frame: Frame) -> Value:
    if value.dotted in {"process.env", "import.meta.env", "Deno.env", "Bun.env"}:
        return environment(machine, name, node, frame)
    return marked(machine, Ref(normal(f"{value.dotted}.{name}")), node, frame)


def environment(machine: Machine, name: str, node: Node, frame: Frame) -> Value:
    """The value of an environment variable."""
    label = frame.module.label(node)
    mark = machine.vocabulary.environment(name)
    traits = (Trait(mark, frame.module.place(node), label),) if mark is not None else ()
    return Thing(label, traits, settled=True)


def subscript(machine: Machine, node: Node, frame: Frame) -> Value:
    """The value of ``target[index]``."""
    target, index = node.child_by_field_name("object"), node.child_by_field_name("index")
    if target is None or index is None:
        return Thing()
    value, key = machine.evaluate(target, frame), machine.evaluate(index, frame)
    name = literal(key)
    if name is not None and not isinstance(value, Seq | Str):
        return member_of(machine, value, name, node, frame)
    drawn = tuple(trait for trait in traits_of(key) if trait.mark.code == "PC103")
    position = literal_number(key)
    if drawn:
        return Thing(frame.module.label(node), tuple(dict.fromkeys((*drawn, *traits_of(value)))))
    if position is not None:
        value = one_row(value)
    match value:
        case Seq() if position is not None and 0 <= position < len(value.items) and not value.partial:
            return with_traits(value.items[position], value.traits)
        case Seq():
            return element_of(value)
        case Map():
            found: Value = Thing(frame.module.label(node))
            for _, inner in value.pairs[:20]:
                found = inner if isinstance(found, Thing) else merge(found, inner, frame.module.place(node))
            return found
        case Thing(type="iso") if position is not None:
            return iso_cut(value, position + 1, frame.module.label(node), machine.vocabulary)
        case Thing():
            return Thing(frame.module.label(node), value.traits, settled=value.settled)
        case _:
            return Thing(frame.module.label(node))
