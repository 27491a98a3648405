"""The state of one abstract run: the names in scope, and what has been returned so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.merging import merge

if TYPE_CHECKING:
    import ast

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.program import Class, Function, Module
    from promptcache_lint.readers.python.values import Value

__all__ = ["Frame"]


@dataclass(slots=True, eq=False)
class Frame:
    """One run of a function's or module's body.

    ``names`` holds variables, and attributes of variables under their spelling (``self.tools``).
    ``outer`` is the frame a nested function was defined in. ``depth`` counts the calls on the way here.
    """

    module: Module
    function: Function | None = None
    owner: Class | None = None
    outer: Frame | None = None
    depth: int = 0
    names: dict[str, Value] = field(default_factory=dict)
    owners: set[str] = field(default_factory=set)
    """What has attributes among the names, or had some."""
    nested: dict[str, Function] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    returned: list[tuple[Value, Place]] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    only: frozenset[ast.stmt] | None = None
    """The statements that are run; None for all of them."""
    kept: bool = False
    """What is made now is made once in the life of the process (``if cls.agent is None: cls.agent = …``)."""

    @property
    def at_module_level(self) -> bool:
        """Whether this is the body of a module, which runs once."""
        return self.function is None and self.owner is None

    def find(self, name: str) -> Value | None:
        """The value of a variable here or in an enclosing function."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.outer
        return None

    def find_nested(self, name: str) -> Function | None:
        """A function defined inside this one or an enclosing one."""
        frame = self.defining(name)
        return frame.nested[name] if frame is not None else None

    def defining(self, name: str) -> Frame | None:
        """The frame, this one or an enclosing one, that has a nested function of this name."""
        frame: Frame | None = self
        while frame is not None and name not in frame.nested:
            frame = frame.outer
        return frame

    def set(self, name: str, value: Value) -> None:
        """Bind a name, and forget what was known of its attributes."""
        if name in self.owners:
            prefix = name + "."
            for key in [key for key in self.names if key.startswith(prefix)]:
                del self.names[key]
        self.store(name, value)

    def store(self, name: str, value: Value) -> None:
        """Bind a name, whose attributes stay what they are."""
        self.names[name] = value
        if "." not in name:
            return
        owner, dot, _ = name.rpartition(".")
        while dot:
            self.owners.add(owner)
            owner, dot, _ = owner.rpartition(".")

    def join(self, before: dict[str, Value], other: dict[str, Value], place: Place, test: str) -> None:
        """Merge the names after a branch with those of the other way."""
        merged = dict(other)
        for name, value in self.names.items():
            if name not in other:
                merged[name] = value
            elif other[name] is not value:
                # The way that changed nothing comes second, so that its text is the shorter option.
                first, second = (
                    (value, other[name]) if before.get(name) is not value else (other[name], value)
                )
                merged[name] = merge(first, second, place, test)
        self.names = merged

    def result(self) -> Value | None:
        """What the function returns: one value, or one of several."""
        if not self.returned:
            return None
        value, _ = self.returned[0]
        for other, place in self.returned[1:]:
            value = merge(value, other, place)
        return value
