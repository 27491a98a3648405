"""How many tokens a stretch of a prompt can have: at least so many, at most so many.

How many bytes make a token depends on the tokenizer, the language and the kind of text: four or five of
English, one of a digit, three of a Chinese character. No single ratio is right, so a stretch is bounded: a
tokenizer seldom joins words and makes no token of less than a byte. Pictures, files and hidden thoughts
have tokens that their bytes say nothing of.
"""

from __future__ import annotations

import math
import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache.quick_values import quick

if TYPE_CHECKING:
    from promptcache.segments import Segment

_BYTES_A_TOKEN = 16  # of text without spaces; a longer token is a row of dashes
_WORD_TOKENS = 0.9  # least tokens of a word
_WIDE_TOKENS = 0.4  # least tokens of a character that takes three or four bytes
_LETTER_TOKENS = 0.75  # most tokens of a letter: random letters, as in base64
_RETOLD = 0.5  # providers retell tools in their own form, which is shorter than the JSON
_MARKUP_TOKENS = 10  # around a message, at most
_MARKUP_USUAL = 3.0  # and as a rule, beside the role
_PICTURE_TOKENS = 1_000  # what a picture counts for where only a guess is wanted

# What texts have as a rule, in the tokenizers of the common models: words one token and long ones more,
# digits two to three in one, nearly every mark its own, a Chinese character nearly one, a Cyrillic letter a
# half, two bytes of random letters one. Made to charge by, so rather too few than too many.
_LETTERS_A_TOKEN = 4.8
_DIGITS_A_TOKEN = 2.0
_MARK_TOKENS = 0.7
_WIDE_USUAL = 0.9
_ACCENTED_USUAL = 0.5
_RANDOM_TOKENS = 0.5  # of a byte of hexadecimal or base64
_RANDOM_BYTES = 64

_LETTERS = string.ascii_letters.encode()
_DIGITS = string.digits.encode()
_NARROW = bytes(range(0xE0))
_PLAIN = bytes(range(0x80))
_ACCENTED = bytes(range(0xC0, 0xE0))
_OPAQUE = re.compile(
    r'"type":"(?:[a-z_]*(?:image|audio|video|file|document|container|reference)'
    r"|thinking|redacted_thinking|reasoning|compaction)"
)

OPENING_TOKENS = 16
"""Of the answer's opening, at most."""


@quick
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
        """Both at once. Of two that contradict each other either may be right."""
        least, most = max(self.least, other.least), min(self.most, other.most)
        if least <= most:
            return Extent(least, most)
        return Extent(min(self.least, other.least), max(self.most, other.most))

    def lies_in(self, other: Extent) -> bool:
        """Whether another says nothing more."""
        return other.least <= self.least and self.most <= other.most

    @property
    def agrees(self) -> bool:
        """Whether it is narrow enough to count as one number."""
        return self.most - self.least <= OPENING_TOKENS


_ANY = (0.0, math.inf)


def exactly(tokens: int) -> Extent:
    """A number that is known."""
    return Extent(tokens, tokens)


def usual_tokens(segment: Segment, end: int | None = None) -> float:
    """Tokens that a segment's kind of text has as a rule, up to one of its bytes; None: with its markup."""
    if is_opaque(segment):
        return _PICTURE_TOKENS
    data = segment.text.encode("utf-8", "surrogatepass")
    if end is not None:
        return usual_of_text(data[:end])
    return usual_of_text(data) + (_MARKUP_USUAL if segment.kind == "message" else 0.0)


def usual_of_text(data: bytes) -> float:
    """The tokens that a text in UTF-8 has as a rule."""
    size, spaces = len(data), data.count(b" ")
    letters, digits = size - len(data.translate(None, _LETTERS)), size - len(data.translate(None, _DIGITS))
    words = max(spaces - 2 * data.count(b"  "), 0)
    foreign = b"" if data.isascii() else data.translate(None, _PLAIN)
    marks = size - letters - digits - spaces - len(foreign)
    if size >= _RANDOM_BYTES and max((spaces + data.count(b"\n")) * 30, marks * 10, len(foreign) * 10) < size:
        return size * _RANDOM_TOKENS
    usual = max(float(words), letters / _LETTERS_A_TOKEN) + digits / _DIGITS_A_TOKEN + marks * _MARK_TOKENS
    if not foreign:
        return usual
    wide = len(foreign.translate(None, _NARROW))
    accented = len(foreign) - len(foreign.translate(None, _ACCENTED))
    return usual + wide * _WIDE_USUAL + accented * _ACCENTED_USUAL


def is_opaque(segment: Segment) -> bool:
    """Whether a segment's bytes say nothing of its tokens."""
    return segment.text.startswith(("{", "["), segment.head) and _OPAQUE.search(segment.text) is not None


def segment_extent(segment: Segment, start: int = 0, end: int | None = None) -> Extent:
    """Tokens of a segment from one of its bytes to another; ``end`` None: with the markup that closes it."""
    return Extent(*segment_bounds(segment, start, end))


def segment_bounds(segment: Segment, start: int = 0, end: int | None = None) -> tuple[float, float]:
    """The least and the most of `segment_extent`: every request's newest turn asks for them."""
    if is_opaque(segment):
        return _ANY
    data = segment.text.encode("utf-8", "surrogatepass")
    least, most = _text_bounds(data if not start and end is None else data[start:end])
    kind = segment.kind
    if kind == "message":
        return (least, most) if end is not None else (least, most + _MARKUP_TOKENS + len(segment.extra))
    return (least * _RETOLD, most) if kind == "tool" else (least, most)


def text_extent(data: bytes) -> Extent:
    """Tokens of a text in UTF-8."""
    return Extent(*_text_bounds(data))


def _text_bounds(data: bytes) -> tuple[float, float]:
    if not data:
        return (0.0, 0.0)
    size, spaces = len(data), data.count(b" ")
    words = spaces - 2 * data.count(b"  ")  # of a row of spaces one counts, or none
    others = len(data.translate(None, _LETTERS))
    least = max(words * _WORD_TOKENS, (size - spaces) / _BYTES_A_TOKEN)
    if not data.isascii():
        least = max(least, len(data.translate(None, _NARROW)) * _WIDE_TOKENS)
    letters = size - others
    # Between digits and marks, as in hexadecimal, a letter stands alone.
    alone = min(letters, others - spaces)
    most = others + letters * _LETTER_TOKENS + alone * (1.0 - _LETTER_TOKENS) + 1
    return (least - 1 if least > 1 else 0.0, most)
