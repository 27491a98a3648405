"""Giving values to names, patterns, members and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Seq,
    Thing,
    element_of,
    traits_of,
    with_traits,
)
from promptcache_lint.readers.typescript import members
from promptcache_lint.readers.typescript.clocks import literal
from promptcache_lint.readers.typescript.module import unquoted
from promptcache_lint.readers.typescript.querying import one_row
from promptcache_lint.readers.typescript.racing import race_traits

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Function

__all__ = ["assign", "bind_parameters", "store"]


def assign(
    machine: Machine, target: Node, value: Value, frame: Frame, node: Node, *, declares: bool = False
) -> None:
    """Bind a target of a declaration, an assignment or a loop; ``node`` is the expression of the value."""
    match target.type:
        case "identifier" | "shorthand_property_identifier_pattern":
            name = frame.module.text(target)
            home = frame if declares else frame.home(name)
            home.names[name] = value
            machine.sinks.assigned(name, value, node, frame)
        case "member_expression" | "subscript_expression":
            store(machine, target, value, frame)
            key = members.key_of(target, frame)
            if key:
                machine.sinks.assigned(key, value, node, frame)
        case "object_pattern":
            for part in target.named_children:
                _destructure(machine, part, value, frame, node, declares=declares)
        case "array_pattern":
            _unpack(machine, target, value, frame, node, declares=declares)
        case "assignment_pattern" | "object_assignment_pattern":
            left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
            if left is not None and right is not None:
                chosen = _or_default(machine, value, right, frame)
                assign(machine, left, chosen, frame, node, declares=declares)
        case "rest_pattern" | "parenthesized_expression" | "non_null_expression" | "as_expression":
            if target.named_children:
                assign(machine, target.named_children[0], value, frame, node, declares=declares)


def _or_default(machine: Machine, value: Value, default: Node, frame: Frame) -> Value:
    """A value that may be missing: its default counts where nothing else is known or it is volatile."""
    if isinstance(value, Thing) and not value.traits:
        other = machine.evaluate(default, frame)
        if value.constant == "undefined" or traits_of(other):
            return other
    return value


def _destructure(
    machine: Machine, part: Node, value: Value, frame: Frame, node: Node, *, declares: bool
) -> None:
    key, target = part, part
    if part.type == "pair_pattern":
        found, inner = part.child_by_field_name("key"), part.child_by_field_name("value")
        if found is None or inner is None:
            return
        key, target = found, inner
    elif part.type == "object_assignment_pattern":
        key = part.child_by_field_name("left") or part
    elif part.type == "rest_pattern":
        assign(machine, part, value, frame, node, declares=declares)
        return
    name = unquoted(frame.module.text(key))
    inner_value = members.member_of(machine, value, name, key, frame)
    assign(machine, target, inner_value, frame, node, declares=declares)


def _unpack(
    machine: Machine, target: Node, value: Value, frame: Frame, node: Node, *, declares: bool
) -> None:
    position = 0
    for child in target.children:
        if child.type == ",":
            position += 1
        elif child.is_named:
            item = element_of(one_row(value))
            if isinstance(value, Seq) and position < len(value.items):
                item = with_traits(value.items[position], value.traits)
            if child.type == "rest_pattern" and isinstance(value, Seq):
                item = Seq(value.items[position:], value.traits, partial=True)
            assign(machine, child, item, frame, node, declares=declares)


def store(machine: Machine, target: Node, value: Value, frame: Frame) -> None:
    """Store a value in a member of something, or back where an expression took it from."""
    name = members.spelling(target, frame)
    if name.startswith("this.") and name.count(".") == 1:
        frame.this_frame().names[name] = value
        return
    if name == "module.exports" or (name.startswith("exports.") and name.count(".") == 1):
        frame.names[name] = value
        return
    if target.type == "identifier":
        frame.home(name).names[name] = value
        return
    holder = target.child_by_field_name("object")
    if holder is None:
        return
    before = machine.evaluate(holder, frame)
    after = _with_member(machine, before, members.key_of(target, frame), value, holder, frame=frame)
    if after is not None:
        store(machine, holder, after, frame)


def _with_member(
    machine: Machine, before: Value, key: str, value: Value, holder: Node, *, frame: Frame
) -> Value | None:
    """What holds a member, after ``value`` was stored in it; None where that is not known."""
    match before:
        case Map():
            after = before.set(key or None, value)
            if not key:
                race = race_traits(machine, holder, (value,), frame)
                after = Map(after.pairs, (*after.traits, *race), partial=True)
            return after
        case Seq():
            return Seq((*before.items[:199], value), before.traits, before.kind, partial=True)
        case Instance():
            return Instance(before.cls, (*before.attributes, (key, value)))
        case _:
            return None


def bind_parameters(
    machine: Machine, function: Function, arguments: list[Value] | None, frame: Frame
) -> None:
    """Give parameters their arguments; without a known call, what their names and defaults suggest."""
    single = function.node.child_by_field_name("parameter")
    if single is not None:
        value = arguments[0] if arguments else Thing(frame.module.text(single))
        frame.names[frame.module.text(single)] = value
        return
    parameters = function.node.child_by_field_name("parameters")
    nodes = parameters.named_children if parameters is not None else []
    for index, node in enumerate(node for node in nodes if node.type != "comment"):
        pattern = node.child_by_field_name("pattern") if "parameter" in node.type else node
        default = node.child_by_field_name("value") if "parameter" in node.type else None
        if pattern is None or pattern.type == "this":
            continue
        if pattern.type == "assignment_pattern":
            default = pattern.child_by_field_name("right")
            pattern = pattern.child_by_field_name("left") or pattern
        _bind(machine, pattern, index, arguments, default, frame=frame)
        if pattern.type == "identifier" and node is not pattern:
            name = frame.module.text(pattern)
            said = node.child_by_field_name("type")
            frame.names[name] = machine.clients.instead(frame.names[name], said, frame.module)
        if pattern.type == "identifier" and function.name == "constructor" and function.owner is not None:
            name = frame.module.text(pattern)
            if name in function.owner.properties:
                frame.names[f"this.{name}"] = frame.names[name]


def _bind(
    machine: Machine,
    pattern: Node,
    index: int,
    arguments: list[Value] | None,
    default: Node | None,
    *,
    frame: Frame,
) -> None:
    name = frame.module.text(pattern) if pattern.type == "identifier" else ""
    value: Value
    if pattern.type == "rest_pattern":
        rest = tuple(arguments[index:]) if arguments is not None else ()
        value = Seq(rest, partial=arguments is None)
    elif arguments is not None and index < len(arguments):
        value = arguments[index]
    else:
        value = Thing(name) if arguments is None else Thing(constant="undefined")
        if default is not None:
            other = machine.evaluate(default, frame)
            if arguments is not None or traits_of(other) or literal(other):
                value = other  # a text that is written down says more than the parameter's name
        elif arguments is not None:
            value = Thing(name)
    if pattern.type == "identifier":
        frame.names[name] = value
    else:
        _quietly(machine, pattern, value, frame)


def _quietly(machine: Machine, pattern: Node, value: Value, frame: Frame) -> None:
    """Bind a pattern of parameters: an argument is no new prompt because a parameter names it."""
    assign(machine, pattern, value, frame, pattern, declares=True)
