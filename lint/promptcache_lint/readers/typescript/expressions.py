"""The values of expressions: literals, names, members, operators, and functions as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    element_of,
    merge,
    traits_of,
    with_traits,
)
from promptcache_lint.readers.typescript import calls, statements, texts
from promptcache_lint.readers.typescript.clocks import iso_cut, literal, literal_number
from promptcache_lint.readers.typescript.module import FUNCTIONS, Class, Closure, Module, unquoted
from promptcache_lint.readers.typescript.signs import attribute_mark, normal

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["closure", "evaluate", "key_of", "member_of", "spelling"]

_WRAPPERS = {
    *("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"),
    *("type_assertion", "spread_element", "computed_property_name", "jsx_expression"),
}
_LOGICAL = {"||", "&&", "??"}
_COMPARING = {"==", "===", "!=", "!==", "<", ">", "<=", ">=", "in", "instanceof"}
_SIZES = {"length", "size", "byteLength"}
_PROMPT_TAGS = ("system", "developer")


def evaluate(machine: Machine, node: Node, frame: Frame) -> Value:  # noqa: C901 - a table
    """The value of an expression."""
    kind = node.type
    match kind:
        case "string":
            return texts.string(node, frame)
        case "template_string":
            return texts.template(machine, node, frame)
        case "identifier" | "undefined":
            return _name(machine, node, frame)
        case "number" | "true" | "false" | "null":
            return Thing(constant=frame.module.text(node), settled=True)
        case "member_expression":
            return _member(machine, node, frame)
        case "subscript_expression":
            return _subscript(machine, node, frame)
        case "call_expression":
            return calls.call(machine, node, frame)
        case "new_expression":
            return calls.construct(machine, node, frame)
        case "await_expression" | "yield_expression":
            return _await(machine, node, frame)
        case "binary_expression":
            return _binary(machine, node, frame)
        case "ternary_expression":
            return _ternary(machine, node, frame)
        case "object":
            return _object(machine, node, frame)
        case "array":
            return _array(machine, node, frame)
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
            return _jsx(machine, node, frame)
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


def _name(machine: Machine, node: Node, frame: Frame) -> Value:
    name = frame.module.text(node)
    if name == "undefined":
        return Thing(constant="undefined")
    value = frame.find(name)
    if value is not None:
        return value
    if name in frame.module.imports:
        return machine.imported(frame.module, name)
    return _marked(machine, Ref(name), node, frame)


def _marked(machine: Machine, ref: Ref, node: Node, frame: Frame) -> Value:
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


def _member(machine: Machine, node: Node, frame: Frame) -> Value:
    target, key = node.child_by_field_name("object"), node.child_by_field_name("property")
    if target is None or key is None:
        return Thing()
    name = frame.module.text(key).lstrip("#")
    if target.type == "this":
        stored = frame.this_frame().names.get(f"this.{name}")
        if stored is not None:
            return stored
    return member_of(machine, machine.evaluate(target, frame), name, node, frame)


def member_of(machine: Machine, value: Value, name: str, node: Node, frame: Frame) -> Value:
    """The member ``name`` of a value."""
    match value:
        case Ref(target=None):
            return _of_name(machine, value, name, node, frame)
        case Ref(target=Module() as module):
            return machine.exported(module, name)
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
        case Thing():
            return Thing(frame.module.label(node), value.traits, settled=value.settled)
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
    return _marked(machine, Ref(normal(f"{value.dotted}.{name}")), node, frame)


def environment(machine: Machine, name: str, node: Node, frame: Frame) -> Value:
    """The value of an environment variable."""
    label = frame.module.label(node)
    mark = machine.vocabulary.environment(name)
    traits = (Trait(mark, frame.module.place(node), label),) if mark is not None else ()
    return Thing(label, traits, settled=True)


def _subscript(machine: Machine, node: Node, frame: Frame) -> Value:
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


def _await(machine: Machine, node: Node, frame: Frame) -> Value:
    inner = node.named_children
    value = machine.evaluate(inner[0], frame) if inner else Thing()
    frame.waited = True
    return value


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
        return _either(first, second, kind, node, frame)
    if kind in _COMPARING:
        return Thing(frame.module.label(node), settled=True)
    traits = tuple(dict.fromkeys((*traits_of(first), *traits_of(second))))
    return Thing(frame.module.label(node), tuple(t for t in traits if not t.mark.order), settled=not traits)


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


def _object(machine: Machine, node: Node, frame: Frame) -> Value:
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
            item = closure(inner, name or "", frame) if bare else machine.evaluate(inner, frame)
            if name is not None:
                machine.sinks.assigned(name, item, inner, frame, key=True)
            return value.set(name, item)
        case "shorthand_property_identifier":
            return value.set(frame.module.text(child), _name(machine, child, frame))
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
            ref = closure(child, name, frame)
            getter = isinstance(ref.target, Closure) and ref.target.function.kind == "get"
            return value.set(name, Ref("get()" if getter else name, ref.target))
        case _:
            return value


def _array(machine: Machine, node: Node, frame: Frame) -> Value:
    items: list[Value] = []
    traits: tuple[Trait, ...] = ()
    partial = False
    for child in node.named_children:
        if child.type == "comment":
            continue
        value = machine.evaluate(child, frame)
        if child.type != "spread_element":
            items.append(value)
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


def _assignment(machine: Machine, node: Node, frame: Frame) -> Value:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return Thing()
    operator = node.child_by_field_name("operator")
    kind = operator.type if operator is not None else "="
    if kind == "+=":
        value = _sum(machine, [left, right], node, frame)
        statements.store(machine, left, value, frame)
        return value
    if kind == "=" and right.type in {"arrow_function", "function_expression", "function"}:
        name = key_of(left, frame) if left.type == "member_expression" else frame.module.text(left)
        value = closure(right, name, frame)
    else:
        value = machine.evaluate(right, frame)
    if kind in {"||=", "??="}:
        value = _either(machine.evaluate(left, frame), value, kind[:-1], node, frame)
    elif kind != "=":
        value = Thing(frame.module.label(left), traits_of(value))
    statements.assign(machine, left, value, frame, right)
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
        return Thing(frame.module.label(node))
    return Thing(frame.module.label(node), settled=True)


def _jsx(machine: Machine, node: Node, frame: Frame) -> Value:
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
