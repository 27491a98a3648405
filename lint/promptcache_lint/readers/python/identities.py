"""What tells one argument of a call from another, so that a function is run once for the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Instance, Map, Ref, Seq, Thing

if TYPE_CHECKING:
    from promptcache_lint.readers.python.values import Value

__all__ = ["identity_of"]

_MOST_COMPARED = 40


def identity_of(value: Value) -> object:
    """What tells one argument from another: what is in a small value, of a large one which object it is."""
    known, room = _content(value, _MOST_COMPARED)
    return known if room >= 0 else id(value)


def _content(value: Value, room: int) -> tuple[object, int]:
    """A value for comparing, and how many more may be compared; negative if those are too many already.

    What a value without traits is called says nothing: in a text, it is named by the expression there.
    """
    match value:
        case Thing(traits=()):
            return (value.type, value.constant, value.settled), room - 1
        case Seq(items=inner):
            key: tuple[object, ...] = (Seq, value.kind, value.partial, value.traits)
        case Map(pairs=named):
            key = (Map, value.partial, value.traits, *(name for name, _ in named))
            inner = tuple(item for _, item in named)
        case Instance(attributes=attributes):
            key = (Instance, value.cls, *(name for name, _ in attributes))
            inner = tuple(item for _, item in attributes)
        case Ref(bound=bound, given=given, named=named_too):
            key = (Ref, value.dotted, value.target, len(given), *(name for name, _ in named_too))
            inner = (*given, *(item for _, item in named_too), *(() if bound is None else (bound,)))
        case _:
            return value, room - 1
    contents = []
    room -= 1
    for item in inner:
        if room < 0:
            break
        content, room = _content(item, room)
        contents.append(content)
    return (key, *contents), room
