"""The values of expressions: literals, names, members, operators, and functions as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.fallbacks import as_fallback
from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.values import (
    Instance,
    Ref,
    Seq,
    Str,
    Thing,
    traits_of,
)
from promptcache_lint.readers.typescript import binding, calls, literals, members, texts
from promptcache_lint.readers.typescript.clocks import DAYS, is_day
from promptcache_lint.readers.typescript.counters import counted
from promptcache_lint.readers.typescript.module import FUNCTIONS, Closure
from promptcache_lint.readers.typescript.naming import is_field, naming

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["closure", "evaluate", "named"]

_WRAPPERS = {
    *("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"),
    *("type_assertion", "spread_element", "computed_property_name", "jsx_expression"),
}
_LOGICAL = {"||", "&&", "??"}
_COMPARING = {"==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"}
_MOST_YIELDED = 50


def evaluate(machine: Machine, node: Node, frame: Frame) -> Value:  # noqa: C901 - a table
    """The value of an expression."""
    kind = node.type
    match kind:
        case "string":
            return texts.string(node, frame)
        case "template_string":
            return texts.template(machine, node, frame)
        case "identifier" | "undefined":
            return named(machine, node, frame)
        case "number" | "true" | "false" | "null":
            return Thing(constant=frame.module.text(node), settled=True)
        case "member_expression":
            return members.member(machine, node, frame)
        case "subscript_expression":
            return members.subscript(machine, node, frame)
        case "call_expression":
            return calls.call(machine, node, frame)
        case "new_expression":
            return calls.construct(machine, node, frame)
        case "await_expression":
            return _await(machine, node, frame)
        case "yield_expression":
            return _yield(machine, node, frame)
        case "binary_expression":
            return _binary(machine, node, frame)
        case "ternary_expression":
            return _ternary(machine, node, frame)
        case "object":
            return literals.object_(machine, node, frame)
        case "array":
            return literals.array(machine, node, frame)
        case "assignment_expression" | "augmented_assignment_expression":
            return _assignment(machine, node, frame)
        case "unary_expression" | "update_expression":
            return _unary(machine, node, frame)
        case "this":
            return frame.this_frame().this or Thing("this")
        case "class":
            return machine.class_value(node, "", frame)
        case "sequence_expression":
            values = [machine.evaluate(child, frame) for child in node.named_children]
            return values[-1] if values else Thing()
        case "jsx_element" | "jsx_self_closing_element" | "jsx_fragment":
            return literals.jsx(machine, node, frame)
        case "meta_property":
            return Ref(frame.module.text(node))
    if kind in _WRAPPERS:
        inner = node.named_children
        return machine.evaluate(inner[0], frame) if inner else Thing()
    if kind in FUNCTIONS:
        return closure(node, "", frame)
    return Thing()


def closure(node: Node, name: str, frame: Frame) -> Ref:
    """A function as a value; it may be run by itself later."""
    made = Closure(frame.module.function(node, name), frame)
    if frame.depth == 0:
        frame.made.append(made)
    return Ref(name or "(function)", made)


def named(machine: Machine, node: Node, frame: Frame) -> Value:
    """The value of a name: a variable, an import, or one that nobody in the tree defines."""
    name = frame.module.text(node)
    if name == "undefined":
        return Thing(constant="undefined")
    value = frame.find(name)
    if value is not None:
        return counted(machine, value, name, node, frame)
    if name in frame.module.imports:
        return machine.imported(frame.module, name)
    return members.marked(machine, Ref(name), node, frame)


def _await(machine: Machine, node: Node, frame: Frame) -> Value:
    inner = node.named_children
    value = machine.evaluate(inner[0], frame) if inner else Thing()
    frame.waited = True
    return value


def _yield(machine: Machine, node: Node, frame: Frame) -> Value:
    """What a generator yields is an item of what a call of it gives."""
    inner = node.named_children
    value = machine.evaluate(inner[0], frame) if inner else Thing()
    delegated = any(child.type == "*" for child in node.children) and isinstance(value, Seq)
    if len(frame.yielded) < _MOST_YIELDED:
        frame.yielded += value.items if delegated and isinstance(value, Seq) else (value,)
    return Thing()


def _operands(node: Node) -> list[Node]:
    """The terms of a long sum, without going down into it."""
    terms: list[Node] = []
    while node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator is None or operator.type != "+" or left is None or right is None:
            break
        terms.append(right)
        node = left
    return [node, *reversed(terms)]


def _binary(machine: Machine, node: Node, frame: Frame) -> Value:
    operator = node.child_by_field_name("operator")
    kind = operator.type if operator is not None else ""
    if kind == "+":
        return _sum(machine, _operands(node), node, frame)
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return Thing()
    first, second = machine.evaluate(left, frame), machine.evaluate(right, frame)
    if kind in _LOGICAL:
        if kind != "&&" and is_field(left):
            second = as_fallback(second, naming(left, frame.module))
        return _either(first, second, kind, node, frame)
    if kind in _COMPARING:
        return Thing(frame.module.label(node), settled=True)
    traits = tuple(dict.fromkeys((*traits_of(first), *traits_of(second))))
    kept, made = tuple(t for t in traits if not t.mark.order), ""
    if kind == "/" and kept and is_day(frame.module.text(right)):
        made = DAYS
    return Thing(frame.module.label(node), kept, made, settled=not traits)


def _either(first: Value, second: Value, kind: str, node: Node, frame: Frame) -> Value:
    if kind == "&&":
        return second
    if isinstance(first, Thing) and first.constant in {"undefined", "null", "false"}:
        return second
    if isinstance(first, Thing) and not first.traits and not first.settled and isinstance(second, Thing):
        return second if second.traits else first
    if isinstance(first, Thing) and isinstance(second, Str) and not second.parts:
        return first
    if isinstance(first, Ref | Instance) and first != second:
        return second if isinstance(second, Str) or not isinstance(first, Instance) else first
    return merge(first, second, frame.module.place(node))


def _sum(machine: Machine, terms: list[Node], node: Node, frame: Frame) -> Value:
    values = [machine.evaluate(term, frame) for term in terms]
    if not any(isinstance(value, Str) for value in values):
        traits = tuple(dict.fromkeys(trait for value in values for trait in traits_of(value)))
        settled = all(isinstance(value, Thing) and value.settled for value in values)
        return Thing(frame.module.label(node), traits, settled=settled)
    parts: list[Part] = []
    for value, term in zip(values, terms, strict=True):
        parts += texts.parts_of(machine, value, term, frame)
    return Str(tuple(parts[:300]))


def _ternary(machine: Machine, node: Node, frame: Frame) -> Value:
    condition = node.child_by_field_name("condition")
    first, second = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    if condition is not None:
        machine.evaluate(condition, frame)
    if first is None or second is None:
        return Thing()
    one, other = machine.evaluate(first, frame), machine.evaluate(second, frame)
    if isinstance(other, Thing) and other.constant in {"undefined", "null"}:
        return one
    test = frame.module.label(condition) if condition is not None else ""
    return merge(one, other, frame.module.place(node), test)


def _assignment(machine: Machine, node: Node, frame: Frame) -> Value:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return Thing()
    operator = node.child_by_field_name("operator")
    kind = operator.type if operator is not None else "="
    if kind == "+=":
        value = _sum(machine, [left, right], node, frame)
        binding.store(machine, left, value, frame)
        return value
    if kind == "=" and right.type in {"arrow_function", "function_expression", "function"}:
        name = members.key_of(left, frame) if left.type == "member_expression" else frame.module.text(left)
        value = closure(right, name, frame)
    else:
        value = machine.evaluate(right, frame)
    if kind in {"||=", "??="}:
        value = _either(machine.evaluate(left, frame), value, kind[:-1], node, frame)
    elif kind != "=":
        value = Thing(frame.module.label(left), traits_of(value))
    binding.assign(machine, left, value, frame, right)
    return value


def _unary(machine: Machine, node: Node, frame: Frame) -> Value:
    inner = node.child_by_field_name("argument")
    operator = node.child_by_field_name("operator")
    value = machine.evaluate(inner, frame) if inner is not None else Thing()
    if operator is not None and operator.type in {"+", "-", "~"}:
        if isinstance(value, Thing) and value.constant is not None and operator.type == "-":
            return Thing(constant=f"-{value.constant}", settled=True)
        return Thing(frame.module.label(node), traits_of(value))
    if node.type == "update_expression":
        return Thing(frame.module.label(node), tuple(t for t in traits_of(value) if t.mark.code == "PC107"))
    return Thing(frame.module.label(node), settled=True)
