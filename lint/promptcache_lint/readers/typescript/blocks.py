"""What a module's syntax says of when a node is run, of what a name is given, and of a call's arguments."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache_lint.readers.talks import is_talk
from promptcache_lint.readers.typescript.conversations.names import around as outside
from promptcache_lint.readers.typescript.conversations.names import bare, walk
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.typescript.module import Module

__all__ = [
    "argument",
    "around",
    "asks_for_it",
    "called",
    "default",
    "definitions",
    "holds",
    "in_object",
    "names_in",
    "own_nodes",
    "parameters",
    "returned",
    "sends_within",
]

LOOPS = {"while_statement", "do_statement", "for_statement", "for_in_statement"}
_BRANCHES = {"if_statement", *LOOPS}
_ALWAYS = {"condition", "initializer", "right"}
"""The parts of a branch or loop that are run in any case, for a loop at least once."""
_OPTIONS = {"catch_clause", "switch_case", "switch_default"}
_TRIES = re.compile(r"\b\w*(?:attempt|retr(?:y|ies)|tries)\w*\b", re.IGNORECASE)
_SENDS = re.compile(
    r"\breturn\b|\.(?:create|stream|generateContent|send|invoke)\(|\b(?:fetch|generateText|streamText)\("
)
_NOTHING = {"null", "undefined"}
_ADDS = {"push", "unshift", "append", "add", "concat"}
Around = list[tuple[int, str]]
"""The branches, loops and handlers around a node, outermost first, each with the part it stands in."""


def around(node: Node) -> Around:
    """What decides, in its function, whether and how often a node is run."""
    return [(outer.id, part) for outer, part in _around(node)]


def _around(node: Node) -> list[tuple[Node, str]]:
    found: list[tuple[Node, str]] = []
    at = node
    for outer in outside(node):
        if outer.type in FUNCTIONS:
            break
        part = _part(outer, at)
        if part:
            found.append((outer, part))
        at = outer
    return found[::-1]


def _part(outer: Node, inner: Node) -> str:
    """The part of a branch or loop that a node stands in; empty where it is run in any case."""
    if outer.type in _OPTIONS:
        return "body"
    if outer.type not in _BRANCHES:
        return ""
    field = next(
        (name for name in ("consequence", "alternative", "body") if outer.child_by_field_name(name) == inner),
        "",
    )
    return "" if outer.type == "for_statement" and _is_of_tries(outer) else field


def _is_of_tries(loop: Node) -> bool:
    """Whether a loop sends one request again where it has failed."""
    started = loop.child_by_field_name("initializer")
    return started is not None and _TRIES.search((started.text or b"").decode("utf-8", "replace")) is not None


def holds(defined: Node, used: Node) -> bool:
    """Whether what is defined there is so wherever it is used, and anew in each round that uses it."""
    first, second = _around(defined), _around(used)
    if [(outer.id, part) for outer, part in first] != [
        (outer.id, part) for outer, part in second[: len(first)]
    ]:
        return False
    return not any(outer.type in LOOPS for outer, _ in second[len(first) :])


def asks_for_it(node: Node, module: Module) -> bool:
    """Whether the branch around a message only asks whether there is what it holds: ``if (system) …``."""
    outer = _around(node)[-1][0]
    test = bare(outer.child_by_field_name("condition"))
    return (
        test is not None
        and test.type == "identifier"
        and any(
            each.type.endswith("identifier") and module.text(each) == module.text(test) for each in walk(node)
        )
    )


def sends_within(node: Node, module: Module) -> bool:
    """Whether a request is made, or the result given back, in the branch or loop around a message."""
    return _SENDS.search(module.text(_around(node)[-1][0])) is not None


def names_in(function: Node, module: Module, texts: set[str]) -> Iterator[str]:
    """The names that a function uses, and which of ``texts`` it writes out."""
    for node in walk(function):
        if node.type == "property_identifier" and _is_read(node):
            yield "history" if is_talk(module.text(node)) else module.text(node)
        elif node.type == "shorthand_property_identifier_pattern" and is_talk(module.text(node)):
            yield "history"
        elif node.type.endswith("identifier"):
            yield module.text(node)
        elif node.type == "string" and module.text(node)[1:-1] in texts:
            yield "history"


def _is_read(node: Node) -> bool:
    """Whether a property is the last one that is read, as in ``body.messages``."""
    holder = node.parent
    outer = holder.parent if holder is not None and holder.type == "member_expression" else None
    return outer is not None and outer.type != "member_expression"


def own_nodes(function: Node) -> Iterator[Node]:
    """The nodes of a function's body, without those of functions in it."""
    body = function.child_by_field_name("body")
    pending = [body] if body is not None else []
    while pending:
        node = pending.pop()
        yield node
        if node.type not in FUNCTIONS:
            pending += node.named_children


