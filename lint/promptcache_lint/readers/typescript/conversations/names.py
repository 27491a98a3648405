"""Names in a module's syntax: which scope a variable belongs to, and what it is given."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.typescript.module import Module

__all__ = ["BARE", "Key", "Names", "around", "bare", "function_of", "walk"]

Key = tuple[str, int]
"""A variable's name and the function that declares it (0: the module), or ``this.name`` and its class."""
BARE = {
    *("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"),
    *("await_expression", "spread_element", "type_assertion"),
}
_CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
_KEYED = {"identifier", "member_expression", "template_string", "call_expression", "non_null_expression"}
"""How the user or channel is given for whom something is kept; a number is a place in a list."""
_IDENTIFIERS = {"identifier", "shorthand_property_identifier_pattern"}
_NAMED = {"identifier", "shorthand_property_identifier", "member_expression", "subscript_expression"}
_CALLS = re.compile(r"\([^()]*\)")
_SPACE = re.compile(r"\s+|[!?](?=\.)")


class Names:
    """The variables of one module.

    ``values`` maps each to the expressions it is given, ``unpacked`` to those of which it is given a part.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.nodes: list[Node] = list(walk(module.tree.root_node))
        self.values: dict[Key, list[Node]] = {}
        self.parameters: set[Key] = set()
        self.functions: dict[Key, Node] = {}
        self.texts: set[Key] = set()
        self.unpacked: dict[Key, list[Node]] = {}
        self._declared: dict[int, set[str]] = {}
        for node in self.nodes:
            self._declare(node)
        for node in self.nodes:
            self._give(node)

    @cached_property
    def uses(self) -> dict[Key, list[Node]]:
        """Where each variable and each field is named, in the order of the source."""
        found: dict[Key, list[Node]] = {}
        for node in self.nodes:
            if node.type in _NAMED and (key := self.key(node)) is not None:
                found.setdefault(key, []).append(node)
        return found

    @cached_property
    def called(self) -> dict[int, list[Key]]:
        """The keys of each function, by its node's id."""
        found: dict[int, list[Key]] = {}
        for key, function in self.functions.items():
            found.setdefault(function.id, []).append(key)
        return found

    def text(self, node: Node | None) -> str:
        """The source of a node."""
        return self.module.text(node) if node is not None else ""

    def key(self, node: Node | None) -> Key | None:
        """The variable or field that an expression is; None for anything else."""
        node = bare(node)
        if node is None:
            return None
        if node.type in {"identifier", "shorthand_property_identifier"}:
            return self._key_of(self.text(node), node)
        holder = node.child_by_field_name("object") if node.type == "member_expression" else None
        if holder is not None and holder.type == "this":
            name = self.text(node.child_by_field_name("property")).lstrip("#")
            return f"this.{name}", next((outer.id for outer in around(node) if outer.type in _CLASSES), -1)
        return self._key_of_entry(node)

    def _key_of_entry(self, node: Node) -> Key | None:
        """What a table holds for each user: ``talks[]`` of ``talks[user]`` and of ``talks.get(user)``."""
        table: Node | None = None
        if node.type == "subscript_expression":
            index = node.child_by_field_name("index")
            table = node.child_by_field_name("object") if index is not None and index.type in _KEYED else None
        elif node.type == "call_expression":
            table = self._table_of(node, "get", 1)
        elif node.type == "augmented_assignment_expression":  # ``(talks[user] ||= []).push(…)``
            return self.key(node.child_by_field_name("left"))
        key = self.key(table)
        return (f"{key[0]}[]", key[1]) if key is not None else None

    def _table_of(self, call: Node, method: str, arguments: int) -> Node | None:
        """The map of which a method is called with so many arguments."""
        function, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if function is None or given is None or function.type != "member_expression":
            return None
        called = self.text(function.child_by_field_name("property")) == method
        return (
            function.child_by_field_name("object")
            if called and len(given.named_children) == arguments
            else None
        )

    def _key_of(self, name: str, node: Node) -> Key:
        function = function_of(node)
        while function is not None:
            if name in self._declared.get(function.id, ()):
                return name, function.id
            function = function_of(function)
        return name, 0

    def path(self, node: Node | None) -> str:
        """The members that lead to what is called, calls on the way left out."""
        return _SPACE.sub("", _CALLS.sub("", _CALLS.sub("", self.text(node))))

    def function_name(self, node: Node) -> str:
        """The names of the functions around a node, innermost first."""
        found = []
        for outer in around(node):
            if outer.type in FUNCTIONS:
                name = outer.child_by_field_name("name")
                if (
                    name is None
                    and outer.parent is not None
                    and outer.parent.type in {"variable_declarator", "pair"}
                ):
                    name = outer.parent.child_by_field_name("name") or outer.parent.child_by_field_name("key")
                found.append(self.text(name))
        return " ".join(filter(None, found))

    def keys_of_declaration(self, node: Node, target: Node) -> list[Key]:
        """The keys under which a declared variable, parameter or field is known; a parameter may be both."""
        name = self.text(target).lstrip("#")
        field = (f"this.{name}", next((outer.id for outer in around(node) if outer.type in _CLASSES), -1))
        if "field" in node.type:
            return [field]
        own = self._key_of(name, target)
        return (
            [own, field] if any(child.type == "accessibility_modifier" for child in node.children) else [own]
        )

    def _declare(self, node: Node) -> None:
        pattern: Node | None = None
        if node.type == "variable_declarator":
            pattern = node.child_by_field_name("name")
        elif node.type == "for_in_statement" and node.child_by_field_name("kind") is not None:
            pattern = node.child_by_field_name("left")
        elif node.type in FUNCTIONS:
            names = set()
            for field in ("parameters", "parameter"):
                given = node.child_by_field_name(field)
                names |= self._names_in(given) if given is not None else set()
            self._declared.setdefault(node.id, set()).update(names)
            self.parameters |= {(name, node.id) for name in names}
            self.texts |= {(name, node.id) for name in self._texts_in(node.child_by_field_name("parameters"))}
        function = function_of(node) if pattern is not None else None
        if pattern is not None and function is not None:
            self._declared.setdefault(function.id, set()).update(self._names_in(pattern))

    def _texts_in(self, parameters: Node | None) -> Iterator[str]:
        """The parameters that are declared to be a text."""
        for each in parameters.named_children if parameters is not None else ():
            said = self.text(each.child_by_field_name("type")).lstrip(": ")
            if said.startswith("string") and not said.endswith("[]"):
                yield self.text(each.child_by_field_name("pattern"))

    def _names_in(self, pattern: Node) -> set[str]:
        return {self.text(node) for node in walk(pattern) if node.type in _IDENTIFIERS}

    def _define(self, node: Node) -> None:
        """Remember a function or method by the key under which it is called."""
        name = node.child_by_field_name("name")
        if node.type == "method_definition" and name is not None:
            owner = next((outer.id for outer in around(node) if outer.type in _CLASSES), -1)
            self.functions[f"this.{self.text(name).lstrip('#')}", owner] = node
        elif name is not None:
            outer = function_of(node)
            self.functions[self.text(name), outer.id if outer is not None else 0] = node

    def _give(self, node: Node) -> None:
        if node.type in FUNCTIONS:
            self._define(node)
        target: Node | None = None
        match node.type:
            case "variable_declarator" | "public_field_definition" | "field_definition":
                target = node.child_by_field_name("name") or node.child_by_field_name("property")
                value = node.child_by_field_name("value")
            case "assignment_expression":
                target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
            case "call_expression":
                self._put(node)
                return
            case _:
                return
        if target is None or value is None:
            return
        if target.type == "array_pattern" and (pairs := _in_pairs(target, value)):
            for each, given in pairs:
                self._give_one(self.key(each), given)
            return
        key = self.key(target)
        if target.type in {"object_pattern", "array_pattern"}:
            for inner in walk(target):
                part = self._key_of(self.text(inner), node) if inner.type in _IDENTIFIERS else None
                if part is not None:
                    self.unpacked.setdefault(part, []).append(value)
        if "field" in node.type:
            owner = next((outer.id for outer in around(node) if outer.type in _CLASSES), -1)
            key = (f"this.{self.text(target).lstrip('#')}", owner)
        self._give_one(key, value)

    def _put(self, call: Node) -> None:
        """``talks.set(user, messages)``."""
        key = self.key(self._table_of(call, "set", 2))
        if key is not None:
            self._give_one((f"{key[0]}[]", key[1]), call.child_by_field_name("arguments").named_children[1])  # type: ignore[union-attr]

    def _give_one(self, key: Key | None, value: Node) -> None:
        if key is not None:
            self.values.setdefault(key, []).append(value)
            if value.type in {"arrow_function", "function_expression"}:
                self.functions[key] = value


