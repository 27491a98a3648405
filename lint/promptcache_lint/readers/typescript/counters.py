"""Numbers that a program counts up from call to call: ``turn++`` of a module's variable or an object's field.

A number that is counted within one call (an index, a running number of a list) is none: it comes out the same
each time. So only variables of modules and fields of classes count, which begin as a number, are counted up
inside a function, and are not set back there; and what a loop of turns counts, which `loop_counters` sees.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import Thing
from promptcache_lint.readers.typescript.loop_counters import LoopCounters
from promptcache_lint.readers.typescript.module import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["Counters", "counted"]

_GOING_THROUGH = {"forEach", "map", "flatMap", "filter", "reduce", "some", "every", "find", "sort", "replace"}
_CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
_FIELDS = {"public_field_definition", "field_definition"}
_ASKS = re.compile(
    r"\.(?:create|stream|parse|invoke|chat|complete|send|ask|generate\w*)\(|(?:generate|stream)(?:Text|Object)|fetch\("
    r"|\brole[\"']?\s*:\s*[\"'](?:user|assistant)"
)
"""An object that asks nobody may be one that writes a text, and numbers what it writes."""
_RESETS = re.compile(r"(?:reset|clear|restart|dispose|new)", re.IGNORECASE)
_COUNTS = re.compile(r"\+\+|\+=|\+ ?\d")
_NUMBERS_THINGS = re.compile(r"(?:id|key|version|revision)$", re.IGNORECASE)
"""An object that gets the next number keeps it."""
_Scope = int


def counted(machine: Machine, value: Value, name: str, node: Node, frame: Frame) -> Value:
    """The value of a variable or of ``this.name`` read at ``node``: with a trait if it is a counter."""
    if not isinstance(value, Thing):
        return value
    counters = machine.counters(frame.module)
    if not value.traits:
        turn = counters.turns.step(name, node)
        if turn is not None:
            return _counter(machine, turn, node, frame, value)
    if frame.function is None:
        return value
    if any(trait.mark.code != "PC107" for trait in value.traits):
        return value  # what was added to it says more
    begins = frame.function.name == "constructor" or _NUMBERS_THINGS.search(name) is not None
    if name not in counters.names or begins:
        return value
    if name.startswith("this."):
        owner = frame.this_frame().function
        cls = owner.owner if owner is not None else None
        if cls is None or _ASKS.search(cls.module.text(cls.node)) is None:
            return value
        scope = cls.node.id
    else:
        scope = 0 if frame.home(name).at_module_level else -1
    step = counters.step(name, scope, frame.function.node)
    return _counter(machine, step, node, frame, value) if step is not None else value


def _counter(machine: Machine, step: Node, node: Node, frame: Frame, value: Thing) -> Value:
    mark = machine.vocabulary.mark("PC107")
    if mark is None:
        return value
    label = frame.module.label(node)
    return Thing(label, (Trait(mark, frame.module.place(step), frame.module.label(step)),), value.type)


class Counters:
    """The counters of one module; ``names`` are those of them all, fields as ``this.name``.

    ``turns`` are those of its loops.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self.turns = LoopCounters(module)
        self._begun: set[tuple[str, _Scope]] = set()
        self._set: dict[tuple[str, _Scope], dict[int, str]] = {}
        self._steps: dict[tuple[str, _Scope], list[tuple[Node, int]]] = {}
        if _COUNTS.search(module.source.text) is not None:
            self._read(module.tree.root_node)
        for key in [*self._steps]:
            steps = self._steps[key] if key in self._begun else []
            self._steps[key] = [step for step in steps if not self._is_local(key[0], step[0])]
        self.names = {name for (name, _), steps in self._steps.items() if steps}

    def step(self, name: str, scope: _Scope, reader: Node) -> Node | None:
        """Where a counter is counted up; None for what is none, or begins anew with what a function does."""
        key = (name, scope)
        back = self._set.get(key, {})
        if reader.id in back or any(not _RESETS.match(function) for function in back.values()):
            return None
        return next((node for node, function in self._steps.get(key, ()) if function not in back), None)

    def _read(self, root: Node) -> None:
        for node in _walk(root):
            match node.type:
                case "update_expression":
                    if any(child.type == "++" for child in node.children):
                        self._stepped(node, node.child_by_field_name("argument"))
                case "augmented_assignment_expression":
                    operator = node.child_by_field_name("operator")
                    if operator is not None and operator.type == "+=":
                        self._stepped(node, node.child_by_field_name("left"))
                case "assignment_expression":
                    self._assigned(node)
                case "variable_declarator":
                    self._declared(node)
                case kind if kind in _FIELDS:
                    key = node.child_by_field_name("name") or node.child_by_field_name("property")
                    if key is not None and _is_number(node.child_by_field_name("value")):
                        self._begun.add((f"this.{self._module.text(key).lstrip('#')}", _class_of(node)))

    def _declared(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and _is_number(node.child_by_field_name("value")) and _function_of(node) is None:
            self._begun.add((self._module.text(name), 0))

    def _assigned(self, node: Node) -> None:
        """``this.turn = 0`` in a constructor begins a counter; anywhere else it sets one back."""
        key = self._key(node.child_by_field_name("left"))
        function = _function_of(node)
        if key is None or function is None:
            return
        name, right = function.child_by_field_name("name"), node.child_by_field_name("right")
        text = self._module.text(name) if name is not None else ""
        if text == "constructor":
            if _is_number(right):
                self._begun.add(key)
        elif right is not None and right.type == "binary_expression" and self._adds(right, key):
            self._stepped(node, node.child_by_field_name("left"))
        else:
            self._set.setdefault(key, {})[function.id] = text

    def _adds(self, node: Node, key: tuple[str, _Scope]) -> bool:
        """``turn + 1``, of the number itself."""
        operator = node.child_by_field_name("operator")
        return (
            operator is not None
            and operator.type == "+"
            and self._key(node.child_by_field_name("left")) == key
            and _is_number(node.child_by_field_name("right"))
        )

    def _stepped(self, node: Node, target: Node | None) -> None:
        key, function = self._key(target), _function_of(node)
        if key is not None and function is not None:
            self._steps.setdefault(key, []).append((node, function.id))

    def _key(self, target: Node | None) -> tuple[str, _Scope] | None:
        """The name and scope of what is changed: a variable as of the module, a field of its class."""
        if target is None:
            return None
        if target.type == "identifier":
            return self._module.text(target), 0
        holder, name = target.child_by_field_name("object"), target.child_by_field_name("property")
        if target.type == "member_expression" and holder is not None and holder.type == "this":
            return (
                (f"this.{self._module.text(name).lstrip('#')}", _class_of(target))
                if name is not None
                else None
            )
        return None

    def _is_local(self, name: str, node: Node) -> bool:
        """Whether a name that is counted up at ``node`` is declared in a function around it."""
        if name.startswith("this."):
            return False
        function = _function_of(node)
        while function is not None:
            parameters = function.child_by_field_name("parameters") or function.child_by_field_name(
                "parameter"
            )
            declared = [parameters] if parameters is not None else []
            declared += [
                found
                for inner in _walk(function)
                if inner.type in {"variable_declarator", "for_in_statement"}
                and (found := inner.child_by_field_name("name") or inner.child_by_field_name("left"))
            ]
            for each in declared:
                names = (inner for inner in _walk(each) if "identifier" in inner.type)
                if any(self._module.text(inner) == name for inner in names):
                    return True
            function = _function_of(function)
        return False


def _walk(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        at = pending.pop()
        yield at
        pending += reversed(at.named_children)


def _is_number(node: Node | None) -> bool:
    return node is not None and node.type == "number"


def _function_of(node: Node) -> Node | None:
    """The function around a node; a function given to go through a list belongs to the one around it."""
    at = node.parent
    while at is not None:
        if at.type in FUNCTIONS and not _goes_through(at):
            return at
        at = at.parent
    return None


def _goes_through(function: Node) -> bool:
    given = function.parent
    call = given.parent if given is not None and given.type == "arguments" else None
    callee = call.child_by_field_name("function") if call is not None else None
    name = callee.child_by_field_name("property") if callee is not None else None
    text = name.text if name is not None else None
    return text is not None and text.decode("utf-8", "replace") in _GOING_THROUGH


def _class_of(node: Node) -> int:
    at = node.parent
    while at is not None and at.type not in _CLASSES:
        at = at.parent
    return at.id if at is not None else -1
