"""The state of one abstract run: the names in scope, what was returned, and the functions made on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.merging import merge
from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import Seq

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.module import Closure, Function, Module

__all__ = ["Frame"]


@dataclass(eq=False)
class Frame:
    """One run of a function's or module's body.

    ``names`` holds variables, and what was stored on ``this`` under ``this.name``. ``outer`` is the frame
    around a function's definition. ``racing``: it runs beside other runs of the same function, so what it
    appends outside after waiting (``waited``) comes in the order in which the runs finish.
    """

    module: Module
    function: Function | None = None
    outer: Frame | None = None
    depth: int = 0
    this: Value | None = None
    names: dict[str, Value] = field(default_factory=dict)
    returned: list[tuple[Value, Place]] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)
    made: list[Closure] = field(default_factory=list)
    racing: bool = False
    waited: bool = False
    _settled: dict[str, tuple[Value, Value]] = field(default_factory=dict)

    @property
    def at_module_level(self) -> bool:
        """Whether this is the body of a module, which runs once."""
        return self.function is None

    def find(self, name: str) -> Value | None:
        """The value of a variable; one of the module is computed once, as seen from a function."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                value = frame.names[name]
                return value if frame is self or not frame.at_module_level else frame.settle(name, value)
            frame = frame.outer
        return None

    def settle(self, name: str, value: Value) -> Value:
        """A module variable as functions see it."""
        known = self._settled.get(name)
        if known is None or known[0] is not value:
            known = self._settled[name] = (value, settled(value))
        return known[1]

    def home(self, name: str) -> Frame:
        """The frame that holds a name; this one where none does."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame
            frame = frame.outer
        return self

    def this_frame(self) -> Frame:
        """The frame whose ``this`` is meant here: arrow functions have none of their own."""
        frame = self
        while frame.function is not None and frame.function.node.type == "arrow_function":
            if frame.outer is None:
                break
            frame = frame.outer
        return frame

    def join(self, before: dict[str, Value], other: dict[str, Value], place: Place, test: str) -> None:
        """Merge the names after a branch with those of the other way."""
        merged = dict(other)
        for name, value in self.names.items():
            if name not in other:
                merged[name] = value
            elif other[name] is not value:
                changed = before.get(name) is not value
                first, second = (value, other[name]) if changed else (other[name], value)
                merged[name] = merge(first, second, place, test)
        self.names = merged

    def result(self) -> Value | None:
        """What the function returns: one value, or one of several."""
        if self.yielded:
            return Seq(tuple(self.yielded))
        if not self.returned:
            return None
        value, _ = self.returned[0]
        for other, place in self.returned[1:]:
            value = merge(value, other, place)
        return value
