"""Values that are not handed on, but left where others find them.

In context variables, thread-locals and Flask's ``g``. What is found there is what the functions of the module
that declares such a thing, or of the one that reads it, leave there. Where one of them leaves what is
harmless, nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.once import sets_up
from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import Ref, Thing, has_traits, moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.modules import Function, Module
    from promptcache_lint.readers.python.values import Value

__all__ = ["Ambient", "slot"]

_SHARED = {"threading.local", "werkzeug.local.Local", "flask.g", "quart.g"}


def slot(variable: str) -> str:
    """The name under which a function keeps what it leaves in a context variable."""
    return f"{variable}.get()"


class Ambient:
    """What functions leave for others, looked for when somebody reads it."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._left: dict[tuple[Module, str], Value | None] = {}

    def forget(self) -> None:
        """Let go of all that was found."""
        self._left.clear()

    def attribute(self, base: Value, path: str, frame: Frame, place: Place) -> Value | None:
        """What was left in an attribute: ``local.started``."""
        kind = base.type if isinstance(base, Thing) else base.dotted if isinstance(base, Ref) else ""
        return self._found(path, frame, place) if kind in _SHARED and path.count(".") == 1 else None

    def context(self, variable: str, frame: Frame, place: Place) -> Value | None:
        """What was left in a context variable: ``moment.get()``."""
        if not variable.isidentifier():
            return None
        here = frame.find(slot(variable))
        return here if here is not None else self._found(slot(variable), frame, place)

    def _found(self, key: str, frame: Frame, place: Place) -> Value | None:
        name = key.partition(".")[0]
        if frame.find(name) is not None and not frame.at_module_level:
            return None  # a variable of the function
        known = (frame.module, key)
        if known not in self._left:
            self._left[known] = None  # what a function finds that leaves what it has found
            self._left[known] = self._by_all(key, name, frame.module)
        value = self._left[known]
        return moved(value, place) if value is not None else None

    def _by_all(self, key: str, name: str, module: Module) -> Value | None:
        """What all functions leave that leave something there; None where one of them leaves what lasts."""
        modules = [module]
        imported = module.imports.get(name)
        home = self._machine.program.resolve(imported, module) if imported is not None else None
        if isinstance(home, tuple) and home[1] == name and home[0] is not module:
            modules.append(home[0])
        found = [value for each in modules for value in self._left_in(each, key, name)]
        return found[0] if found and all(map(has_traits, found)) else None

    def _left_in(self, module: Module, key: str, name: str) -> Iterator[Value]:
        stored = f"{name}.set(" if key == slot(name) else f"{key} ="
        if stored not in module.source.text:
            return
        functions = [*module.functions.values()]
        functions += [method for cls in module.classes.values() for method in cls.methods.values()]
        for function in functions:
            if stored in function.code and function not in self._machine.running:
                yield from self._left_by(function, key, stored)

    def _left_by(self, function: Function, key: str, stored: str) -> Iterator[Value]:
        frame = self._machine.run_alone(function)
        frames = [(function, frame)]
        frames += [
            (nested, self._machine.run_alone_inside(nested, frame))
            for nested in list(frame.nested.values())
            if stored in nested.code
        ]
        for each, left in frames:
            if key in left.names:
                value = left.names[key]
                yield settled(value) if sets_up(each.name) else value
