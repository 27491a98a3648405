"""What a call leaves behind when nobody takes its result: changed objects, and prompts made on the way.

Most such calls log, draw or tell listeners: they are not run. Goes by the statements of a function and of
those it calls by name, as `relevance` does.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Instance, Map, Seq, Str, has_traits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Function
    from promptcache_lint.readers.python.relevance import Relevance
    from promptcache_lint.readers.python.values import Value

__all__ = ["Traces"]

_GROWING = frozenset(
    {"append", "appendleft", "add", "insert", "extend", "update", "sort", "write", "writelines"}
)
_DEEPEST = 3
_EMPTY = (Str(()), Seq(()), Map(()))


@dataclass(frozen=True, slots=True)
class _Trace:
    """``attributes`` are stored on an object; ``arguments``: a parameter, or what it holds, changes.

    ``prompts``: a prompt may be made in the function or below it.
    """

    attributes: frozenset[str]
    arguments: bool
    prompts: bool


_NOTHING = _Trace(frozenset(), arguments=False, prompts=False)


class Traces:
    """Remembers, for one program, what calls of its functions leave behind."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._known: dict[Function, _Trace] = {}
        self._own: dict[Function, _Trace] = {}

    def matters(
        self, function: Function, given: Iterable[Value], bound: Value | None, running: Iterable[Function]
    ) -> bool:
        """Whether a call can matter to the functions it is made in (``running``), or make a prompt."""
        if isinstance(function.node, ast.Lambda):
            return True
        given, running = [*given], [*running]

        def tells(trace: _Trace) -> bool:
            if trace.arguments and any(type(value) is Seq or type(value) is Map for value in given):
                return True
            if trace.attributes and any(not trace.attributes.isdisjoint(f.reads) for f in running):
                return True
            if trace.attributes and self._builds(function, bound) and any(map(_says, given)):
                return True
            return trace.prompts and (
                any(map(_says, given)) or _says_of_itself(bound) or self._is_new(function)
            )

        # Most that matter do so by their own statements: what they call need not be looked at.
        return tells(self._own_trace(function)) or tells(self._trace(function, 0))

    def _builds(self, function: Function, bound: Value | None) -> bool:
        """Whether a text is built in an object bit by bit, and this call adds to it."""
        return isinstance(bound, Instance) and self._machine.relevance.keeps_text(function)

    def _is_new(self, function: Function) -> bool:
        """Whether a function makes its prompts of something volatile, and is not run by itself anyway."""
        relevance = self._machine.relevance
        return not relevance.holds_prompt(function) and relevance.reaches_source(function)

    def _trace(self, function: Function, depth: int) -> _Trace:
        known = self._known.get(function)
        if known is not None or depth > _DEEPEST:
            return known or _NOTHING
        self._known[function] = _NOTHING
        own = self._own_trace(function)
        inner = [self._trace(called, depth + 1) for called in self._machine.relevance.called(function)]
        found = self._known[function] = _Trace(
            own.attributes.union(*(trace.attributes for trace in inner)),
            own.arguments or any(trace.arguments for trace in inner),
            own.prompts or any(trace.prompts for trace in inner),
        )
        return found

    def _own_trace(self, function: Function) -> _Trace:
        own = self._own.get(function)
        if own is None:
            own = self._own[function] = _own_trace(function, self._machine.relevance)
        return own


def _says(value: Value) -> bool:
    """Whether an argument holds text, or something volatile."""
    return has_traits(value) or (isinstance(value, Str | Seq | Map) and value not in _EMPTY)


def _says_of_itself(bound: Value | None) -> bool:
    """Whether the object a method belongs to is known to hold something volatile."""
    return isinstance(bound, Instance) and any(has_traits(value) for _, value in bound.attributes)


def _own_trace(function: Function, relevance: Relevance) -> _Trace:
    """What a function's own statements do. Numbers and None stored say nothing that a prompt could show."""
    parameters = function.node.args
    names = {
        parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)
    }
    attributes: set[str] = set()
    arguments = False
    plain: set[ast.AST] = set()
    for node in function.kinds.get(ast.Assign, ()):
        if isinstance(node, ast.Assign) and type(node.value) is ast.Constant:
            plain.update(node.targets if not isinstance(node.value.value, str | bytes) else ())
    for target in _changed(function, plain):
        if isinstance(target, ast.Name):
            arguments = arguments or target.id in names
        elif isinstance(target, ast.Attribute):
            attributes.add(_first_attribute(target))
    return _Trace(frozenset(attributes), arguments, relevance.mentions_prompt(function))


def _changed(function: Function, plain: set[ast.AST]) -> Iterator[ast.AST]:
    """The names and attributes that a function binds, but for ``plain`` ones, or whose lists it changes."""
    for node in (*function.kinds.get(ast.Name, ()), *function.kinds.get(ast.Attribute, ())):
        if isinstance(node, ast.Name | ast.Attribute) and type(node.ctx) is ast.Store and node not in plain:
            yield node
    for node in function.kinds.get(ast.Subscript, ()):
        if isinstance(node, ast.Subscript) and type(node.ctx) is ast.Store and node not in plain:
            yield node.value
    for node in function.kinds.get(ast.Call, ()):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in _GROWING:
            yield node.func.value
        elif isinstance(node.func, ast.Name) and node.func.id == "print":
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "file")


def _first_attribute(node: ast.Attribute) -> str:
    """Of ``self.state.items``, ``state``."""
    while isinstance(node.value, ast.Attribute):
        node = node.value
    return node.attr
