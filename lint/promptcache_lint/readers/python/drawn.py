"""Lists that are drawn at random: examples of which some are taken, or which are shuffled, for each request.

What is made by going through such a list is drawn too. In a list of messages the drawn ones are a run of
their own, behind the system prompt, whoever they let speak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, Segment
from promptcache_lint.readers.python.values import Seq, Thing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_lint.prompts import Role
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.values import Traits, Value

__all__ = ["drawn_run", "drawn_traits"]


def drawn_traits(value: Value) -> Traits:
    """The traits of a list by which chance decides which items it has, and in which order."""
    match value:
        case Thing(traits=traits) | Seq(traits=traits):
            return tuple(trait for trait in traits if trait.mark.code == "PC103" and trait.mark.bulk)
        case _:
            return ()


def drawn_run(
    value: Seq, roles: Sequence[Role | None], fresh: int, frame: Frame
) -> tuple[int, Segment] | None:
    """Where in a list of messages drawn ones begin, and what they are; None if none precedes the newest.

    ``fresh``: from where on messages are new in each turn.
    """
    among = [(index, trait) for index, item in enumerate(value.items) for trait in _drawn_item(item)]
    behind_system = next((index for index, role in enumerate(roles) if role != "system"), len(roles))
    among += [(behind_system, trait) for trait in drawn_traits(value)]
    if not among:
        return None
    start, trait = among[0]
    if start > fresh or (start == fresh and start == len(roles) - 1 and roles[start] == "user"):
        return None
    steps = (trait.origin, *trait.flow)
    place = next((step for step in reversed(steps) if step.path == frame.module.source.path), trait.origin)
    hole = Hole(trait.label, place, (trait,), trait.mark.stability)
    return start, Segment(f"messages[{start}:]", "user", (hole,))


def _drawn_item(item: Value) -> Traits:
    """The traits of drawn messages that stand in a list as one item, since nobody knows how many they are."""
    return drawn_traits(item) if isinstance(item, Thing) else ()
