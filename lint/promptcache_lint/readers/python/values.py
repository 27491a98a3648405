"""Abstract values of a Python program: enough of each to know what text it becomes and what it brings along.

    f"Hi {name}" → Str(Text("Hi "), Hole("name"));  {"a": 1} → Map;  datetime.now() → Thing(traits=(PC101,))

All are frozen: a change to a list or a dict is a new value under the same name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from promptcache_lint.prompts import Branch, Hole, Text, Trait
from promptcache_lint.quick import quick_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part

__all__ = [
    "MOST_ITEMS",
    "Instance",
    "Map",
    "Ref",
    "Seq",
    "Str",
    "Thing",
    "Traits",
    "Value",
    "element_of",
    "has_traits",
    "map_traits",
    "moved",
    "order_traits",
    "traits_of",
    "union_of",
    "with_traits",
    "without_order",
]

Traits = tuple[Trait, ...]
MOST_ITEMS = 200


@quick_value
class Str:
    """A text of known parts."""

    parts: tuple[Part, ...]


@quick_value
class Thing:
    """A value of which little is known. ``type`` is the dotted name of what made it.

    ``constant``: the text of a number, boolean or None. ``settled``: it does not change from call to call,
    so its name suggests nothing.
    """

    label: str = ""
    traits: Traits = ()
    type: str = ""
    constant: str | None = None
    settled: bool = False


@quick_value
class Seq:
    """A list, tuple or set, or what a loop goes through; ``traits`` are those of its order.

    ``partial``: there may be more items than are known.
    """

    items: tuple[Value, ...]
    traits: Traits = ()
    kind: Literal["list", "tuple", "set"] = "list"
    partial: bool = False


@quick_value
class Map:
    """A dict; keys that are no literal strings are None."""

    pairs: tuple[tuple[str | None, Value], ...]
    traits: Traits = ()
    partial: bool = False

    def get(self, key: str) -> Value | None:
        """The value last stored under ``key``."""
        return next((value for name, value in reversed(self.pairs) if name == key), None)

    def set(self, key: str | None, value: Value) -> Map:
        """The map with ``key`` stored."""
        kept: Iterable[tuple[str | None, Value]] = self.pairs[:MOST_ITEMS]
        if key is not None:
            kept = [pair for pair in self.pairs if pair[0] != key][:MOST_ITEMS]
        return Map((*kept, (key, value)), self.traits, self.partial)


@quick_value
class Instance:
    """An object of a class of the program, with the attributes that are known."""

    cls: Any
    attributes: tuple[tuple[str, Value], ...] = ()

    def get(self, name: str) -> Value | None:
        """The attribute ``name``."""
        return next((value for key, value in reversed(self.attributes) if key == name), None)


@quick_value
class Ref:
    """A function, class or module: by dotted name, and with its definition where the program has it.

    ``bound`` is the object a method belongs to; ``given`` are arguments fixed by `functools.partial`;
    ``closure`` is the frame in which a nested function or a lambda was defined.
    """

    dotted: str
    target: Any = None
    bound: Value | None = None
    given: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
    closure: Any = None


Value = Str | Thing | Seq | Map | Instance | Ref


def union_of(groups: Iterable[Traits]) -> Traits:
    """The traits of several values, each once; of very many, the first."""
    told = [group for group in groups if group]
    if not told:
        return ()
    if len(told) == 1 and len(told[0]) == 1:
        return told[0]
    return tuple(dict.fromkeys(trait for group in told for trait in group))[:24]


def traits_of(value: Value) -> Traits:
    """All traits in a value, however deep."""
    match value:
        case Str(parts):
            return union_of(_part_traits(part) for part in parts)
        case Thing():
            return value.traits
        case Seq():
            return union_of((value.traits, *(traits_of(item) for item in value.items)))
        case Map():
            return union_of((value.traits, *(traits_of(item) for _, item in value.pairs)))
        case Instance():
            return ()
        case Ref():
            return ()


def has_traits(value: Value) -> bool:
    """Whether there is any trait in a value, however deep."""
    match value:
        case Str(parts):
            return any(map(_bears_traits, parts))
        case Thing():
            return bool(value.traits)
        case Seq():
            return bool(value.traits) or any(map(has_traits, value.items))
        case Map():
            return bool(value.traits) or any(has_traits(item) for _, item in value.pairs)
        case Instance() | Ref():
            return False


def _bears_traits(part: Part) -> bool:
    match part:
        case Hole():
            return bool(part.traits)
        case Branch():
            return any(_bears_traits(inner) for option in part.options for inner in option)
        case Text():
            return False


def _part_traits(part: Part) -> Traits:
    match part:
        case Hole():
            return part.traits
        case Branch():
            return union_of(_part_traits(inner) for option in part.options for inner in option)
        case Text():
            return ()


def order_traits(value: Value) -> Traits:
    """The traits of a value that are about order: what is left of a path's when the file is read."""
    return tuple(trait for trait in traits_of(value) if trait.mark.order)


