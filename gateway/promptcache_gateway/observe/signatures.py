"""What a head (tools and instructions) looks like from afar: digests by which similar heads are found.

A head is looked at as a row of words, with volatile values masked: runs of letters and digits, single
characters of scripts that put no space between words, single marks. What is compared are all runs of four
of them, so that neither line breaks nor a value somewhere matters. Two heads are *alike* when nearly half of
the runs of both together are in both (some 62 in 100 of each are the other's, wherever they stand), or when
they end with the same words for longer than any footer. They are *akin* when they only begin or end with the
same words: agents with one footer are, and so is one agent with other documents each time; of a few words a
fifth is enough. What tells those apart is what they say of themselves (`faces`), and time (`lodgers`). A tool
counts by its name, so that an edited schema or another key order makes no other template; heads with no tool
in common are not compared.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from promptcache_gateway.observe.masking import stable_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker

_LOOKED_AT = 12_000  # characters at the beginning of a head: enough to know it again
_END_LOOKED_AT = 8_192  # and at its end
_RUN = 4  # words
_KEPT = 96  # digests kept: the smallest, so that the same runs are kept of similar heads
_KEPT_TOOLS = 48
_MOST_WORDS = 6_000
_ENDS = (24, 48, 96, 192, 384, 768)  # words that a common beginning or end must have
ALIKE = 0.45
AKIN = 0.2
NEAR = 0.8
_NO_FOOTER = 768  # words
_NEVER = 1 << 30
SHORT = 32  # runs; of a longer head, phrases that everybody uses may be a fifth
_MORE = 32  # runs that are in one of two short heads: a name that stands there twice makes fewer
_WORD = re.compile(r"[0-9A-Za-z_\u00aa-\u0dff\u1e00-\u1fff]+|[^\s0-9A-Za-z_]")
"""Thai and all behind it (South-East and East Asian scripts, marks) is taken character by character."""
_TOOL_NAME = re.compile(r'"name":"([^"\\]{1,200})"')
_MASK = (1 << 64) - 1
_MARKS = 1 << 42
_LINE = 2
_OF_TOOLS = 1 << 48
"""Digests below are tools': so few that they are kept, whatever else a head says."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A head's digests.

    Attributes:
        key: of the head as a whole.
        openings: first what it says of itself, which are numbers below any other's; then of its end, then of
            its beginning, each shortest first: the later says more. That of an end that is longer than any
            footer is odd, all others are even.
        chunks: a bounded sample of its runs of words, and its tools, ascending.
    """

    key: int
    openings: tuple[int, ...]
    chunks: tuple[int, ...]

    @property
    def ends(self) -> tuple[int, ...]:
        """The digests of its end and its beginning."""
        return tuple([opening for opening in self.openings if opening >= _MARKS])

    @property
    def persona(self) -> int:
        """Who it says is to answer; 0 where it does not say so."""
        return next((one for one in self.openings if one < _MARKS and not one & _LINE), 0)

    @property
    def line(self) -> int:
        """Its first line; 0 where that is no short line."""
        return next((one for one in self.openings if one < _MARKS and one & _LINE), 0)

    @property
    def long_end(self) -> int | None:
        """The digest of its end, where that is longer than any footer."""
        return next((opening for opening in self.openings if opening & 1), None)

    def reach(self, other: Signature, shared: int) -> float:
        """What their likeness is at most where so many digests are the same: at the price of no set."""
        return shared / (min(len(self.chunks) + len(other.chunks) - shared, _KEPT) or 1)

    def is_like(self, other: Signature) -> bool:
        """Whether most of both is the same, judged on the smallest digests of both together."""
        return self.likeness(other) >= ALIKE

    def is_near(self, other: Signature) -> bool:
        """Whether all of both is the same but for a value or a sentence."""
        return self.likeness(other) >= NEAR

    def says_other(self, other: Signature) -> bool:
        """Whether what both say differs by more than values and a sentence, whatever their tools are."""
        tools = max(len(tools_of(self)), len(tools_of(other)))
        mine, theirs = _said(self, tools), _said(other, tools)
        if not (mine.chunks and theirs.chunks) or mine.is_near(theirs):
            return False
        whole = max(len(mine.chunks), len(theirs.chunks)) < _KEPT - tools
        return not whole or len(set(mine.chunks) ^ set(theirs.chunks)) >= _MORE

    def is_another(self, other: Signature) -> bool:
        """Whether both say that somebody else answers, or each has tools that the other lacks."""
        mine, theirs = tools_of(self), tools_of(other)
        return self.persona != other.persona or bool(mine - theirs and theirs - mine)

    def is_akin(self, other: Signature) -> bool:
        """Whether enough of two short ones is the same for it to be no coincidence."""
        return max(len(self.chunks), len(other.chunks)) <= SHORT and self.likeness(other) >= AKIN

    def likeness(self, other: Signature) -> float:
        """The share of digests that are in both, of the smallest of both together."""
        mine, theirs = set(self.chunks), set(other.chunks)
        sample = sorted(mine | theirs)[:_KEPT]
        if not sample:
            return 0.0
        return sum(digest in mine and digest in theirs for digest in sample) / len(sample)


def sign(key: int, head: Sequence[Segment], masker: Masker, marks: Sequence[int] = ()) -> Signature:
    """The signature of a head whose own key is known; ``marks``: what it says of itself."""
    instructions = [segment.text for segment in head if segment.kind != "tool"]
    tools = [_tool_digest(segment.text) for segment in head if segment.kind == "tool"]
    words = words_of("\n".join(masker.masked(text, _LOOKED_AT) for text in instructions)[:_LOOKED_AT])
    last = (
        words
        if sum(map(len, instructions)) < _LOOKED_AT - len(instructions)
        else _last_words(instructions, masker)
    )
    openings = (*filter(None, marks), *_known_by(last[::-1], b"end", _NO_FOOTER), *_known_by(words, b""))
    return Signature(
        key, openings, tuple(sorted(set(tools))[:_KEPT_TOOLS] + _smallest(runs_of(words), len(tools)))
    )


def persona_mark(said: str) -> int:
    """The number among a head's openings for who it says is to answer; 0 where it says nothing."""
    return stable_digest(said) % (_MARKS >> 2) << 2 if said else 0


