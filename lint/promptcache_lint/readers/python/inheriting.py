"""Methods that a class inherits and that call what it overrides: the base's ``ask``, its own ``header``.

A base is read with what it says itself; here its methods are run once more as those of a class in which
something volatile takes the place of the base's. Where another class of the same base has nothing volatile
there, it is not sure that the prompt of every agent changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Class, Function, Module

__all__ = ["Inheritance"]

_DEEPEST = 6


class Inheritance:
    """What the classes of a program put in the place of their bases' methods."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._suspects: dict[Class, list[str]] = {}
        self._proven: dict[Class, list[str]] = {}

    def forget(self) -> None:
        """Let go of all classes."""
        self._suspects.clear()
        self._proven.clear()

    def inherited(self, module: Module) -> Iterator[tuple[Function, Class, bool]]:
        """The methods to run as those of a class of ``module``, and whether all others do as it does."""
        for cls in list(module.classes.values()):
            names = self.suspects(cls)
            for base, method in self._handing_on(cls, names) if names else ():
                volatile = self._volatile(cls)
                if volatile and self._machine.relevance.calls_any(method, volatile):
                    yield method, cls, self._all_do(base, cls, volatile)

    def suspects(self, cls: Class) -> list[str]:
        """The methods of a class that may give something volatile, and stand in the place of a base's."""
        known = self._suspects.get(cls)
        if known is None:
            known = self._suspects[cls] = []
            for base in self._above(cls) if cls.node.bases else ():
                for name in cls.methods.keys() & base.methods.keys():
                    if not name.startswith("__") and self._is_suspect(cls.methods[name], base):
                        known.append(name)
        return known

    def _is_suspect(self, method: Function, base: Class) -> bool:
        """Whether a method may give something volatile, and another one of the base says its name."""
        relevance, name = self._machine.relevance, method.name
        others = (each for key, each in base.methods.items() if key != name)
        return any(name in relevance.words(each) for each in others) and relevance.yields_source(method)

    def _volatile(self, cls: Class) -> list[str]:
        """Those of the suspects that do give something volatile."""
        known = self._proven.get(cls)
        if known is None:
            known = self._proven[cls] = []
            for name in dict.fromkeys(self.suspects(cls)):
                result = self._machine.run_as(cls.methods[name], cls).result()
                if result is not None and any(not trait.guessed for trait in traits_of(result)):
                    known.append(name)
        return known

    def _handing_on(self, cls: Class, names: list[str]) -> list[tuple[Class, Function]]:
        """The inherited methods in which a prompt may be made of what those called ``names`` give."""
        relevance = self._machine.relevance
        return [
            (base, method)
            for base in self._above(cls)
            for method in base.methods.values()
            if relevance.mentions_prompt(method)
            and self._machine.objects.method(cls, method.name) is method
            and relevance.calls_any(method, names)
        ]

    def _above(self, cls: Class) -> list[Class]:
        """The classes of the tree that a class derives from, the nearest first."""
        found: dict[Class, None] = {}
        level = [cls]
        for _ in range(_DEEPEST):
            level = [
                base for each in level for base in self._machine.objects.bases(each) if base not in found
            ]
            found |= dict.fromkeys(level)
        return list(found)

    def _all_do(self, base: Class, cls: Class, names: list[str]) -> bool:
        """Whether all other classes that derive from ``base``, as far as one sees, do as ``cls`` does."""
        above = self._above(cls)
        for other in dict.fromkeys((*cls.module.classes.values(), *base.module.classes.values())):
            theirs = self._above(other)
            aside = other is not cls and other not in above and cls not in theirs
            if aside and base in theirs and not set(names) & set(self._volatile(other)):
                return False
        return True
