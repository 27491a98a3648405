"""Blocks of Jinja2 templates that extend each other: which is written, and what ``super()`` stands for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Hole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Part

__all__ = ["Blocks", "with_super"]


@dataclass
class Blocks:
    """The blocks of the templates that extend one, each from the furthest down to the nearest."""

    read: dict[str, list[tuple[Part, ...]]] = field(default_factory=dict)


def with_super(chain: list[tuple[Part, ...]]) -> Iterator[Part]:
    """The first of ``chain``, with the next one where it calls ``super()``."""
    first, *rest = chain
    for part in first:
        if isinstance(part, Hole) and part.label.startswith("super()") and rest:
            yield from with_super(rest)
        else:
            yield part
