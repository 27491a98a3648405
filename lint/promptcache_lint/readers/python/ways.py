"""The way of a value into a request, followed back link by link: what an error takes, and a warning does not.

The interpreter says that a value may reach a prompt. Here the source must show that it does, each time: it
stands in what is sent, in no branch, loop or handler of its own, and is written out as it is. What is
computed from it and something else (an age), looked up under a key, kept in an attribute or made before the
rounds in which it is sent proves nothing. Names of functions are looked up in the files on the way only.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.readers.fallbacks import is_seam
from promptcache_lint.readers.once import sets_up
from promptcache_lint.readers.python import blocks, writing
from promptcache_lint.readers.python.passages import FunctionNode, Passed, node_at
from promptcache_lint.readers.python.walking import nodes_of
from promptcache_lint.readers.talks import ANSWERS, is_of_one_request, says_history
from promptcache_lint.readers.way_bounds import DEEPEST, MOST_STEPS

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.modules import Module

__all__ = ["is_shown"]


def is_shown(start: Place, way: tuple[Place, ...], modules: list[Module], *, talks: bool) -> bool:
    """Whether the source shows that the value at the head of ``way`` is in each request made at ``start``.

    ``way`` are the places that the value was seen to pass, ``modules`` those they lie in, and that of
    ``start``. ``talks``: a history is said to stand behind it. A single request has to be about something
    that its function is given.
    """
    home = next((module for module in modules if module.source.path == start.path), None)
    node = node_at(start, home) if home is not None else None
    if home is None or node is None:
        return False
    passed = Passed(way, modules)
    search = _Search(way[0], passed)
    scope = _Scope(home, passed.function_of(node, home))
    if not _is_asked(scope, talks=talks):
        return False
    return search.is_made_with_its_request(node, scope) and search.carries(node, scope, sent=True)


def _is_asked(scope: _Scope, *, talks: bool) -> bool:
    """Whether the function that sends is seen to do so again and again; what a library calls is."""
    function = scope.function
    if function is None or isinstance(function, ast.Lambda) or function.decorator_list:
        return True
    if is_of_one_request(function.name):
        return False
    given = blocks.parameters(function)
    return says_history(blocks.names_in(function, ANSWERS), given) if talks else bool(given)


@dataclass(frozen=True, eq=False)
class _Scope:
    """A function that is run, and by which call, from where; None where nothing shows that."""

    module: Module
    function: FunctionNode | None
    call: ast.Call | None = None
    caller: _Scope | None = None


class _Search:
    """One look for a value; ``depth`` bounds it."""

    def __init__(self, origin: Place, passed: Passed) -> None:
        self._origin = origin
        self._passed = passed
        self._depth = 0
        self._steps = 0
        self._known: dict[tuple[ast.AST, _Scope, bool], bool] = {}

    def is_made_with_its_request(self, node: ast.AST, scope: _Scope) -> bool:
        """Whether a message stands in no branch that the request does not stand in as well."""
        around = blocks.around(node, self._passed.above[scope.module])
        if not around or isinstance(node, ast.Call):
            return True
        outer = around[-1][0]
        if isinstance(outer, ast.If):
            return blocks.asks_for_it(outer.test, node) or blocks.sends_within(outer)
        return isinstance(outer, ast.While | ast.For | ast.AsyncFor) and blocks.sends_within(outer)

    def carries(self, node: ast.AST | None, scope: _Scope, *, sent: bool = False) -> bool:
        """Whether an expression gives the value, or something with it. ``sent``: it is the request itself."""
        self._steps += 1
        if node is None or self._depth > DEEPEST or self._steps > MOST_STEPS:
            return False
        if self._is_origin(node, scope.module):
            return True
        if (key := (node, scope, sent)) not in self._known:
            self._depth += 1
            self._known[key] = False  # of a circle
            self._known[key] = self._carries(node, scope, sent=sent)
            self._depth -= 1
        return self._known[key]

    def _is_origin(self, node: ast.AST, module: Module) -> bool:
        if not isinstance(node, ast.expr | ast.stmt) or node.lineno != self._origin.row:
            return False
        return module.place(node) == self._origin

    def _carries(self, node: ast.AST, scope: _Scope, *, sent: bool) -> bool:  # noqa: C901 - a table
        match node:
            case ast.JoinedStr(values=items) | ast.List(elts=items) | ast.Tuple(elts=items):
                return self._any(items, scope)
            case ast.FormattedValue(format_spec=ast.expr() as written) if writing.tells_hours_only(written):
                return False
            case ast.FormattedValue(value=inner) | ast.Await(value=inner) | ast.Starred(value=inner):
                return self.carries(inner, scope)
            case ast.NamedExpr(value=inner) | ast.Return(value=inner) | ast.keyword(value=inner):
                return self.carries(inner, scope)
            case ast.Dict(values=items):
                return self._any(items, scope)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._any([left, right], scope)
            case ast.BinOp(op=ast.Mod(), right=right):
                return self.carries(right, scope)
            case ast.Subscript(value=inner, slice=ast.Slice()):
                return self.carries(inner, scope)
            case ast.IfExp(test=test, body=body, orelse=other):
                either = is_seam(ast.unparse(test)) or self.carries(body, scope)
                return either and self.carries(other, scope)
            case ast.BoolOp(op=ast.Or(), values=[first, *_, last]):
                return self.carries(first, scope) or (
                    is_seam(ast.unparse(first)) and self.carries(last, scope)
                )
            case ast.GeneratorExp() | ast.ListComp():
                return self._is_filter(node) and self.carries(node.generators[0].iter, scope)
            case ast.Call():
                return self._call(node, scope, sent=sent)
            case ast.Name():
                return self._name(node, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Lambda(body=body):
                return self.carries(body, _Scope(scope.module, node, None, scope))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._returns(node, _Scope(scope.module, node))
            case _:
                return False

    def _any(self, items: list[ast.expr], scope: _Scope) -> bool:
        return any(self.carries(item, scope) for item in items)

    @staticmethod
    def _is_filter(node: ast.GeneratorExp | ast.ListComp) -> bool:
        """Whether a comprehension only leaves out what is empty: ``p for p in parts if p``."""
        first = node.generators[0]
        name = ast.unparse(first.target)
        plain = all(ast.unparse(test).removesuffix(".strip()") == name for test in first.ifs)
        return len(node.generators) == 1 and ast.unparse(node.elt).removesuffix(".strip()") == name and plain

    def _call(self, call: ast.Call, scope: _Scope, *, sent: bool) -> bool:
        name = blocks.name_of(call.func)
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if writing.is_by_the_hour(call):
            return False
        if name in writing.WRITES and (self.carries(owner, scope) or self._any(given, scope)):
            return True
        for function, module in self._passed.functions(name):
            if self._returns(function, _Scope(module, function, call, scope)):
                return True
        return (sent or name in writing.PLAIN or name[:1].isupper()) and self._any(given, scope)

    def _returns(self, function: FunctionNode, scope: _Scope) -> bool:
        """Whether all that a function gives back carries the value, and is made when it is called."""
        if isinstance(function, ast.Lambda):
            return self.carries(function.body, scope)
        if any(writing.KEEPS.search(ast.unparse(decorator)) for decorator in function.decorator_list):
            return False
        own = [node for node in blocks.own_nodes(function) if not isinstance(node, FunctionNode)]
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own):
            return False
        if not blocks.ends(function.body):
            return False
        above = self._passed.above[scope.module]
        given = [node for node in own if isinstance(node, ast.Return)]
        told = [each for each in given if not blocks.is_of_a_failure(each, above, function)]
        return bool(told) and all(self.carries(node.value, scope) for node in told)

    def _name(self, node: ast.Name, scope: _Scope) -> bool:
        if scope.function is None:
            return self._is_function_on_the_way(node.id, scope)
        known = self._variable(node, node.id, scope)
        if known is not None:
            return known
        return self._given(node.id, scope) or self._is_function_on_the_way(node.id, scope)

    def _variable(self, node: ast.expr, name: str, scope: _Scope) -> bool | None:
        """Whether a variable or attribute has the value where it is read; None if it gets none here."""
        assert scope.function is not None
        bases, adds = blocks.definitions(name, scope.function)
        if not bases and not adds:
            return None
        above = self._passed.above[scope.module]
        here = blocks.around(node, above, scope.function)

        def in_any_case(each: ast.stmt) -> bool:
            return blocks.holds(blocks.around(each, above, scope.function), here)

        before = [
            each for each in bases if each.lineno <= node.lineno and not blocks.is_in(node, each, above)
        ]
        certain = [each.lineno for each in before if in_any_case(each)]
        start = max(certain, default=0)
        later = [each for each in before if each.lineno >= start]
        if certain and all(self._gives(each, name, scope) for each in later):
            return True
        if len(later) > bool(certain):
            return False  # something else may have taken its place
        added = [each for each in adds if start <= each.lineno <= node.lineno]
        if any(in_any_case(each) and self._gives(each, name, scope) for each in added):
            return True
        return None if not bases and name in blocks.parameters(scope.function) else False

    def _gives(self, statement: ast.stmt, name: str, scope: _Scope) -> bool:
        """Whether a statement gives a name the value, or adds it to what the name stands for."""
        if self._is_origin(statement, scope.module):
            return True  # a counter is stepped
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
                targets
            ) == len(values):
                pairs = zip(targets, values, strict=True)
                return any(ast.unparse(to) == name and self.carries(value, scope) for to, value in pairs)
            case (
                ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript()], value=value)
                | ast.AnnAssign(value=value)
            ):
                return self.carries(value, scope)
            case ast.AugAssign(op=ast.Add(), value=value):
                return self.carries(value, scope)
            case ast.Expr(value=ast.Call(args=args)):
                return self._any(args, scope)
            case _:
                return False

    def _given(self, name: str, scope: _Scope) -> bool:
        """Whether a parameter is given the value: by the call that was followed, or by one that is seen."""
        assert scope.function is not None
        if name not in blocks.parameters(scope.function):
            return False
        if scope.call is not None and scope.caller is not None:
            return self.carries(blocks.argument(scope.call, scope.function, name), scope.caller)
        for module in self._passed.modules:
            for node in self._passed.above[module]:
                if isinstance(node, ast.Call) and blocks.calls(node, scope.function):
                    caller = _Scope(module, self._passed.function_of(node, module))
                    if self.carries(blocks.argument(node, scope.function, name), caller):
                        return True
        return False

    def _is_function_on_the_way(self, name: str, scope: _Scope, *, of_a_class: bool = False) -> bool:
        """Whether a name is that of a function that is called for each request, as of ``instructions=``."""
        return any(
            self._returns(function, _Scope(module, function, None, scope))
            for function, module in self._passed.functions(name, of_a_class=of_a_class)
        )

    def _attribute(self, node: ast.Attribute, scope: _Scope) -> bool:
        if node.attr in writing.FIELDS and self.carries(node.value, scope):
            return True
        if scope.function is not None and self._variable(node, ast.unparse(node), scope):
            return True
        if self._is_function_on_the_way(node.attr, scope, of_a_class=True):
            return True
        return self._is_stored(node, scope) or self._is_made_with(node, scope)

    def _is_stored(self, node: ast.Attribute, scope: _Scope) -> bool:
        """Whether an attribute is given the value on the way to this very request."""
        above = self._passed.above[scope.module]
        here = blocks.around(node, above, scope.function)
        for module in self._passed.modules:
            for store in self._passed.above[module]:
                if not isinstance(store, ast.Assign) or not blocks.stores(store, node.attr):
                    continue
                by = self._passed.function_of(store, module)
                if by is None or isinstance(by, ast.Lambda) or sets_up(by.name):
                    continue
                if by is scope.function or blocks.around(store, self._passed.above[module], by):
                    continue
                call = _call_before(by.name, node, scope)
                if call is not None and blocks.holds(blocks.around(call, above, scope.function), here):
                    return self.carries(store.value, _Scope(module, by, None, scope))
        return False

    def _is_made_with(self, node: ast.Attribute, scope: _Scope) -> bool:
        """Whether an attribute is a field that is made anew with an object, which is made here."""
        made: ast.expr | None = node.value
        if isinstance(node.value, ast.Name) and scope.function is not None:
            bases, _ = blocks.definitions(node.value.id, scope.function)
            made = bases[0].value if len(bases) == 1 and isinstance(bases[0], ast.Assign) else None
        if not isinstance(made, ast.Call) or not blocks.name_of(made.func)[:1].isupper():
            return False
        for module in self._passed.modules:
            for factory, index in blocks.fields_called(node.attr, module.tree):
                is_it = any(self._is_origin(each, module) for each in nodes_of(factory))
                if is_it and not blocks.is_given(made, node.attr, index):
                    return True
        return False


def _call_before(name: str, node: ast.AST, scope: _Scope) -> ast.Call | None:
    """The call of ``name`` in front of a node, in the same function."""
    if scope.function is None:
        return None
    row = getattr(node, "lineno", 0)
    calls = (each for each in blocks.own_nodes(scope.function) if isinstance(each, ast.Call))
    return next((c for c in calls if blocks.name_of(c.func) == name and c.lineno < row), None)
