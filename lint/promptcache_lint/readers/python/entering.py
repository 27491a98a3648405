"""Where the values of a prompt enter a file that sends it, or hands something to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Branch, Hole

if TYPE_CHECKING:
    from promptcache_lint.prompts import Part

__all__ = ["brought"]


def brought(parts: tuple[Part, ...], path: str) -> tuple[Part, ...]:
    """The parts with each hole placed where the file ``path`` sends its value on its way, if it does."""

    def placed(part: Part) -> Part:
        match part:
            case Branch():
                return replace(part, options=tuple(brought(option, path) for option in part.options))
            case Hole() if part.place.path != path:
                steps = [step for trait in part.traits for step in (trait.origin, *trait.flow)]
                return replace(part, place=next((s for s in reversed(steps) if s.path == path), part.place))
            case _:
                return part

    return tuple(map(placed, parts))