def returned(function: Node) -> list[Node]:
    """What a function gives back, but for nothing after a failure; of an arrow the expression behind it.

    Nothing where control may come past its end.
    """
    body = function.child_by_field_name("body")
    if body is None or any(node.type == "yield_expression" for node in own_nodes(function)):
        return []
    if body.type != "statement_block":
        return [body]
    given = [node for node in own_nodes(function) if node.type == "return_statement"]
    if not _ends(body) or any(not each.named_children and not _is_of_a_failure(each) for each in given):
        return []
    values = [node.named_children[0] for node in given if node.named_children]
    return [value for value in values if value.type not in _NOTHING or not _is_of_a_failure(value)]


def _is_of_a_failure(node: Node) -> bool:
    return any(outer.type == "catch_clause" for outer, _ in _around(node))


def _ends(node: Node | None) -> bool:
    """Whether control never comes past a statement: each way through gives something back."""
    if node is None:
        return False
    children = [each for each in node.named_children if each.type != "comment"]
    match node.type:
        case "return_statement" | "throw_statement":
            return True
        case "statement_block" | "else_clause" | "finally_clause":
            return bool(children) and _ends(children[-1])
        case "if_statement":
            return _ends(node.child_by_field_name("consequence")) and _ends(
                node.child_by_field_name("alternative")
            )
        case "try_statement":
            handler, last = node.child_by_field_name("handler"), node.child_by_field_name("finalizer")
            handled = handler is None or _ends(handler.child_by_field_name("body"))
            return (_ends(node.child_by_field_name("body")) and handled) or _ends(last)
        case "switch_statement":
            return any(each.type == "switch_default" for each in walk(node))
        case "while_statement":
            test = bare(node.child_by_field_name("condition"))
            return test is not None and test.type == "true"
        case _:
            return False


@lru_cache(maxsize=512)
def definitions(name: str, function: Node, module: Module) -> tuple[list[Node], list[Node]]:
    """The nodes that give a variable or field a value, and those that add to the one it has."""
    bases: list[Node] = []
    adds: list[Node] = []
    for node in own_nodes(function):
        match node.type:
            case "variable_declarator" if node.child_by_field_name("value") is not None:
                target = node.child_by_field_name("name")
            case "for_in_statement":
                target = node.child_by_field_name("left")
            case "assignment_expression" | "augmented_assignment_expression":
                target = node.child_by_field_name("left")
            case "call_expression":
                owner, called_ = called(node, module)
                if owner is not None and called_ in _ADDS and module.text(owner) == name:
                    adds.append(node)
                continue
            case _:
                continue
        if target is None or name not in _bound(target, module):
            continue
        value = node.child_by_field_name("right")
        again = value is not None and name in {module.text(each) for each in walk(value)}
        (adds if node.type.startswith("augmented") or again else bases).append(node)
    return bases, adds


def _bound(target: Node, module: Module) -> set[str]:
    if target.type in {"object_pattern", "array_pattern"}:
        return {
            module.text(each)
            for each in walk(target)
            if each.type.endswith(("identifier", "identifier_pattern"))
        }
    return {module.text(target)}


def called(call: Node, module: Module) -> tuple[Node | None, str]:
    """On what something is called, and the last part of its name."""
    function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if function is None:
        return None, ""
    if function.type == "member_expression":
        name = function.child_by_field_name("property")
        return function.child_by_field_name("object"), module.text(name) if name is not None else ""
    return None, module.text(function)


def parameters(function: Node, module: Module) -> list[tuple[Node, Node | None]]:
    """The parameters of a function, each with its default."""
    alone = function.child_by_field_name("parameter")
    if alone is not None:
        return [(alone, None)]
    given = function.child_by_field_name("parameters")
    found: list[tuple[Node, Node | None]] = []
    for each in given.named_children if given is not None else ():
        if each.type == "assignment_pattern":
            left, right = each.child_by_field_name("left"), each.child_by_field_name("right")
            if left is not None:
                found.append((left, right))
        elif each.type != "comment":
            pattern = each.child_by_field_name("pattern") or each
            if module.text(pattern) != "this":
                found.append((pattern, each.child_by_field_name("value")))
    return found


def argument(call: Node, function: Node, name: str, module: Module, caller: Module) -> Node | None:
    """What a call gives to a parameter, or to the field of that name of one; None where nothing."""
    given = call.child_by_field_name("arguments")
    values = [each for each in given.named_children if each.type != "comment"] if given is not None else []
    for index, (pattern, _) in enumerate(parameters(function, module)):
        if index >= len(values) or values[index].type == "spread_element":
            return None
        if module.text(pattern) == name:
            return values[index]
        if pattern.type == "object_pattern" and name in _bound(pattern, module):
            return in_object(values[index], name, caller)
    return None


def default(function: Node, name: str, module: Module) -> Node | None:
    """The default of a parameter."""
    return next(
        (value for pattern, value in parameters(function, module) if module.text(pattern) == name), None
    )


def in_object(node: Node, name: str, module: Module) -> Node | None:
    """What an object that is written out holds under a name."""
    if node.type != "object":
        return None
    for each in node.named_children:
        if each.type == "shorthand_property_identifier" and module.text(each) == name:
            return each
        key = each.child_by_field_name("key")
        if key is not None and module.text(key).strip("\"'") == name:
            return each.child_by_field_name("value")
    return None
