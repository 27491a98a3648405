"""Things of a list that are written into a text one by one: ``questions.map((q) => `- ${q}`).join("\\n")``.

None of them is what the turn is about; what counts as such a thing is the same in Python (``items`` there).
"""

from __future__ import annotations

from promptcache_lint.exposure import count_words
from promptcache_lint.readers.python.items import A_FEW_WORDS, is_asked
from promptcache_lint.readers.python.values import Ref, Thing, Value
from promptcache_lint.readers.typescript.module import Closure, Function

__all__ = ["as_thing"]


def as_thing(callback: Value | None, item: Value) -> Value:
    """An item as ``map`` gives it to a function that writes little beside it: one of several."""
    plain = isinstance(item, Thing) and not item.traits and not item.settled
    target = callback.target if isinstance(callback, Ref) else None
    function = target.function if isinstance(target, Closure) else target
    if not plain or not isinstance(function, Function) or count_words(function.text) > A_FEW_WORDS:
        return item
    given = function.node.child_by_field_name("parameter") or function.node.child_by_field_name("parameters")
    first = given.named_children[0] if given is not None and given.named_children else given
    name = function.module.text(first).partition(":")[0] if first is not None else ""
    return Thing(item.label, settled=True) if isinstance(item, Thing) and is_asked(name) else item
