"""Objects, arrays and JSX elements as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import (
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    map_traits,
    traits_of,
)
from promptcache_lint.readers.typescript import expressions, texts
from promptcache_lint.readers.typescript.module import Closure, unquoted

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.prompts import Part, Trait
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["array", "jsx", "object_"]

_PROMPT_TAGS = ("system", "developer")


def object_(machine: Machine, node: Node, frame: Frame) -> Value:
    """An object that is written out."""
    value = Map(())
    for child in node.named_children:
        value = _with_pair(machine, value, child, frame)
    machine.sinks.built_object(value, node, frame)
    return value


def _with_pair(machine: Machine, value: Map, child: Node, frame: Frame) -> Map:
    match child.type:
        case "pair":
            key, inner = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is None or inner is None:
                return value
            name = None if key.type == "computed_property_name" else unquoted(frame.module.text(key))
            bare = inner.type in {"arrow_function", "function_expression", "function"}
            item = expressions.closure(inner, name or "", frame) if bare else machine.evaluate(inner, frame)
            if name is not None:
                machine.sinks.assigned(name, item, inner, frame, key=True)
            return value.set(name, item)
        case "shorthand_property_identifier":
            return value.set(frame.module.text(child), expressions.named(machine, child, frame))
        case "spread_element":
            inner_value = machine.evaluate(child, frame)
            if isinstance(inner_value, Map):
                for name, item in inner_value.pairs:
                    value = value.set(name, item)
                return Map(
                    value.pairs, (*value.traits, *inner_value.traits), value.partial or inner_value.partial
                )
            return Map(value.pairs, (*value.traits, *traits_of(inner_value)), partial=True)
        case "method_definition":
            key = child.child_by_field_name("name")
            name = frame.module.text(key) if key is not None else ""
            ref = expressions.closure(child, name, frame)
            getter = isinstance(ref.target, Closure) and ref.target.function.kind == "get"
            return value.set(name, Ref("get()" if getter else name, ref.target))
        case _:
            return value


def array(machine: Machine, node: Node, frame: Frame) -> Value:
    """An array that is written out."""
    items: list[Value] = []
    traits: tuple[Trait, ...] = ()
    partial = False
    for child in node.named_children:
        if child.type == "comment":
            continue
        value = machine.evaluate(child, frame)
        if child.type != "spread_element":
            items.append(_passed(value, child, frame))
        elif isinstance(value, Seq):
            items += value.items
            traits += value.traits
            partial = partial or value.partial
        else:
            items.append(Thing("...", traits_of(value)))
            partial = True
    result = Seq(tuple(items[:200]), traits, partial=partial)
    machine.sinks.built_list(result, node, frame)
    return result


def _passed(value: Value, node: Node, frame: Frame) -> Value:
    """A volatile item remembers where it stands in the array, so that each of them can be told apart."""
    if not isinstance(value, Thing) or not value.traits:
        return value
    place = frame.module.place(node)
    return map_traits(value, lambda trait: trait.through(place))


def jsx(machine: Machine, node: Node, frame: Frame) -> Value:
    """A JSX element: mostly a page, which is no text; some libraries write messages so."""
    _jsx_parts(machine, node, frame)
    return Thing()


def _jsx_parts(machine: Machine, node: Node, frame: Frame) -> tuple[Part, ...]:
    """The text and expressions inside an element; a system message among them is a prompt."""
    parts: list[Part] = []
    for child in node.named_children:
        if child.type in {"jsx_text", "html_character_reference"}:
            parts += texts.raw(child, frame)
        elif child.type == "jsx_expression" and child.named_children:
            value = machine.evaluate(child.named_children[0], frame)
            parts += texts.parts_of(machine, value, child.named_children[0], frame)
        elif child.type in {"jsx_element", "jsx_self_closing_element", "jsx_fragment"}:
            parts += _jsx_parts(machine, child, frame)
        elif child.type == "jsx_opening_element":
            _attributes(machine, child, frame)
    if node.type == "jsx_self_closing_element":
        _attributes(machine, node, frame)
    opening = node.child_by_field_name("open_tag")
    name = opening.child_by_field_name("name") if opening is not None else None
    if name is not None and parts and frame.module.text(name).lower().startswith(_PROMPT_TAGS):
        machine.sinks.element(frame.module.text(name), Str(tuple(parts[:300])), node, frame)
    return tuple(parts[:300])


def _attributes(machine: Machine, node: Node, frame: Frame) -> None:
    for child in node.named_children:
        if child.type != "jsx_attribute" or len(child.named_children) < 2:
            continue
        key, value = child.named_children[0], child.named_children[1]
        inner = machine.evaluate(value, frame)
        machine.sinks.assigned(frame.module.text(key), inner, value, frame, key=True)