def line_mark(line: str) -> int:
    """The number among a head's openings for its first line; 0 for none."""
    return persona_mark(line) | _LINE if line else 0


def digest_of(parts: Iterable[Iterable[int]]) -> int:
    """One 64-bit number for lists of such numbers, the same in every process."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(b"".join(number.to_bytes(8, "big") for number in part))
        digest.update(b"/")
    return int.from_bytes(digest.digest(), "big")


def words_of(text: str) -> list[str]:
    """The words of a text; of a script without spaces, its signs."""
    return _WORD.findall(text)[:_MOST_WORDS]


def _last_words(instructions: Sequence[str], masker: Masker) -> list[str]:
    end = "\n".join(instructions)[-_END_LOOKED_AT:]
    return words_of(masker.masked(end, len(end)))


def runs_of(words: Sequence[str]) -> set[int]:
    """A 64-bit number for each run of words, the same in every process; of few words one for all of them."""
    known = {word: crc32(word.encode("utf-8", "surrogatepass")) for word in set(words)}
    numbers = [known[word] for word in words]
    if 0 < len(numbers) < _RUN:
        numbers += [0] * (_RUN - len(numbers))
    rows = zip(numbers, numbers[1:], numbers[2:], numbers[3:], strict=False)
    # Of numbers, not of texts, a hash is no secret of the process's.
    return {found & _MASK | _OF_TOOLS for found in set(map(hash, rows))}


def _smallest(runs: set[int], tools: int) -> list[int]:
    return sorted(runs)[: _KEPT - min(tools, _KEPT_TOOLS)]


def _known_by(words: Sequence[str], kind: bytes, odd_from: int = _NEVER) -> list[int]:
    """A digest of the first words at each length that they reach."""
    digest, known, done = hashlib.blake2b(kind, digest_size=8), [], 0
    for length in _ENDS:
        if len(words) < length:
            break
        digest.update("\n".join([*words[done:length], ""]).encode("utf-8", "surrogatepass"))
        known.append(int.from_bytes(digest.digest(), "big") & ~1 | (length >= odd_from))
        done = length
    return known


def tools_of(signature: Signature) -> frozenset[int]:
    """The digests of a head's tools."""
    return frozenset([digest for digest in signature.chunks[:_KEPT_TOOLS] if digest < _OF_TOOLS])


def _said(signature: Signature, tools: int) -> Signature:
    """A head without its tools, as if it had had so many."""
    runs = [digest for digest in signature.chunks if digest >= _OF_TOOLS]
    return Signature(signature.key, signature.openings, tuple(runs[: _KEPT - tools]))


def _tool_digest(text: str) -> int:
    found = _TOOL_NAME.search(text)
    return stable_digest(f"tool {found.group(1) if found else text}") >> 16
