"""What ``JSON.stringify`` writes: keys in the order in which they were put into the object.

That order is the program's own as a rule, and no fault. Where runs that wait beside each other put the keys
in, it is that in which they finish, and the same facts are another text each time (PC201).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.readers.python import values
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing
from promptcache_lint.readers.typescript import texts

if TYPE_CHECKING:
    from promptcache_lint.prompts import Mark, Trait
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.readers.typescript.machine import Machine

__all__ = ["stringified"]


def stringified(machine: Machine, made: Call, frame: Frame) -> Value:
    """The text of a value; keys that a second argument lists come in the order of that list."""
    if not made.arguments:
        return Str(())
    value, expression = made.arguments[0]
    listed = made.values[1] if len(made.arguments) > 1 else None
    if isinstance(listed, Seq) and not values.order_traits(listed):
        value = values.without_order(value)
    mark = machine.vocabulary.call("json.dumps")
    if isinstance(value, Map) and mark is not None:
        label = frame.module.label(made.node)
        value = replace(value, traits=tuple(_of_keys(trait, mark, label) for trait in value.traits))
    if isinstance(value, Seq | Map | Str):
        return Str(texts.parts_of(machine, value, expression, frame))
    return Thing(frame.module.label(made.node), values.traits_of(value))


def _of_keys(trait: Trait, mark: Mark, label: str) -> Trait:
    """The order in which runs finish is one of keys here; that of a listing (by a call) stays what it is."""
    raced = trait.mark.order and trait.mark.code == "PC203" and "(" not in trait.label
    return replace(trait, mark=mark, label=label) if raced else trait
