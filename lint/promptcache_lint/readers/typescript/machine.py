"""The abstract machine: runs modules and functions on abstract values, each call with its real arguments.

How each kind of node runs stands in `expressions`, `statements` and `calls`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.exposure import count_words
from promptcache_lint.prompts import Text, flatten
from promptcache_lint.readers.python.values import (
    Instance,
    Map,
    Ref,
    Seq,
    Str,
    Thing,
    map_traits,
    moved,
    traits_of,
)
from promptcache_lint.readers.typescript import binding, expressions, statements
from promptcache_lint.readers.typescript.counters import Counters
from promptcache_lint.readers.typescript.frame import Frame
from promptcache_lint.readers.typescript.module import Class, Closure
from promptcache_lint.readers.typescript.objects import Objects
from promptcache_lint.readers.typescript.own_clients import OwnClients
from promptcache_lint.readers.typescript.relevance import Relevance
from promptcache_lint.readers.typescript.signs import normal

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.module import Function, Module
    from promptcache_lint.readers.typescript.program import Program
    from promptcache_lint.readers.typescript.sinks import Sinks
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["Machine"]

_DEEPEST = 6
_MOST_CALLS = 600
_MOST_STEPS = 60_000
_MOST_RESULTS = 30_000
_LARGEST_PROGRAM = 12_000_000
_EMPTY = (Str(()), Seq(()), Map(()))


class Machine:
    """Runs the functions of a program; ``sinks`` is told of every value that may become a prompt."""

    def __init__(self, program: Program, vocabulary: Vocabulary, sinks: Sinks) -> None:
        self.program = program
        self.vocabulary = vocabulary
        self.sinks = sinks
        self.running: list[Function] = []
        self.objects = Objects(self)
        self.clients = OwnClients(self)
        self.relevance = Relevance(self)
        self._modules: dict[Module, Frame] = {}
        self._counters: dict[Module, Counters] = {}
        self._alone: dict[Function, Frame] = {}
        self._results: dict[tuple[object, ...], tuple[Frame, list[Value]]] = {}
        self._calls = 0
        self._steps = 0

    def begin_file(self) -> None:
        """A file of its own is read next: it gets a new allowance of calls and steps."""
        self._calls = self._steps = 0

    @property
    def gave_up(self) -> bool:
        """Whether the file's allowance of calls or of steps is spent."""
        return self._calls > _MOST_CALLS or self._steps > _MOST_STEPS

    @property
    def is_full(self) -> bool:
        """Whether so much is remembered that a new machine should take over."""
        return len(self._results) + len(self._alone) > _MOST_RESULTS or self.program.size > _LARGEST_PROGRAM

    def evaluate(self, node: Node, frame: Frame) -> Value:
        """The value of an expression."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return Thing()
        return expressions.evaluate(self, node, frame)

    def module_frame(self, module: Module) -> Frame:
        """The names of a module after its body has run; while it is running, those so far."""
        frame = self._modules.get(module)
        if frame is None:
            frame = self._modules[module] = Frame(module)
            statements.run(self, module.tree.root_node.named_children, frame)
        return frame

    def counters(self, module: Module) -> Counters:
        """What a module counts up."""
        if module not in self._counters:
            self._counters[module] = Counters(module)
        return self._counters[module]

    def imported(self, module: Module, name: str) -> Value:
        """The value of an imported name: a definition of the tree, or a name in a package."""
        what = module.imports[name]
        found = self.program.followed(module, what)
        if found is not None:
            return self.exported(found[0], found[1])
        target = self.program.imported(module, what.specifier)
        if target is not None:
            return self.exported(target, what.name)
        if what.specifier.startswith("."):
            return Thing(name)
        return Ref(
            normal(what.specifier if what.name in {"*", "default"} else f"{what.specifier}.{what.name}")
        )

    def exported(self, module: Module, name: str) -> Value:
        """A module's variable as others see it: computed once."""
        if name == "*":
            return Ref(module.path.stem, module)
        frame = self.module_frame(module)
        names = frame.names
        value = names.get(name) or names.get(f"exports.{name}")
        if value is None:
            whole = names.get("module.exports")
            value = whole.get(name) if isinstance(whole, Map) else whole if name == "export default" else None
        if value is None:
            return Thing(name if name != "export default" else "")
        return frame.settle(name, value)

    def member_of_module(self, module: Module, name: str) -> Value:
        """A member of a module imported as a whole, through its re-exports."""
        found = self.program.exported(module, name)
        if found is None:
            return self.exported(module, name)
        if found[1] in found[0].imports:
            return self.imported(*found)
        return self.exported(*found)

    def run_alone(self, closure: Closure) -> Frame:
        """Run a function that nobody is known to call: its parameters are what their names suggest."""
        function = closure.function
        if function not in self._alone:
            self._alone[function] = Frame(function.module, function, closure.frame)
            this = Instance(function.owner) if function.owner is not None else None
            self._alone[function] = self._run(function, closure.frame, None, this, 0)
        return self._alone[function]

    def call(
        self,
        ref: Ref,
        arguments: list[Value],
        frame: Frame,
        place: Place,
        *,
        racing: bool = False,
        move: bool = True,
    ) -> Value | None:
        """Call what a reference means, if it is a function of the program."""
        if not isinstance(ref.target, Closure):
            return None
        value, _ = self.invoke(
            ref.target.function,
            ref.target.frame,
            [*ref.given, *arguments],
            frame,
            place,
            this=ref.bound,
            racing=racing,
            move=move,
        )
        return value

    def invoke(
        self,
        function: Function,
        outer: Frame,
        arguments: list[Value],
        frame: Frame,
        place: Place,
        *,
        this: Value | None = None,
        racing: bool = False,
        move: bool = True,
        must: bool = False,
    ) -> tuple[Value, Frame | None]:
        """Call a function; its result as it arrives at ``place``, and the frame it left behind."""
        self._calls += 1
        too_deep = frame.depth >= _DEEPEST or self._calls > _MOST_CALLS or function in self.running
        if too_deep or (move and not must and not self._worth_calling(function, outer, arguments, this)):
            return Thing(f"{function.name}()"), None
        left = self._result(function, outer, arguments, this, frame.depth, racing=racing, keep=move)
        value = left.result() or Thing(constant="undefined")
        if move:
            value = moved(value, place)
            if _builds_text(value):
                value = map_traits(value, lambda trait: replace(trait, built=True))
        return value, left

    def _result(
        self,
        function: Function,
        outer: Frame,
        arguments: list[Value],
        this: Value | None,
        depth: int,
        *,
        racing: bool,
        keep: bool,
    ) -> Frame:
        """The frame a call leaves, run once for the same arguments; large ones are the same if identical."""
        if not keep or outer.function is not None:
            return self._run(function, outer, arguments, this, depth + 1, racing=racing)
        key = (function, outer, _identity(this), *(_identity(value) for value in arguments))
        known = self._results.get(key)
        if known is None:
            held = [*arguments, this] if this is not None else arguments
            known = self._results[key] = (self._run(function, outer, arguments, this, depth + 1), held)
        return known[0]

    def _worth_calling(
        self, function: Function, outer: Frame, arguments: list[Value], this: Value | None
    ) -> bool:
        """Whether a call can matter: it may yield or gets something volatile, or gets text for a prompt."""
        if self.relevance.worth_calling(function, outer):
            return True
        if any(traits_of(value) for value in arguments):
            return True
        if isinstance(this, Instance) and any(traits_of(value) for _, value in this.attributes):
            return True
        texts = any(isinstance(value, Str | Seq | Map) and value not in _EMPTY for value in arguments)
        return texts and self.relevance.holds_prompt(function)

    def _run(
        self,
        function: Function,
        outer: Frame,
        arguments: list[Value] | None,
        this: Value | None,
        depth: int,
        *,
        racing: bool = False,
    ) -> Frame:
        waits = function.is_async or ".then(" in function.text
        frame = Frame(function.module, function, outer, depth, this, racing=racing and waits)
        self.running.append(function)
        try:
            binding.bind_parameters(self, function, arguments, frame)
            body = function.node.child_by_field_name("body")
            if body is None:
                return frame
            if body.type == "statement_block":
                statements.run(self, body.named_children, frame)
            else:
                frame.returned.append((self.evaluate(body, frame), function.module.place(body)))
        finally:
            self.running.pop()
        return frame

    def class_value(self, node: Node, name: str, frame: Frame) -> Ref:
        """The class a node defines; its methods may be run by themselves later."""
        ref = self.objects.define(node, name, frame)
        cls = ref.target
        assert isinstance(cls, Class)
        if frame.depth == 0:
            frame.made += [Closure(method, frame) for method in cls.methods.values()]
        return ref


def _identity(value: Value | None) -> object:
    """What tells arguments apart: unknown values are alike, small ones compared, large ones by identity."""
    match value:
        case Thing(traits=(), constant=None):
            return value.type
        case Instance() if not any(traits_of(inner) for _, inner in value.attributes):
            return value.cls
        case Str() | Thing() | None:
            return value
        case Ref():
            return value.target if value.target is not None else value.dotted
        case _:
            return id(value)


def _builds_text(value: Value) -> bool:
    """Whether a result is a text with words of its own, not just a formatted value."""
    if not isinstance(value, Str):
        return False
    return any(isinstance(part, Text) and count_words(part.text[:200]) > 0 for part in flatten(value.parts))
