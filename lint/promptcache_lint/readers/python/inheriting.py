"""Methods that a class inherits and that call what it overrides: the base's ``ask``, its own ``header``.

A base is read with what it says itself; here its methods are run once more as those of a class in which
something volatile takes the place of the base's. Where another class of the same base has nothing volatile
there, it is not sure that the prompt of every agent changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Class, Function, Module

__all__ = ["inherited", "volatile_methods"]

_DEEPEST = 6


def inherited(machine: Interpreter, module: Module) -> Iterator[tuple[Function, Class, bool]]:
    """The methods to run as those of a class of ``module``, and whether all classes of the base are alike."""
    for cls in list(module.classes.values()):
        if not cls.node.bases:
            continue
        volatile = volatile_methods(machine, cls)
        bases = _above(machine, cls) if volatile else []
        overriding = [name for name in volatile if any(name in base.methods for base in bases)]
        if not overriding:
            continue
        for base in bases:
            for method in base.methods.values():
                if machine.objects.method(cls, method.name) is method and _hands_on(
                    machine, method, overriding
                ):
                    yield method, cls, _all_do(machine, base, cls, overriding)


def volatile_methods(machine: Interpreter, cls: Class) -> list[str]:
    """The methods of a class from which something volatile may come."""
    return [name for name, method in cls.methods.items() if machine.relevance.yields_source(method)]


def _hands_on(machine: Interpreter, method: Function, names: list[str]) -> bool:
    """Whether a prompt may be made in a method of what the methods called ``names`` give."""
    relevance = machine.relevance
    return relevance.makes_prompts(method) and relevance.reads_any(method, names)


def _above(machine: Interpreter, cls: Class) -> list[Class]:
    """The classes of the tree that a class derives from, the nearest first."""
    found: dict[Class, None] = {}
    level = [cls]
    for _ in range(_DEEPEST):
        level = [base for below in level for base in machine.objects.bases(below) if base not in found]
        found |= dict.fromkeys(level)
    return list(found)


def _all_do(machine: Interpreter, base: Class, cls: Class, names: list[str]) -> bool:
    """Whether all other classes that derive from ``base``, as far as they are seen, do as ``cls`` does."""
    seen = dict.fromkeys((*cls.module.classes.values(), *base.module.classes.values()))
    above = _above(machine, cls)
    for other in seen:
        theirs = _above(machine, other)
        aside = other is not cls and other not in above and cls not in theirs
        if aside and base in theirs and not set(names) & set(volatile_methods(machine, other)):
            return False
    return True
