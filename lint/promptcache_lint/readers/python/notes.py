"""Notes to the model behind the history: they belong to the newest turn, wherever else they seem to stand.

A note is first met by itself, as a message of the system, or at the head of a list that is added to a
history. Where it stands is known only when the whole list is; then the prompt that it seemed to be is given
up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Prompt, Segment

__all__ = ["Notes"]


class Notes:
    """The notes that are known to stand behind a history, by where the faults in them come from."""

    def __init__(self) -> None:
        self._known: set[frozenset[Place]] = set()
        self._heads: set[frozenset[Place]] = set()
        """What stands in front of a history too."""

    def covers(
        self, segments: tuple[Segment, ...], found: Iterable[dict[tuple[object, ...], Prompt]]
    ) -> bool:
        """Whether a prompt is no more than notes. Those it shows are given up among the prompts ``found``."""
        if self._learn(segments):
            self._give_up(found)
        return self._are_all(segments)

    def _learn(self, segments: tuple[Segment, ...]) -> bool:
        """Whether among the segments of a whole list of messages there are notes that are new here."""
        notes = {_origins(segment) for segment in segments if segment.newest and segment.role == "system"}
        if not notes:
            return False
        self._heads |= {_origins(segment) for segment in segments if not segment.newest}
        fresh = notes - self._known - self._heads - {frozenset()}
        self._known = (self._known | fresh) - self._heads
        return bool(fresh)

    def _are_all(self, segments: tuple[Segment, ...]) -> bool:
        """Whether all that varies in a prompt is in notes, or else in the newest message."""
        if not self._known:
            return False
        filled = [(segment, origins) for segment in segments if (origins := _origins(segment))]
        return bool(filled) and all(segment.newest or origins in self._known for segment, origins in filled)

    def _give_up(self, found: Iterable[dict[tuple[object, ...], Prompt]]) -> None:
        """Take out the prompts that turn out to be notes."""
        for prompts in found:
            for key in [key for key, prompt in prompts.items() if self._are_all(prompt.segments)]:
                del prompts[key]


def _origins(segment: Segment) -> frozenset[Place]:
    holes = (part for part in flatten(segment.parts) if isinstance(part, Hole))
    return frozenset(trait.origin for hole in holes for trait in hole.traits)
