"""Which volatile values only ever reach what is new in any case, as the calls of a file show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole, Prompt, flatten

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part

__all__ = ["absolved_in", "without"]


def absolved_in(prompts: list[Prompt], written: list[Prompt]) -> frozenset[tuple[str, Place]]:
    """The values that the calls of a file only ever put where everything is new.

    ``prompts`` are requests and lists of messages; ``written`` are single messages too, which do not show
    where they go, but whose role says what they are.
    """
    exposed: set[tuple[str, Place]] = set()
    spared: set[tuple[str, Place]] = set()
    for prompt in (*prompts, *written):
        kept = list(prompt.reusable())
        for segment in prompt.segments:
            found = {
                (trait.mark.code, trait.origin)
                for part in flatten(segment.parts)
                if isinstance(part, Hole)
                for trait in part.traits
            }
            (exposed if segment in kept else spared).update(found)
    return frozenset(spared - exposed)


def without(prompt: Prompt, absolved: frozenset[tuple[str, Place]]) -> Prompt:
    """The prompt without the traits that were let off."""

    def clean(part: Part) -> Part:
        match part:
            case Hole() if part.traits:
                return replace(
                    part, traits=tuple(t for t in part.traits if (t.mark.code, t.origin) not in absolved)
                )
            case Branch():
                return replace(part, options=tuple(tuple(map(clean, option)) for option in part.options))
            case _:
                return part

    segments = tuple(replace(s, parts=tuple(map(clean, s.parts))) for s in prompt.segments)
    return replace(prompt, segments=segments)
