"""Running statements: bindings, branches, loops, and what is declared before it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import (
    Map,
    Seq,
    Thing,
    element_of,
    with_traits,
)
from promptcache_lint.readers.typescript import binding, expressions
from promptcache_lint.readers.typescript.lasting import made_once
from promptcache_lint.readers.typescript.shapes import keys_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["run"]

_HOISTED = {"function_declaration", "generator_function_declaration"}
_CLASSES = {"class_declaration", "abstract_class_declaration"}
_MOST_ITEMS = 12


def run(machine: Machine, nodes: list[Node], frame: Frame) -> bool:
    """Run statements in order; whether they end in a return or throw."""
    for node in nodes:
        _hoist(machine, node, frame)
    for node in nodes:
        try:
            if _statement(machine, node, frame):
                return True
        except RecursionError:
            if not frame.at_module_level:
                raise
    return False


def _hoist(machine: Machine, node: Node, frame: Frame) -> None:
    if node.type == "export_statement":
        inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        if inner is not None:
            _hoist(machine, inner, frame)
    elif node.type in _HOISTED:
        name = node.child_by_field_name("name")
        text = frame.module.text(name) if name is not None else "export default"
        frame.names[text] = expressions.closure(node, text, frame)
    elif node.type in _CLASSES:
        name = node.child_by_field_name("name")
        text = frame.module.text(name) if name is not None else "export default"
        frame.names[text] = machine.class_value(node, text, frame)


def _statement(machine: Machine, node: Node, frame: Frame) -> bool:  # noqa: C901 - a table
    match node.type:
        case "lexical_declaration" | "variable_declaration" | "using_declaration":
            for declarator in node.named_children:
                _declare(machine, declarator, frame)
        case "expression_statement":
            for inner in node.named_children:
                if inner.type in {"internal_module", "module"}:
                    return _statement(machine, inner, frame)
                machine.evaluate(inner, frame)
        case "return_statement":
            if node.named_children and node.named_children[0].type != "comment":
                value = machine.evaluate(node.named_children[0], frame)
                frame.returned.append((value, frame.module.place(node.named_children[0])))
            return True
        case "throw_statement" | "break_statement" | "continue_statement":
            return node.type == "throw_statement"
        case "if_statement":
            return _if(machine, node, frame)
        case "for_statement" | "while_statement" | "do_statement":
            _loop(machine, node, frame)
        case "for_in_statement":
            _for_in(machine, node, frame)
        case "statement_block" | "ERROR":
            return _block(machine, node, frame)
        case "try_statement":
            return _try(machine, node, frame)
        case "switch_statement":
            _switch(machine, node, frame)
        case "export_statement":
            _export(machine, node, frame)
        case "labeled_statement":
            body = node.child_by_field_name("body")
            return body is not None and _statement(machine, body, frame)
        case "class_declaration" | "abstract_class_declaration":
            _fields(machine, node, frame)
        case "internal_module" | "module":
            body = node.child_by_field_name("body")
            if body is not None:
                run(machine, body.named_children, frame)
        case "enum_declaration":
            _enum(machine, node, frame)
    return False


def _declare(machine: Machine, node: Node, frame: Frame) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    if value is None:
        if name.type == "identifier":
            frame.names[frame.module.text(name)] = Thing(constant="undefined")
        return
    named = _named_value(machine, name, value, frame)
    if frame.at_module_level and name.type == "identifier" and _is_constant(node):
        named = made_once(named)
    binding.assign(machine, name, named, frame, value, declares=True)


def _is_constant(declarator: Node) -> bool:
    """Whether a variable is declared by ``const``, so that nothing gives it another value."""
    holder = declarator.parent
    kind = holder.child_by_field_name("kind") if holder is not None else None
    return kind is not None and kind.type == "const"


def _named_value(machine: Machine, name: Node, value: Node, frame: Frame) -> Value:
    """The value of an expression; a function or class gets the name it is bound to."""
    bare = value
    while bare.type in {"parenthesized_expression", "as_expression", "satisfies_expression"}:
        if not bare.named_children:
            break
        bare = bare.named_children[0]
    if name.type == "identifier" and bare.type in {"arrow_function", "function_expression", "function"}:
        return expressions.closure(bare, frame.module.text(name), frame)
    if name.type == "identifier" and bare.type == "class":
        ref = machine.class_value(bare, frame.module.text(name), frame)
        _fields(machine, bare, frame)
        return ref
    return machine.evaluate(value, frame)


def _if(machine: Machine, node: Node, frame: Frame) -> bool:
    condition = node.child_by_field_name("condition")
    consequence, alternative = (
        node.child_by_field_name("consequence"),
        node.child_by_field_name("alternative"),
    )
    if condition is not None:
        machine.evaluate(condition, frame)
    before = dict(frame.names)
    first = consequence is not None and _statement(machine, consequence, frame)
    taken = frame.names
    frame.names = dict(before)
    second = False
    if alternative is not None:
        second = run(machine, alternative.named_children, frame)
    if first and second:
        return True
    if second:
        frame.names = taken
    elif not first:
        other, frame.names = frame.names, taken
        test = frame.module.label(condition).strip("()") if condition is not None else ""
        frame.join(before, other, frame.module.place(node), test)
    return False


def _block(machine: Machine, node: Node, frame: Frame) -> bool:
    """A block: what it declares hides names outside only inside."""
    hidden: dict[str, Value] = {}
    for child in node.named_children:
        if child.type != "lexical_declaration":
            continue
        for declarator in child.named_children:
            name = declarator.child_by_field_name("name")
            if name is not None and name.type == "identifier":
                text = frame.module.text(name)
                if text in frame.names:
                    hidden[text] = frame.names[text]
    ended = run(machine, node.named_children, frame)
    frame.names |= hidden
    return ended


def _loop(machine: Machine, node: Node, frame: Frame) -> None:
    for field in ("initializer", "condition", "body", "increment"):
        inner = node.child_by_field_name(field)
        if inner is None:
            continue
        if field in {"initializer", "body"}:
            _statement(machine, inner, frame)
        else:
            machine.evaluate(inner, frame)


def _for_in(machine: Machine, node: Node, frame: Frame) -> None:
    left, right, body = (node.child_by_field_name(name) for name in ("left", "right", "body"))
    if left is None or right is None or body is None:
        return
    value = machine.evaluate(right, frame)
    operator = node.child_by_field_name("operator")
    if operator is not None and operator.type == "in":
        value = keys_of(value)
    declares = node.child_by_field_name("kind") is not None
    if any(child.type == "await" for child in node.children):
        frame.waited = True
    items = [element_of(value)]
    if isinstance(value, Seq) and not value.partial and 0 < len(value.items) <= _MOST_ITEMS:
        items = [with_traits(item, value.traits) for item in value.items]
    for item in items:
        binding.assign(machine, left, item, frame, right, declares=declares)
        _statement(machine, body, frame)


def _try(machine: Machine, node: Node, frame: Frame) -> bool:
    body, handler, last = (node.child_by_field_name(name) for name in ("body", "handler", "finalizer"))
    ended = body is not None and _statement(machine, body, frame)
    if handler is not None:
        parameter, inner = handler.child_by_field_name("parameter"), handler.child_by_field_name("body")
        before = dict(frame.names)
        if parameter is not None and parameter.type == "identifier":
            frame.names[frame.module.text(parameter)] = Thing("error", settled=True)
        caught = inner is not None and _statement(machine, inner, frame)
        if caught:
            frame.names = before
        else:
            frame.join(before, before, frame.module.place(handler), "")
            ended = False
    if last is not None:
        run(machine, last.named_children, frame)
    return ended


def _switch(machine: Machine, node: Node, frame: Frame) -> None:
    value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
    if value is not None:
        machine.evaluate(value, frame)
    before = dict(frame.names)
    result: dict[str, Value] | None = None
    for case in body.named_children if body is not None else ():
        frame.names = dict(before)
        test = case.child_by_field_name("value")
        statements = [
            child for child in case.named_children if test is None or child.start_byte != test.start_byte
        ]
        if run(machine, statements, frame):
            continue
        if result is not None:
            frame.join(before, result, frame.module.place(case), "")
        result = frame.names
    frame.names = result if result is not None else before


def _export(machine: Machine, node: Node, frame: Frame) -> None:
    inner = node.child_by_field_name("declaration")
    if inner is not None:
        _statement(machine, inner, frame)
        return
    value = node.child_by_field_name("value")
    if value is not None:
        frame.names["export default"] = machine.evaluate(value, frame)
        machine.sinks.assigned(frame.module.path.stem, frame.names["export default"], value, frame)


def _fields(machine: Machine, node: Node, frame: Frame) -> None:
    """The fields of a class that are named like prompts."""
    body = node.child_by_field_name("body")
    for member in body.named_children if body is not None else ():
        value = member.child_by_field_name("value")
        key = member.child_by_field_name("name") or member.child_by_field_name("property")
        if value is None or key is None:
            continue
        name = frame.module.text(key).lstrip("#")
        bare = value.type in {"arrow_function", "function_expression"}
        inner = expressions.closure(value, name, frame) if bare else machine.evaluate(value, frame)
        static = any(child.type == "static" for child in member.children)
        machine.sinks.assigned(name, settled(inner) if static else inner, value, frame, per_object=not static)


def _enum(machine: Machine, node: Node, frame: Frame) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return
    pairs: list[tuple[str | None, Value]] = []
    for member in body.named_children:
        key, value = member.child_by_field_name("name"), member.child_by_field_name("value")
        if key is not None and value is not None:
            pairs.append((frame.module.text(key), machine.evaluate(value, frame)))
    frame.names[frame.module.text(name)] = Map(tuple(pairs))
