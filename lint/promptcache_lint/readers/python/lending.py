"""Functions that mark what others give them as cacheable: whose text a breakpoint ends.

A function run by itself knows nothing of the text that it is given; its callers do, and each of them sends a
prompt of its own. Where they give several texts, each is told where it is written, and none of them at the
mark, which is right for the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text, flatten
from promptcache_lint.readers.python.parameters import gets_literals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Prompt, Segment
    from promptcache_lint.readers.python.program import Function

__all__ = ["is_rehearsal", "told_by_callers"]


def is_rehearsal(running: Sequence[Function]) -> bool:
    """Whether a function runs by itself though its module calls it with texts that are written out."""
    if len(running) != 1:
        return False
    function = running[0]
    return any(gets_literals(parameter.arg, function) for parameter, _ in function.parameters)


def told_by_callers(prompts: Iterable[Prompt], rehearsed: Iterable[Prompt], path: str) -> list[Prompt]:
    """The prompts of the file at ``path``; of those that share a breakpoint, each is told at its own text."""
    prompts = list(prompts)
    alone = {id(prompt) for prompt in rehearsed}
    sharing: dict[Place, list[Prompt]] = {}
    for prompt in prompts:
        last = _last_marked(prompt)
        if last is not None and last.marked is not None and id(prompt) not in alone:
            sharing.setdefault(last.marked, []).append(prompt)
    return [_told(prompt, sharing, path) for prompt in prompts]


def _told(prompt: Prompt, sharing: dict[Place, list[Prompt]], path: str) -> Prompt:
    last = _last_marked(prompt)
    if last is None or last.marked is None or not _is_known(prompt):
        return prompt
    group = sharing.get(last.marked, [])
    abroad = last.marked.path != path
    if len({_wording(each) for each in group}) < 2 and not abroad:
        return prompt
    place = next(
        (part.place for part in last.parts if isinstance(part, Text) and part.place.path == path), None
    )
    lent = abroad or not all(map(_is_known, group))
    segments = tuple(
        replace(each, marked=place) if each is last and place else each for each in prompt.segments
    )
    return replace(prompt, segments=segments, lent=lent, place=place or prompt.place)


def _last_marked(prompt: Prompt) -> Segment | None:
    return next((each for each in reversed(prompt.segments) if each.breakpoint), None)


def _is_known(prompt: Prompt) -> bool:
    """Whether all up to its last breakpoint is written."""
    last = max(i for i, segment in enumerate(prompt.segments) if segment.breakpoint)
    parts = (part for segment in prompt.segments[: last + 1] for part in flatten(segment.parts))
    return all(isinstance(part, Text) for part in parts)


def _wording(prompt: Prompt) -> tuple[tuple[object, ...], ...]:
    return tuple(segment.parts for segment in prompt.segments)
