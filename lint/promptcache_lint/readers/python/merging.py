"""What a name stands for after two ways through a program: one value that tells of both."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Text, flatten
from promptcache_lint.readers.python.values import (
    MOST_ITEMS,
    Map,
    Seq,
    Str,
    Thing,
    has_traits,
    traits_of,
    union_of,
    with_traits,
)

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part
    from promptcache_lint.readers.python.values import Value

__all__ = ["merge"]

_MOST_PARTS = 300
_MOST_SPREAD = 200
_MOST_STAND_IN = 120
_NOTHING = re.compile(
    r"[\W_]*(?:(?:none|n/a|unknown|nothing|nobody|empty|null|nil|not|no|there (?:is|are|was|were) no\w*"
    r"|keine?|nichts|нет|ninguna?|aucune?|nenhuma?)\b|没有|暂无|无|なし|없음|(?<=\().*\)$|$)",
    re.IGNORECASE,
)


def merge(first: Value, second: Value, place: Place, test: str = "") -> Value:
    """The value of a name after a branch: one or the other."""
    if first == second:
        return first
    match first, second:
        case Str(), Str():
            return _merge_texts(first.parts, second.parts, place, test)
        case Seq(), Seq():
            return _merge_lists(first, second, place, test)
        case Map(), Map():
            traits = union_of((first.traits, second.traits))
            return Map(_merge_pairs(first, second, place, test), traits, partial=True)
        case Thing(), Thing():
            known = first if first.traits or not second.traits else second
            return replace(known, traits=union_of((first.traits, second.traits)), constant=None)
        case (Thing(constant="None" | "''"), other) | (other, Thing(constant="None" | "''")):
            return other
        case (Str(()), Thing() as thing) | (Thing() as thing, Str(())) if thing.label:
            return thing
        case (Str() as text, Thing() as thing) | (Thing() as thing, Str() as text):
            if _is_unknown(thing) and _stands_in(text):
                unknown: tuple[Part, ...] = (Hole(thing.label, place),)
                return Str((Branch(test, place, (unknown, text.parts), written=False),))
            return with_traits(text, thing.traits, thing.label or "…")
        case _:
            return first if has_traits(first) or not has_traits(second) else second


def _is_unknown(thing: Thing) -> bool:
    """Whether nothing is known of a value but how the source spells it."""
    return bool(thing.label) and not (thing.traits or thing.settled or thing.constant is not None)


def _stands_in(text: Str) -> bool:
    """Whether a text only says that there is nothing: ``found or "No documents."``

    What else stands for a value where it is missing is as good as the value: a name, a model, a whole prompt.
    """
    match text.parts:
        case (Text(words),):
            return len(words) <= _MOST_STAND_IN and _NOTHING.match(words.strip()) is not None
        case _:
            return False


def _merge_lists(first: Seq, second: Seq, place: Place, test: str) -> Seq:
    """A list after a branch. Texts that only one of the ways has added come and go with what it tests."""
    longer, shorter = (first, second) if len(first.items) >= len(second.items) else (second, first)
    same = _alike(shorter.items, longer.items)
    added, rest = longer.items[same:], shorter.items[same:]
    new = (item for item in rest if item not in longer.items)
    items = (*longer.items, *islice(new, max(0, MOST_ITEMS - len(longer.items))))[:MOST_ITEMS]
    if test and not rest:
        items = (*longer.items[:same], *(_only_then(item, place, test) for item in added))[:MOST_ITEMS]
    return Seq(items, union_of((first.traits, second.traits)), longer.kind, partial=True)


def _only_then(item: Value, place: Place, test: str) -> Value:
    """An item that is there only under a condition."""
    if not isinstance(item, Str) or not item.parts:
        return item
    return Str((Branch(test, place, (item.parts, ()), written=False),))


def _merge_pairs(first: Map, second: Map, place: Place, test: str) -> tuple[tuple[str | None, Value], ...]:
    """The pairs of two dicts: those of the first alone, then those of the second, merged."""
    mine = {key: value for key, value in first.pairs if key is not None}
    theirs = {key for key, _ in second.pairs if key is not None}
    kept = [pair for pair in first.pairs if pair[0] not in theirs]
    kept += [
        (key, value if key not in mine else merge(mine[key], value, place, test))
        for key, value in second.pairs
    ]
    return tuple(kept[:MOST_ITEMS])


def _merge_texts(first: tuple[Part, ...], second: tuple[Part, ...], place: Place, test: str) -> Str:
    same = _alike(first, second)
    mine, theirs = first[same:], second[same:]
    if sum(1 for _ in flatten((*mine, *theirs))) > _MOST_SPREAD:  # they double with every branch around
        return _one_of(first, second)
    branch = Branch(test, place, (mine, theirs), written=False)
    return Str((*first[:same], branch)[:_MOST_PARTS])


def _alike(first: tuple[object, ...], second: tuple[object, ...]) -> int:
    """How many items two rows begin with alike: of a list that grew on both ways, nearly all."""
    same = 0
    for mine, theirs in zip(first, second, strict=False):
        if mine is not theirs and mine != theirs:
            break
        same += 1
    return same


def _one_of(first: tuple[Part, ...], second: tuple[Part, ...]) -> Str:
    """The longer of two texts that have too many options already, with the faults of both."""
    longer, other = (first, second) if len(first) >= len(second) else (second, first)
    text = with_traits(Str(longer), traits_of(Str(other)))
    return text if isinstance(text, Str) else Str(longer)
