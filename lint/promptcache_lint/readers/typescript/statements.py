"""Running statements: bindings, branches, loops, and what is declared before it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Seq,
    Thing,
    element_of,
    traits_of,
    with_traits,
)
from promptcache_lint.readers.typescript import expressions
from promptcache_lint.readers.typescript.module import unquoted
from promptcache_lint.readers.typescript.shapes import keys_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Function

__all__ = ["assign", "bind_parameters", "race_trait", "run", "store"]

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
    assign(machine, name, _named_value(machine, name, value, frame), frame, value, declares=True)


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
            key = expressions.key_of(target, frame)
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
    inner_value = expressions.member_of(machine, value, name, key, frame)
    assign(machine, target, inner_value, frame, node, declares=declares)


def _unpack(
    machine: Machine, target: Node, value: Value, frame: Frame, node: Node, *, declares: bool
) -> None:
    position = 0
    for child in target.children:
        if child.type == ",":
            position += 1
        elif child.is_named:
            item = element_of(value)
            if isinstance(value, Seq) and position < len(value.items):
                item = with_traits(value.items[position], value.traits)
            if child.type == "rest_pattern" and isinstance(value, Seq):
                item = Seq(value.items[position:], value.traits, partial=True)
            assign(machine, child, item, frame, node, declares=declares)


def store(machine: Machine, target: Node, value: Value, frame: Frame) -> None:
    """Store a value in a member of something, or back where an expression took it from."""
    name = expressions.spelling(target, frame)
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
    after = _with_member(machine, before, expressions.key_of(target, frame), value, holder, frame=frame)
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
                race = race_trait(machine, holder, frame)
                after = Map(after.pairs, (*after.traits, *race), partial=True)
            return after
        case Seq():
            return Seq((*before.items[:199], value), before.traits, before.kind, partial=True)
        case Instance():
            return Instance(before.cls, (*before.attributes, (key, value)))
        case _:
            return None


def race_trait(machine: Machine, target: Node, frame: Frame) -> tuple[Trait, ...]:
    """What is appended to something outside by runs that wait beside each other comes in no fixed order."""
    inner: Frame | None = frame
    while inner is not None and not inner.racing:
        inner = inner.outer if inner.function is not None else None
    if inner is None or not (frame.waited or inner.waited):
        return ()
    name = expressions.spelling(target, frame)
    walk: Frame | None = frame
    while walk is not None:
        if name in walk.names and not name.startswith("this."):
            return ()
        if walk is inner:
            break
        walk = walk.outer
    mark = machine.vocabulary.call("asyncio.as_completed")
    return (Trait(mark, frame.module.place(target), frame.module.label(target)),) if mark is not None else ()


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
        assign(machine, left, item, frame, right, declares=declares)
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
            if arguments is not None or traits_of(other):
                value = other
        elif arguments is not None:
            value = Thing(name)
    if pattern.type == "identifier":
        frame.names[name] = value
    else:
        _quietly(machine, pattern, value, frame)


def _quietly(machine: Machine, pattern: Node, value: Value, frame: Frame) -> None:
    """Bind a pattern of parameters: an argument is no new prompt because a parameter names it."""
    assign(machine, pattern, value, frame, pattern, declares=True)