def _in_pairs(pattern: Node, value: Node) -> list[tuple[Node, Node]]:
    """What each name of ``[a, b] = [x, y]`` is given; nothing where the two do not match."""
    names, items = pattern.named_children, value.named_children
    if value.type != "array" or len(names) != len(items):
        return []
    matched = all(name.type in {"identifier", "member_expression"} for name in names)
    spread = any(item.type == "spread_element" for item in items)
    skipped = any(a.type == b.type == "," for a, b in pairwise(pattern.children))
    return list(zip(names, items, strict=True)) if matched and not spread and not skipped else []


def walk(node: Node) -> Iterator[Node]:
    """A node and all that is in it, in the order of the source."""
    pending = [node]
    while pending:
        at = pending.pop()
        yield at
        pending += reversed(at.named_children)


def around(node: Node) -> Iterator[Node]:
    """The nodes around one, innermost first."""
    at = node.parent
    while at is not None:
        yield at
        at = at.parent


def function_of(node: Node) -> Node | None:
    """The innermost function around a node."""
    return next((outer for outer in around(node) if outer.type in FUNCTIONS), None)


def bare(node: Node | None) -> Node | None:
    """An expression without what changes only its type or its wait."""
    while node is not None and node.type in BARE and node.named_children:
        node = node.named_children[0]
    return node
