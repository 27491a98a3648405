"""Keys, values and entries of an object as lists; all in the order of insertion, which JavaScript keeps."""

from __future__ import annotations

from promptcache_lint.readers.python.values import Map, Seq, Thing, Value, order_traits, traits_of

__all__ = ["entries_of", "keys_of", "values_of"]


def keys_of(value: Value) -> Seq:
    """The keys of an object, or the indices of a list."""
    match value:
        case Map():
            return Seq(tuple(_key(key) for key, _ in value.pairs), value.traits, partial=value.partial)
        case Seq():
            return Seq((Thing(settled=True),), partial=True)
        case Thing():
            return Seq((Thing("", value.traits, settled=value.settled),), partial=True)
        case _:
            return Seq((Thing(),), partial=True)


def values_of(value: Value) -> Seq:
    """The values of an object."""
    if isinstance(value, Map):
        return Seq(tuple(item for _, item in value.pairs), value.traits, partial=value.partial)
    return Seq((Thing("", traits_of(value)),), order_traits(value), partial=True)


def entries_of(value: Value) -> Seq:
    """The pairs of key and value."""
    if isinstance(value, Map):
        rows = tuple(Seq((_key(key), item)) for key, item in value.pairs)
        return Seq(rows, value.traits, partial=value.partial)
    traits = traits_of(value)
    return Seq((Seq((Thing("", traits), Thing("", traits))),), order_traits(value), partial=True)


def _key(key: str | None) -> Thing:
    return Thing(constant=key, settled=True) if key is not None else Thing()
