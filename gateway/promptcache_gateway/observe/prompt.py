"""A request as the observer sees it: segments, chained keys, where its head and its newest turn are.

The keys are made with Python's own string hash, which is keyed at random for each process and cached
inside the string: they never leave the process, and a request of 200 KB costs tens of microseconds.
Whatever is decided from a key is checked against the texts by the comparison. How a request is cut
is the SDK's business; what a difference means is `comparison`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick
from promptcache.segments import Segment, cut_request, newest_turn_start
from promptcache_gateway.observe.masking import HEAD_BUDGET, MESSAGE_BUDGET
from promptcache_gateway.observe.pieces import MARKUP_BYTES, Piece
from promptcache_gateway.observe.read_alike import read_alike
from promptcache_gateway.observe.settings import parameters_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.observe.masking import Masker

_INSTRUCTING_ROLES = frozenset({"system", "developer"})

TRIVIAL_CHARS = 24
"""A shorter message (a role, a newline and "yes") says nothing about which conversation it is from."""


@quick
@dataclass(frozen=True, slots=True)
class Prompt:
    """One request, cut and keyed.

    Attributes:
        segments: in the order a provider matches them.
        exact: chained keys, ``exact[i]`` covers the first i segments; length ``len(segments) + 1``.
        masked: the same with volatile values masked, so that a changing clock keeps the key.
        keys: the masked key of each segment on its own.
        messages: keys of the messages that tell one conversation from another.
        offsets: bytes before each segment, markup included; ``offsets[-1]`` is all segments'.
        head: how many leading segments are tools and instructions.
        turn: index of the first segment of the newest user turn (``len(segments)`` if there is none).
        marks: indices of the segments that carry a breakpoint.
        parameters: what a comparison asks for of what the body says beside its contents: model, tool_choice,
            cache keys.
        own: which of these are the gateway's own, put in on the way (`mutations`).
        pieces: what is known of each segment by itself; empty where the prompt was told by another process.
    """

    segments: tuple[Segment, ...]
    exact: tuple[int, ...]
    masked: tuple[int, ...]
    keys: tuple[int, ...]
    messages: tuple[int, ...]
    offsets: tuple[int, ...]
    head: int
    turn: int
    marks: tuple[int, ...]
    parameters: Mapping[str, Any]
    own: frozenset[str] = frozenset()
    pieces: tuple[Piece, ...] = field(default=(), compare=False, repr=False)

    @property
    def total_bytes(self) -> int:
        """Bytes of all segments in UTF-8, with the markup around messages and of the answer's opening."""
        return self.offsets[-1] + MARKUP_BYTES

    @property
    def marked(self) -> list[Segment]:
        """The segments that carry a breakpoint."""
        return [self.segments[at] for at in self.marks]


def read_prompt(body: Mapping[str, Any], masker: Masker) -> Prompt:
    """Cut a request's body and key it; the same as `reading` makes of it, and nothing is remembered.

    Raises:
        promptcache.errors.MalformedRequestError: the body is not one of the known shapes.
    """
    segments = read_alike(body, cut_request(body))
    return put_together(body, segments, tuple([Piece(segment) for segment in segments]), masker)


def put_together(
    body: Mapping[str, Any], segments: tuple[Segment, ...], pieces: tuple[Piece, ...], masker: Masker
) -> Prompt:
    """The prompt of a request that has been cut; ``pieces`` are of its segments."""
    head, turn = _head_length(segments), _turn_start(segments)
    exact, masked, keys, messages, offsets = [0], [0], [], [], [0]
    for index, piece in enumerate(pieces):
        key = piece.key(masker, _budget(index, head, turn))
        keys.append(key)
        exact.append(hash((exact[-1], piece.own)))
        masked.append(hash((masked[-1], key)))
        offsets.append(offsets[-1] + piece.weight)
        if index >= head and len(segments[index].text) >= TRIVIAL_CHARS:
            messages.append(piece.text)
    return Prompt(
        segments,
        tuple(exact),
        tuple(masked),
        tuple(keys),
        tuple(messages),
        tuple(offsets),
        head,
        turn,
        marked_segments(segments),
        parameters_of(body),
        pieces=pieces,
    )


def share_texts(prompt: Prompt, known: Prompt) -> Prompt:
    """The prompt with the leading segments it has in common with a known one being that one's own.

    Thousands of requests that repeat an instruction then keep it once, two texts that are one object are
    equal without being read, and what has been found out of one is not found out again.
    """
    depth = others = 0
    for one, other in zip(known.segments, prompt.segments, strict=False):
        if one is not other:
            if one.text != other.text or one != other:
                break
            others += 1
        depth += 1
    if not others:
        return prompt
    return Prompt(
        known.segments[:depth] + prompt.segments[depth:],
        prompt.exact,
        prompt.masked,
        prompt.keys,
        prompt.messages,
        prompt.offsets,
        prompt.head,
        prompt.turn,
        prompt.marks,
        prompt.parameters,
        prompt.own,
        pieces_of(known)[:depth] + pieces_of(prompt)[depth:],
    )


def marked_segments(segments: Sequence[Segment]) -> tuple[int, ...]:
    """Indices of those that carry a breakpoint."""
    return tuple([at for at, segment in enumerate(segments) if segment.breakpoint is not None])


def pieces_of(prompt: Prompt) -> tuple[Piece, ...]:
    """What is known of each segment by itself."""
    return prompt.pieces or tuple([Piece(segment) for segment in prompt.segments])


def _budget(index: int, head: int, turn: int) -> tuple[int, int]:
    """How much of a segment is masked.

    Of the newest turn as much as of any message, though it is new anyway: in the next request it stands in
    the history, and must have the same key there.
    """
    return HEAD_BUDGET if index <= head and index < turn else MESSAGE_BUDGET


def _turn_start(segments: Sequence[Segment]) -> int:
    """Where the newest user turn starts. A bare completion prompt has no turns."""
    if segments and segments[0].path.startswith("prompt"):
        return len(segments)
    return newest_turn_start(segments)


def _head_length(segments: Sequence[Segment]) -> int:
    for index, segment in enumerate(segments):
        if segment.kind == "message" and segment.role not in _INSTRUCTING_ROLES:
            return index
    return len(segments)
