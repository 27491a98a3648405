"""The way of a value into a request, followed back link by link: what an error takes, and a warning does not.

As in Python: the value stands in what is sent, in no branch, loop or handler of its own, and is written out
as it is. What is computed from it and something else (an age), looked up under a key, kept in a field or made
before the rounds in which it is sent proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.readers.fallbacks import is_seam
from promptcache_lint.readers.talks import ANSWERS, is_of_one_request, says_history
from promptcache_lint.readers.typescript import blocks
from promptcache_lint.readers.typescript.conversations.names import around as outside
from promptcache_lint.readers.typescript.conversations.names import function_of, walk
from promptcache_lint.readers.typescript.finding_nodes import functions_named, in_row, name_of
from promptcache_lint.readers.typescript.module import FUNCTIONS
from promptcache_lint.readers.way_bounds import DEEPEST, MOST_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["is_shown"]

_WRAPPERS = {
    *("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"),
    *("await_expression", "spread_element", "template_substitution", "type_assertion", "jsx_expression"),
}
_WHOLES = {"template_string", "object", "array", "arguments"}
_WRITES = {
    *("toISOString", "toLocaleString", "toLocaleTimeString", "toTimeString", "toString", "toUTCString"),
    *("toJSON", "getTime", "valueOf", "getMinutes", "getSeconds", "format", "toFormat", "toISO"),
    *("now", "replace", "replaceAll", "trim", "slice", "substring", "split", "join", "concat", "padStart"),
    *("toUpperCase", "toLowerCase", "toFixed", "stringify", "assign", "filter", "from", "tz", "utc", "local"),
    *("toZonedTime", "formatInTimeZone", "setZone", "utcOffset", "unix", "toMillis", "all", "formatMessages"),
    *("invoke", "fromMessages", "getUTCMinutes", "String", "Number", "dedent"),
}
"""What writes a value out, or puts it into a text, and adds nothing that would make it another one."""
_AT_ONCE = {
    "Promise",
    "ReadableStream",
    "createDataStream",
    "createUIMessageStream",
    "createDataStreamResponse",
}
"""What runs a function that it is given now, and once."""


def is_shown(start: Place, way: tuple[Place, ...], modules: list[Module], *, talks: bool) -> bool:
    """Whether the source shows that the value at the head of ``way`` is in each request made at ``start``.

    ``way`` are the places that the value was seen to pass, ``modules`` those they lie in, and that of
    ``start``. ``talks``: a history is said to stand behind it. A single request has to be about something
    that its function is given.
    """
    home = next((module for module in modules if module.source.path == start.path), None)
    node = _node_at(start, home) if home is not None else None
    if home is None or node is None:
        return False
    of_a_branch = blocks.around(node) and not node.type.endswith("call_expression")
    if of_a_branch and not (blocks.asks_for_it(node, home) or blocks.sends_within(node, home)):
        return False
    scope = _Scope(home, function_of(node))
    return _is_asked(scope, talks=talks) and _Search(way, tuple(modules)).carries(node, scope, sent=True)


def _is_asked(scope: _Scope, *, talks: bool) -> bool:
    """Whether the function that sends is seen to do so again and again."""
    module = scope.module
    if scope.function is None:
        return False
    functions = [scope.function, *_outer(scope.function)]
    if any(is_of_one_request(name_of(each, module)) for each in functions):
        return False
    given = [
        module.text(n) for each in functions for p, _ in blocks.parameters(each, module) for n in walk(p)
    ]
    return says_history(blocks.names_in(functions[-1], module, ANSWERS), given) if talks else bool(given)


def _outer(function: Node | None) -> Iterator[Node]:
    """The functions around one that are run with it."""
    while function is not None and (function := function_of(function)) is not None:
        yield function


@dataclass(frozen=True, eq=False)
class _Scope:
    """A function that is run, and by which call, from where; None where nothing shows that."""

    module: Module
    function: Node | None
    call: Node | None = None
    caller: _Scope | None = None


class _Search:
    """One look for a value."""

    def __init__(self, way: tuple[Place, ...], modules: tuple[Module, ...]) -> None:
        self._origin = way[0]
        self._way = way
        self._modules = modules
        self._depth = 0
        self._steps = 0
        self._known: dict[tuple[int, _Scope, bool], bool] = {}

    def carries(self, node: Node | None, scope: _Scope, *, sent: bool = False) -> bool:
        """Whether an expression gives the value, or something with it. ``sent``: it is the request itself."""
        self._steps += 1
        if node is None or self._depth > DEEPEST or self._steps > MOST_STEPS:
            return False
        if self._is_origin(node, scope.module):
            return True
        key = (node.id, scope, sent)
        if key not in self._known:
            self._depth += 1
            self._known[key] = False  # of a circle
            self._known[key] = self._carries(node, scope, sent=sent)
            self._depth -= 1
        return self._known[key]

    def _is_origin(self, node: Node, module: Module) -> bool:
        return node.start_point[0] + 1 == self._origin.row and module.place(node) == self._origin

    def _carries(self, node: Node, scope: _Scope, *, sent: bool) -> bool:
        kind = node.type
        if kind in _WRAPPERS:
            return bool(node.named_children) and self.carries(node.named_children[0], scope)
        if kind in _WHOLES:
            return any(self.carries(each, scope) for each in node.named_children)
        match kind:
            case "pair":
                return self.carries(node.child_by_field_name("value"), scope)
            case "binary_expression":
                return self._binary(node, scope)
            case "ternary_expression":
                test = node.child_by_field_name("condition")
                first = node.child_by_field_name("consequence")
                either = (test is not None and is_seam(scope.module.text(test))) or self.carries(first, scope)
                return either and self.carries(node.child_by_field_name("alternative"), scope)
            case "call_expression" | "new_expression":
                return self._call(node, scope, sent=sent)
            case "identifier" | "shorthand_property_identifier":
                return self._name(node, scope)
            case "member_expression":
                return self._member(node, scope)
            case kind if kind in FUNCTIONS:
                return self._returns(node, _Scope(scope.module, node, None, scope))
            case _:
                return False

    def _binary(self, node: Node, scope: _Scope) -> bool:
        operator = node.child_by_field_name("operator")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        match operator.type if operator is not None else "":
            case "+":
                return self.carries(left, scope) or self.carries(right, scope)
            case "??" | "||":
                seam = left is not None and is_seam(scope.module.text(left))
                return self.carries(left, scope) or (seam and self.carries(right, scope))
            case _:
                return False

    def _call(self, call: Node, scope: _Scope, *, sent: bool) -> bool:
        owner, name = blocks.called(call, scope.module)
        given = call.child_by_field_name("arguments")
        if name in _WRITES and (self.carries(owner, scope) or self.carries(given, scope)):
            return True
        for function, module in self._functions(name):
            if self._returns(function, _Scope(module, function, call, scope)):
                return True
        takes = sent or name[:1].isupper() or call.type == "new_expression"
        return takes and self.carries(given, scope)

    def _functions(self, name: str, *, of_a_class: bool = False) -> Iterator[tuple[Node, Module]]:
        """The functions of that name through which the value was seen to pass; or only methods."""
        for module in self._modules:
            for node in functions_named(name, module):
                passed = any(_lies_in(place, node, module) for place in self._way)
                if passed and (not of_a_class or node.type == "method_definition"):
                    yield node, module

    def _returns(self, function: Node, scope: _Scope) -> bool:
        """Whether all that a function gives back carries the value."""
        given = blocks.returned(function)
        return bool(given) and all(self.carries(value, scope) for value in given)

    def _name(self, node: Node, scope: _Scope) -> bool:
        name = scope.module.text(node)
        at: _Scope | None = scope
        used = node
        while at is not None and at.function is not None:
            known = self._variable(used, name, at)
            if known is not None:
                return known
            if self._is_parameter(name, at):
                return self._given(name, at)
            if not _is_run_at_once(at.function, at.module):
                break
            used = at.function
            at = _Scope(at.module, function_of(at.function))
        return self._is_function_on_the_way(name, scope)

    def _variable(self, node: Node, name: str, scope: _Scope) -> bool | None:
        """Whether a variable or field has the value where it is read; None if nothing here gives it one."""
        assert scope.function is not None
        bases, adds = blocks.definitions(name, scope.function, scope.module)
        if not bases and not adds:
            return None
        before = [each for each in bases if each.start_byte <= node.start_byte and not _is_in(node, each)]
        certain = [each.start_byte for each in before if blocks.holds(each, node)]
        start = max(certain, default=0)
        later = [each for each in before if each.start_byte >= start]
        if certain and all(self._gives(each, scope) for each in later):
            return True
        if len(later) > bool(certain):
            return False  # something else may have taken its place
        added = [each for each in adds if start <= each.start_byte <= node.start_byte]
        if any(blocks.holds(each, node) and self._gives(each, scope) for each in added):
            return True
        return None if not bases and self._is_parameter(name, scope) else False

    def _gives(self, node: Node, scope: _Scope) -> bool:
        """Whether a node gives a name the value, or adds it to what the name stands for."""
        if self._is_origin(node, scope.module):
            return True  # a counter is stepped
        match node.type:
            case "variable_declarator":
                target = node.child_by_field_name("name")
                plain = target is not None and target.type == "identifier"
                return plain and self.carries(node.child_by_field_name("value"), scope)
            case "assignment_expression" | "augmented_assignment_expression":
                return self.carries(node.child_by_field_name("right"), scope)
            case "call_expression":
                return self.carries(node.child_by_field_name("arguments"), scope)
            case _:
                return False

    @staticmethod
    def _is_parameter(name: str, scope: _Scope) -> bool:
        assert scope.function is not None
        given = blocks.parameters(scope.function, scope.module)
        return any(name in {scope.module.text(each) for each in walk(pattern)} for pattern, _ in given)

    def _given(self, name: str, scope: _Scope) -> bool:
        """Whether a parameter is given the value: by the call that was followed, or by one that is seen."""
        assert scope.function is not None
        if scope.call is not None and scope.caller is not None:
            return self._is_given(scope.call, name, scope, scope.caller)
        for module in self._modules:
            for node in walk(module.tree.root_node):
                called = node.type == "call_expression" and self._is_of(node, module, scope)
                if called and self._is_given(node, name, scope, _Scope(module, function_of(node))):
                    return True
        return False

    def _is_given(self, call: Node, name: str, scope: _Scope, caller: _Scope) -> bool:
        assert scope.function is not None
        given = blocks.argument(call, scope.function, name, scope.module, caller.module)
        if given is not None:
            return self.carries(given, caller)
        return self.carries(blocks.default(scope.function, name, scope.module), scope)

    @staticmethod
    def _is_of(call: Node, module: Module, scope: _Scope) -> bool:
        name = blocks.called(call, module)[1]
        return any(each == scope.function for each in functions_named(name, scope.module))

    def _is_function_on_the_way(self, name: str, scope: _Scope, *, of_a_class: bool = False) -> bool:
        """Whether a name is that of a function that is called for each request, or of a getter."""
        return any(
            self._returns(function, _Scope(module, function, None, scope))
            for function, module in self._functions(name, of_a_class=of_a_class)
        )

    def _member(self, node: Node, scope: _Scope) -> bool:
        if scope.function is not None and self._variable(node, scope.module.text(node), scope):
            return True
        name = node.child_by_field_name("property")
        return name is not None and self._is_function_on_the_way(
            scope.module.text(name), scope, of_a_class=True
        )


def _is_run_at_once(function: Node, module: Module) -> bool:
    """Whether a function is handed to what runs it now, once, as a promise or a stream does."""
    for outer in outside(function):
        if outer.type in {"call_expression", "new_expression"}:
            return blocks.called(outer, module)[1] in _AT_ONCE
        if outer.type in FUNCTIONS:
            return False
    return False


def _lies_in(place: Place, node: Node, module: Module) -> bool:
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    return place.path == module.source.path and first <= place.row <= last


def _is_in(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _node_at(place: Place, module: Module) -> Node | None:
    """The outermost node that stands at a place."""
    return next((node for node in in_row(place.row, module) if module.place(node) == place), None)
