"""A request as the observer sees it: segments, chained keys, where its head and its newest turn are.

The keys are made with Python's own string hash, which is keyed at random for each process and cached
inside the string: they never leave the process, and a request of 200 KB costs tens of microseconds.
Whatever is decided from a key is checked against the texts by the comparison. How a request is cut
is the SDK's business; what a difference means is `comparison`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from promptcache.quick_values import quick
from promptcache.segments import Segment, cut_request, newest_turn_start
from promptcache_gateway.observe.extents import Extent, segment_extent
from promptcache_gateway.observe.masking import HEAD_BUDGET, MESSAGE_BUDGET, UNMASKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from promptcache_gateway.observe.masking import Masker

_CONTENT_KEYS = frozenset({"messages", "system", "tools", "prompt", "instructions", "input", "functions"})
_MARKUP_BYTES = 12  # what "<|im_end|>" and the like come to: three or four tokens a message
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
        parameters: the request's body without its contents: model, tool_choice, cache keys.
        extents: how many tokens each segment can have; empty where nobody has measured them yet.
    """

    segments: tuple[Segment, ...]
    exact: tuple[int, ...]
    masked: tuple[int, ...]
    keys: tuple[int, ...]
    messages: tuple[int, ...]
    offsets: tuple[int, ...]
    head: int
    turn: int
    parameters: Mapping[str, Any]
    extents: tuple[Extent, ...] = field(default=(), compare=False, repr=False)

    @property
    def total_bytes(self) -> int:
        """Bytes of all segments in UTF-8, with the markup around messages and of the answer's opening."""
        return self.offsets[-1] + _MARKUP_BYTES


def read_prompt(body: Mapping[str, Any], masker: Masker) -> Prompt:
    """Cut a request's body and key it.

    Raises:
        promptcache.errors.MalformedRequestError: the body is not one of the known shapes.
    """
    segments = cut_request(body)
    head, turn = _head_length(segments), _turn_start(segments)
    keys = tuple(
        [
            hash((segment.kind, masker.key(segment.text, _budget(index, head, turn))))
            for index, segment in enumerate(segments)
        ]
    )
    texts = [segment.text for segment in segments[head:]]
    return Prompt(
        segments,
        _chain([hash((segment.place, segment.text, segment.extra)) for segment in segments]),
        _chain(keys),
        keys,
        tuple([hash(text) for text in texts if len(text) >= TRIVIAL_CHARS]),
        (0, *accumulate([_weight(segment) for segment in segments])),
        head,
        turn,
        {key: value for key, value in body.items() if key not in _CONTENT_KEYS},
    )


def share_texts(prompt: Prompt, known: Prompt) -> Prompt:
    """The prompt with the leading segments it has in common with a known one being that one's own.

    Thousands of requests that repeat an instruction then keep it once, two texts that are one object are
    equal without being read, and what has been measured of one is not measured again.
    """
    depth = 0
    for one, other in zip(known.segments, prompt.segments, strict=False):
        if one.text != other.text or one != other:
            break
        depth += 1
    if not depth:
        return prompt
    segments = known.segments[:depth] + prompt.segments[depth:]
    return Prompt(
        segments,
        prompt.exact,
        prompt.masked,
        prompt.keys,
        prompt.messages,
        prompt.offsets,
        prompt.head,
        prompt.turn,
        prompt.parameters,
        extents_of(known)[:depth] + tuple([segment_extent(own) for own in prompt.segments[depth:]]),
    )


def _budget(index: int, head: int, turn: int) -> tuple[int, int]:
    """How much of a segment is masked. The newest turn is new anyway, volatile or not."""
    if index >= turn:
        return UNMASKED
    return HEAD_BUDGET if index <= head else MESSAGE_BUDGET


def _weight(segment: Segment) -> int:
    """Bytes a segment stands for. Every message costs a few tokens of markup that no body shows."""
    return byte_length(segment.text) + (_MARKUP_BYTES if segment.kind == "message" else 0)


def byte_length(text: str) -> int:
    """Length of a text in UTF-8, without encoding it where it is ASCII."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


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


def _chain(keys: Iterable[int]) -> tuple[int, ...]:
    chain, previous = [0], 0
    for own in keys:
        previous = hash((previous, own))
        chain.append(previous)
    return tuple(chain)


def extents_of(prompt: Prompt) -> tuple[Extent, ...]:
    """Tokens of each segment as a whole."""
    return prompt.extents or tuple([segment_extent(segment) for segment in prompt.segments])
