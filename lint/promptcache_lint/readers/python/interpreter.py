"""The abstract machine: runs modules and functions on abstract values, each call with its real arguments.

A call of a function of the program runs its body, to a limited depth, with results kept for equal arguments.
How each kind of node runs stands in `expressions`, `statements` and `calls`.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import count_words
from promptcache_lint.prompts import Text, flatten
from promptcache_lint.readers.python import effects, expressions, statements
from promptcache_lint.readers.python.ambient import Ambient
from promptcache_lint.readers.python.assigning import assign
from promptcache_lint.readers.python.counters import Counters
from promptcache_lint.readers.python.decorating import decorated, own_decorators, remembered
from promptcache_lint.readers.python.frame import Frame
from promptcache_lint.readers.python.identities import identity_of
from promptcache_lint.readers.python.inheriting import Inheritance
from promptcache_lint.readers.python.jinja_templates import JinjaTemplates
from promptcache_lint.readers.python.objects import Objects, settled
from promptcache_lint.readers.python.own_clients import OwnClients
from promptcache_lint.readers.python.parameters import unbound_parameter
from promptcache_lint.readers.python.relevance import Relevance
from promptcache_lint.readers.python.traces import Traces
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    has_traits,
    map_traits,
    moved,
)

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.program import Class, Function, Module, Program
    from promptcache_lint.readers.python.sinks import Sinks
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["Interpreter"]

_DEEPEST = 6
_MOST_CALLS = 600
_MOST_RESULTS = 20_000
_LARGEST_PROGRAM = 8_000_000
_EMPTY = (Str(()), Seq(()), Map(()))


class Interpreter:
    """Runs the functions of a program; ``sinks`` is told of every value that may become a prompt."""

    def __init__(self, program: Program, vocabulary: Vocabulary, sinks: Sinks) -> None:
        self.program = program
        self.vocabulary = vocabulary
        self.sinks = sinks
        self._modules: dict[Module, Frame] = {}
        self._results: dict[tuple[object, ...], tuple[Frame, dict[str, Value]]] = {}
        self.running: list[Function] = []
        self._alone: dict[Function, Frame] = {}
        self._calls = 0
        self.relevance = Relevance(program)
        self.traces = Traces(self)
        self.objects = Objects(self)
        self.inheritance = Inheritance(self)
        self.jinja = JinjaTemplates(self)
        self.clients = OwnClients(self)
        self.counters = Counters(vocabulary)
        self.ambient = Ambient(self)

    def begin_file(self) -> None:
        """A file of its own is read next: it gets a new allowance of calls."""
        self._calls = 0

    @property
    def gave_up(self) -> bool:
        """Whether the file's allowance of calls is spent."""
        return self._calls > _MOST_CALLS

    def forget(self) -> None:
        """Let go of all that is remembered: parts refer to each other, so nothing frees itself."""
        for known in (self._modules, self._results, self._alone):
            known.clear()
        for part in (self.objects, self.ambient, self.inheritance, self.clients, self.relevance):
            part.forget()
        self.traces = Traces(self)
        self.counters = Counters(self.vocabulary)
        self.program.clear()

    @property
    def is_full(self) -> bool:
        """Whether so much is remembered that a new interpreter should take over."""
        return len(self._results) + len(self._alone) > _MOST_RESULTS or self.program.size > _LARGEST_PROGRAM

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression."""
        run = expressions.KINDS.get(type(node))
        return run(self, node, frame) if run is not None else Thing()

    def run_for_effect(self, node: ast.expr, frame: Frame) -> None:
        """Run an expression whose value nobody takes."""
        effects.run_for_effect(self, node, frame)

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Bind a target of an assignment or a loop."""
        assign(self, target, value, frame)

    def defined(self, name: Ref, frame: Frame) -> Value:
        """A name with its definition, if it is imported from a module of the tree."""
        found = expressions.imported_value(self, name.dotted, frame) if "." in name.dotted else name
        return found if isinstance(found, Ref) else name

    def meant(self, value: Value, frame: Frame) -> Value:
        """What a name stands for of which something is asked: it may look like a class, and be a variable."""
        if not isinstance(value, Ref) or value.target is not None or "." not in value.dotted:
            return value
        if not value.dotted.rpartition(".")[2][:1].isupper():
            return value
        found = self.program.resolve(value.dotted, frame.module)
        known = self.global_value(*found, frame) if isinstance(found, tuple) else None
        return value if known is None else known

    @staticmethod
    def spelling(node: ast.expr) -> str:
        """A name or chain of attributes as text (``self.tools``); empty for anything else."""
        return expressions.spelling(node)

    def module_frame(self, module: Module) -> Frame:
        """The names of a module after its body has run; while it is running, those so far."""
        frame = self._modules.get(module)
        if frame is None:
            frame = self._modules[module] = Frame(module, imports=dict(module.imports))
            statements.run(self, module.tree.body, frame)
        return frame

    def run_alone(self, function: Function) -> Frame:
        """Run a function that nobody is known to call: its parameters are what their names suggest."""
        if function not in self._alone:
            frame = self._alone[function] = self._run(function, {}, None, None, 0)
            frame.returned = [(remembered(function, value), place) for value, place in frame.returned]
        return self._alone[function]

    def run_as(self, method: Function, cls: Class) -> Frame:
        """Run a method that a class inherits, by itself, as that of an object of the class."""
        first = [*method.node.args.posonlyargs, *method.node.args.args][:1]
        this = Instance(cls)
        return self._run(method, {parameter.arg: this for parameter in first}, this, None, 0)

    def run_only(self, function: Function, only: frozenset[ast.stmt] | None) -> Frame:
        """Run some statements of a function by itself; all of it if that is done or worth it anyway."""
        if only is None or function in self._alone or self.relevance.holds_prompt(function):
            return self.run_alone(function)
        return self._run(function, {}, None, None, 0, only=only)

    def run_alone_inside(self, function: Function, outer: Frame) -> Frame:
        """Run a nested function by itself, with the names of the function around it."""
        return self._run(function, {}, None, outer, 0)

    def global_value(self, module: Module, name: str, frame: Frame) -> Value | None:
        """A module variable, as a function sees it: computed once in the life of the process."""
        value = self.module_frame(module).names.get(name)
        if value is None or (frame.at_module_level and frame.module is module):
            return value
        return self.counters.of_module(module).get(name) or settled(value)

    def invoke(
        self,
        function: Function,
        arguments: list[Value],
        named: dict[str, Value],
        frame: Frame,
        place: Place,
        *,
        bound: Value | None = None,
        outer: Frame | None = None,
    ) -> tuple[Value, Frame | None]:
        """Call a function; its result as it arrives at ``place``, and the frame it left behind."""
        too_deep = frame.depth >= _DEEPEST or self._calls > _MOST_CALLS or function in self.running
        if too_deep or not self._worth_calling(function, arguments, named, bound):
            return self.clients.returned(Thing(f"{function.name}()"), function), None
        self._calls += 1
        bindings = self._bind(function, arguments, named, bound)
        if outer is None:
            left = self._result(function, bindings, frame.depth, bound)
        else:
            left = self._run(function, bindings, bound, outer, frame.depth + 1)
        value = self.objects.as_left(left.result() or Thing(constant="None"), function, left)
        value = decorated(self, function, value, frame, place)
        value = self.clients.returned(moved(value, place), function)
        if _builds_text(value):
            value = map_traits(value, lambda trait: replace(trait, built=True))
        if not arguments and not named:
            value = remembered(function, value)
        return value, left

    def _result(
        self, function: Function, bindings: dict[str, Value], depth: int, bound: Value | None
    ) -> Frame:
        """The frame a call leaves, run once for the same arguments; large ones are the same if identical."""
        key = (function, *map(identity_of, bindings.values()))
        known = self._results.get(key)
        if known is None:
            known = self._results[key] = (self._run(function, bindings, bound, None, depth + 1), bindings)
        return known[0]

    def _worth_calling(
        self, function: Function, arguments: list[Value], named: dict[str, Value], bound: Value | None
    ) -> bool:
        """Whether a call can matter: it may yield or gets something volatile, or gets text for a prompt."""
        if self.relevance.worth_calling(function) or own_decorators(self, function):
            return True
        given = [*arguments, *named.values()]
        if any(map(_carries, given)):
            bindings = self._bind(function, arguments, named, bound)
            told = [name for name, value in bindings.items() if _carries(value)]
            if told and self.relevance.takes_up(function, told):
                return True
        if isinstance(bound, Instance):
            kept = [name for name, value in bound.attributes if has_traits(value)]
            if kept and self.relevance.reads_any(function, kept):
                return True
            own = self.inheritance.suspects(bound.cls) if bound.cls is not function.owner else []
            if own and self.relevance.calls_any(function, own):
                return True
        texts = any(isinstance(value, Str | Seq | Map) and value not in _EMPTY for value in given)
        building = isinstance(bound, Instance) and self.relevance.keeps_text(function)
        return texts and (building or self.relevance.holds_prompt(function))

    def _bind(
        self, function: Function, arguments: list[Value], named: dict[str, Value], bound: Value | None
    ) -> dict[str, Value]:
        parameters = function.node.args
        names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
        given = list(arguments)
        if bound is not None and names and "staticmethod" not in function.decorators:
            given.insert(0, bound)
        bindings = dict(zip(names, given, strict=False))
        if parameters.vararg is not None:
            bindings[parameters.vararg.arg] = Seq(tuple(given[len(names) :]), kind="tuple", partial=True)
        known = {*names, *(parameter.arg for parameter in parameters.kwonlyargs)}
        bindings |= {name: value for name, value in named.items() if name in known}
        if parameters.kwarg is not None:
            rest = tuple((name, value) for name, value in named.items() if name not in known)
            bindings[parameters.kwarg.arg] = Map(rest, partial=True)
        return bindings

    def _run(
        self,
        function: Function,
        bindings: dict[str, Value],
        bound: Value | None,
        outer: Frame | None,
        depth: int,
        *,
        only: frozenset[ast.stmt] | None = None,
    ) -> Frame:
        frame = Frame(function.module, function, function.owner, outer, depth, only=only)
        self._parameters(function, bindings, frame, called=depth > 0)
        if isinstance(bound, Instance):
            first = [*function.node.args.posonlyargs, *function.node.args.args][:1]
            for name, value in bound.attributes if first else ():
                frame.store(f"{first[0].arg}.{name}", value)
        self.running.append(function)
        try:
            if isinstance(function.node, ast.Lambda):
                value = self.evaluate(function.node.body, frame)
                frame.returned.append((value, frame.module.place(function.node)))
            else:
                statements.run(self, function.node.body, frame)
        finally:
            self.running.pop()
        return frame

    def _parameters(
        self, function: Function, bindings: dict[str, Value], frame: Frame, *, called: bool
    ) -> None:
        parameters = function.node.args
        for index, (parameter, default) in enumerate(function.parameters):
            name = parameter.arg
            if name in bindings:
                frame.names[name] = bindings[name]
            elif index == 0 and function.owner is not None and name in {"self", "cls"}:
                frame.names[name] = Instance(function.owner)
            elif default is not None and called:
                frame.names[name] = settled(self.evaluate(default, Frame(function.module, function)))
            elif called:
                frame.names[name] = Thing(name)
            else:
                frame.names[name] = unbound_parameter(parameter, function, self.vocabulary)
            if parameter.annotation is not None:
                value = frame.names[name]
                frame.names[name] = self.clients.instead(value, parameter.annotation, function.module)
        if parameters.vararg:
            name = parameters.vararg.arg
            frame.names[name] = bindings.get(name, Thing(name))
        if parameters.kwarg:
            frame.names[parameters.kwarg.arg] = bindings.get(parameters.kwarg.arg, Map((), partial=True))


def _carries(value: Value) -> bool:
    """Whether something volatile is in a value, or in what an object is known to hold."""
    if isinstance(value, Instance):
        return any(has_traits(inner) for _, inner in value.attributes)
    return has_traits(value)


def _builds_text(value: Value) -> bool:
    """Whether a result is a text with words of its own, not just a formatted value."""
    parts = flatten(value.parts) if isinstance(value, Str) else ()
    return any(isinstance(part, Text) and count_words(part.text) > 0 for part in parts)
