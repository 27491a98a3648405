"""The outline of a prompt: its segments with their sizes and without their texts, to draw it by.

A provider says how many tokens a prompt has, never where each segment begins; a segment's tokens are
therefore its share of the prompt's by its bytes, and an estimate. Outlines are kept in memory only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.observe.pieces import Stretch
from promptcache_gateway.observe.prompt import pieces_of

if TYPE_CHECKING:
    from promptcache_gateway.observe.prompt import Prompt

MOST = 200
"""Stretches kept of one prompt; in a longer one neighbours are drawn as one."""


def outline(prompt: Prompt, most: int = MOST) -> tuple[Stretch, ...]:
    """The prompt's segments, at most ``most`` stretches of them, in order."""
    segments, offsets = prompt.segments, prompt.offsets
    if len(segments) <= most:
        return tuple([piece.stretch for piece in pieces_of(prompt)])
    step = -(-len(segments) // most)
    return tuple(
        Stretch(
            segments[at].path,
            segments[min(at + step, len(segments)) - 1].path,
            segments[at].kind,
            segments[at].role,
            offsets[min(at + step, len(segments))] - offsets[at],
        )
        for at in range(0, len(segments), step)
    )


def outline_json(stretches: tuple[Stretch, ...], prompt_tokens: int | None) -> list[dict[str, Any]]:
    """The outline with each stretch's first token and number of tokens, None where no count is known."""
    total = sum(stretch.size for stretch in stretches)
    found, before = [], 0
    for stretch in stretches:
        after = before + stretch.size
        start = _share(before, total, prompt_tokens)
        end = _share(after, total, prompt_tokens)
        tokens = None if start is None or end is None else end - start
        found.append(
            {
                "path": stretch.path,
                "last": stretch.last,
                "kind": stretch.kind,
                "role": stretch.role,
                "bytes": stretch.size,
                "start_token": start,
                "tokens": tokens,
            }
        )
        before = after
    return found


def _share(part: int, whole: int, tokens: int | None) -> int | None:
    return None if tokens is None or not whole else round(tokens * part / whole)