def map_traits(value: Value, change: Callable[[Trait], Trait | None]) -> Value:
    """The value with each of its traits changed, or dropped where ``change`` gives None."""

    def changed(traits: Traits) -> Traits:
        return tuple(new for trait in traits if (new := change(trait)) is not None) if traits else traits

    def in_part(part: Part) -> Part:
        match part:
            case Hole() if part.traits:
                traits = changed(part.traits)
                if traits == part.traits:
                    return part
                return Hole(part.label, part.place, traits, part.stability, part.words)
            case Branch():
                options = tuple(tuple(map(in_part, option)) for option in part.options)
                return part if options == part.options else replace(part, options=options)
            case _:
                return part

    match value:
        case Str(parts):
            return Str(tuple(map(in_part, parts)))
        case Thing():
            return replace(value, traits=changed(value.traits)) if value.traits else value
        case Seq():
            items = tuple([map_traits(item, change) for item in value.items])
            return Seq(items, changed(value.traits), value.kind, value.partial)
        case Map():
            pairs = tuple([(key, map_traits(item, change)) for key, item in value.pairs])
            return Map(pairs, changed(value.traits), value.partial)
        case _:
            return value


def without_order(value: Value) -> Value:
    """The value once it has been sorted: what only disturbed its order is gone."""
    return map_traits(value, lambda trait: None if trait.mark.order else trait)


def with_traits(value: Value, traits: Traits, label: str = "…") -> Value:
    """The value with traits added: those of the list it was taken from, or of the call that made it."""
    if not traits:
        return value
    match value:
        case Str(parts):
            place = _nearest(traits[0], parts[0].place) if parts else traits[0].origin
            mine = traits_of(value)
            new = tuple(trait for trait in traits if trait not in mine)
            return Str((*parts, Hole(label, place, new, new[0].mark.stability))) if new else value
        case Thing():
            return replace(value, traits=union_of((value.traits, traits)), constant=None)
        case Seq() | Map():
            return replace(value, traits=union_of((value.traits, traits)))
        case _:
            return Thing(label, traits)


def _nearest(trait: Trait, place: Place) -> Place:
    """Where a value enters a text of which only the beginning is known: its last step in that file."""
    steps = (trait.origin, *trait.flow)
    return next((step for step in reversed(steps) if step.path == place.path), place)


def element_of(value: Value) -> Value:
    """One item of what is iterated over, standing for all of them."""
    match value:
        case Seq() if not value.items:
            return Thing("", value.traits)
        case Seq():
            records = [item for item in value.items if isinstance(item, Map)]
            unknown = sum(isinstance(item, Thing) and not item.traits for item in value.items)
            if records and len(records) + unknown == len(value.items):
                return _one_of(records, value.traits)
            return with_traits(value.items[0], union_of((value.traits, *map(traits_of, value.items[1:]))))
        case Map():
            return Thing("", value.traits, settled=not value.partial)
        case Thing():
            return Thing(value.label and f"{value.label}[…]", value.traits, settled=value.settled)
        case Str():
            return Thing("", traits_of(value), settled=True)
        case _:
            return Thing()


def _one_of(records: list[Map], order: Traits) -> Map:
    """A record that stands for several, and others of which nothing is known: each field is only itself."""
    fields: dict[str | None, Value] = {}
    for key, inner in (pair for record in records[:MOST_ITEMS] for pair in record.pairs):
        fields[key] = with_traits(fields[key], traits_of(inner)) if key in fields else inner
    return Map(tuple(fields.items()), union_of((order, *(each.traits for each in records))), partial=True)


def moved(value: Value, place: Place) -> Value:
    """The value as it arrives at ``place``, from a function called there: its holes stand there now."""

    def in_part(part: Part) -> Part:
        match part:
            case Hole():
                traits = tuple(t.through(part.place).through(place) for t in part.traits)
                return Hole(part.label, place, traits, part.stability, part.words)
            case Branch():
                options = tuple(tuple(map(in_part, option)) for option in part.options)
                here = part.place if part.place.path == place.path else place
                return Branch(part.test, here, options, part.written)
            case Text():
                return part

    match value:
        case Thing(traits=()):
            return value
        case Str(parts):
            return Str(tuple(map(in_part, parts)))
        case Seq():
            items = tuple([moved(item, place) for item in value.items])
            traits = tuple([t.through(place) for t in value.traits])
            return Seq(items, traits, value.kind, value.partial)
        case Map():
            pairs = tuple([(key, moved(item, place)) for key, item in value.pairs])
            return Map(pairs, tuple([t.through(place) for t in value.traits]), value.partial)
        case _:
            return map_traits(value, lambda trait: trait.through(place))
