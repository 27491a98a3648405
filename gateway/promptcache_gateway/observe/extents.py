"""How many tokens a stretch of a prompt can have: at least so many, at most so many.

How many bytes make a token depends on the tokenizer, the language and the kind of text: four or five of
English, one of a digit, three of a Chinese character. No single ratio is right, so a stretch is bounded: a
tokenizer joins no words and makes no token of less than a byte. Pictures, files and hidden thoughts have
tokens that their bytes say nothing of.
"""

from __future__ import annotations

import math
import re
import string
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache_gateway.observe.prompt import Prompt

_BYTES_A_TOKEN = 16  # of text without spaces; a longer token is a row of dashes
_WORD_TOKENS = 0.9  # least tokens of a word: tokenizers seldom join two
_WIDE_TOKENS = 0.4  # least tokens of a character that takes three or four bytes
_LETTER_TOKENS = 0.75  # most tokens of a letter: random letters, as in base64
_RETOLD = 0.5  # providers retell tools in their own form, which is shorter than the JSON
_MARKUP_TOKENS = 10  # around a message, at most
_OPENING_TOKENS = 16  # of the answer's opening, at most
_NOMINAL_BYTES = 4_000  # what a picture counts for where only a guess is wanted

_LETTERS = string.ascii_letters.encode()
_BLANKS = b" \t\n\r"
_NARROW = bytes(range(0xE0))
_OPAQUE = re.compile(
    r'"type":"(?:[a-z_]*(?:image|audio|video|file|document|container|reference)'
    r"|thinking|redacted_thinking|reasoning|compaction)"
)


@dataclass(frozen=True, slots=True)
class Extent:
    """A number of tokens that is only known to lie between two others, both included."""

    least: float
    most: float

    def __add__(self, other: Extent) -> Extent:
        return Extent(self.least + other.least, self.most + other.most)

    def __sub__(self, other: Extent) -> Extent:
        """What is left where ``other`` is taken away; ``other``'s most may be infinite."""
        return Extent(max(0.0, self.least - other.most), max(0.0, self.most - other.least))

    def within(self, other: Extent) -> Extent:
        """Both at once. Where they contradict each other, the wider claim is none: from least to most."""
        least, most = max(self.least, other.least), min(self.most, other.most)
        return Extent(least, most) if least <= most else Extent(most, least)

    @property
    def agrees(self) -> bool:
        """Whether it is narrow enough to count as one number."""
        return self.most - self.least <= _OPENING_TOKENS


ANY = Extent(0.0, math.inf)
NONE = Extent(0.0, 0.0)


def exactly(tokens: int) -> Extent:
    """A number that is known."""
    return Extent(tokens, tokens)


def stretch(prompt: Prompt, start: int, end: int | None = None) -> Extent:
    """Tokens between two places of a prompt, in its bytes; ``end`` None: with all that closes it."""
    stop = prompt.offsets[-1] if end is None else end
    total = Extent(0.0, _OPENING_TOKENS) if end is None else NONE
    index = max(bisect_right(prompt.offsets, start) - 1, 0)
    while index < len(prompt.segments) and prompt.offsets[index] < stop:
        total += _part(prompt, index, start - prompt.offsets[index], stop - prompt.offsets[index])
        index += 1
    return total


def weigh(prompt: Prompt) -> tuple[int, ...]:
    """A prompt's offsets with pictures at a nominal size: for guesses, where nothing better is known."""
    sizes = [
        _NOMINAL_BYTES if is_opaque(segment) else prompt.offsets[index + 1] - prompt.offsets[index]
        for index, segment in enumerate(prompt.segments)
    ]
    return (0, *accumulate(sizes))


def is_opaque(segment: Segment) -> bool:
    """Whether a segment's bytes say nothing of its tokens."""
    text = segment.text
    return "{" in text[segment.head : segment.head + 2] and _OPAQUE.search(text) is not None


def _part(prompt: Prompt, index: int, start: int, end: int) -> Extent:
    """Tokens of a segment between two of its bytes."""
    segment = prompt.segments[index]
    if is_opaque(segment):
        return ANY
    size = prompt.offsets[index + 1] - prompt.offsets[index]
    data = segment.text.encode("utf-8", "surrogatepass")
    part = data[max(start, 0) : max(end, 0)]
    found = _text_extent(part)
    if segment.kind == "tool":
        found = Extent(found.least * _RETOLD, found.most)
    if segment.kind == "message" and end >= size:
        found += Extent(0.0, _MARKUP_TOKENS + len(segment.extra))
    return found


def _text_extent(data: bytes) -> Extent:
    if not data:
        return NONE
    blanks = len(data) - len(data.translate(None, _BLANKS))
    letters = len(data) - len(data.translate(None, _LETTERS))
    wide = len(data.translate(None, _NARROW))
    solid = len(data) - blanks
    words = len(data.split()) - 1  # the first may be the end of one that began before
    least = max(words * _WORD_TOKENS, wide * _WIDE_TOKENS, solid / _BYTES_A_TOKEN - 1, 0.0)
    most = len(data) - letters * (1 - _LETTER_TOKENS) + 1
    return Extent(least, most)
