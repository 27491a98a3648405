"""What a head (tools and instructions) looks like from afar: digests by which similar heads are found.

Two heads are alike when they begin with the same lines, up to a length that is no coincidence, when they end
with the same lines, of more length (documents or a profile stand before the instructions then), or when most
of their lines are the same. Lines are digested with volatile values masked; a tool counts by its
name, so that an edited schema or another key order does not make another template.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_gateway.observe.masking import stable_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptcache.segments import Segment
    from promptcache_gateway.observe.masking import Masker

_MIN_CHUNK = 12  # a shorter line ("## Tools") says nothing
_LOOKED_AT = 12_000  # characters of a head: enough to know it again
_KEPT = 96  # digests kept: the smallest, so that the same lines are kept of similar heads
_OPENINGS = (256, 512, 1_024, 2_048, 4_096)  # characters a common beginning must have
_ENDINGS = (1_024, 2_048, 4_096)  # and a common end
_ALIKE = 0.4  # of the lines of both together: some 57 in 100 of each are the other's
_SENTENCE_ENDS = (". ", "! ", "? ", "; ", "\u3002", "\uff01", "\uff1f", "\uff1b")
_MARKS = "".join(end[0] for end in _SENTENCE_ENDS)
_TOOL_NAME = re.compile(r'"name":"([^"\\]{1,200})"')


@dataclass(frozen=True, slots=True)
class Signature:
    """A head's digests.

    Attributes:
        key: of the head as a whole.
        openings: of its end, then of its beginning, each shortest first: the later says more.
        chunks: a bounded sample of its lines, ascending.
    """

    key: int
    openings: tuple[int, ...]
    chunks: tuple[int, ...]

    def may_be_like(self, other: Signature, shared: int) -> bool:
        """Whether `is_like` can be true at all where so many digests are the same: at the price of no set."""
        together = len(self.chunks) + len(other.chunks) - shared
        return shared >= min(together, _KEPT) * _ALIKE

    def is_like(self, other: Signature) -> bool:
        """Whether most lines are the same, judged on the smallest digests of both together."""
        mine, theirs = set(self.chunks), set(other.chunks)
        sample = sorted(mine | theirs)[:_KEPT]
        if not sample:
            return False
        return sum(digest in mine and digest in theirs for digest in sample) >= len(sample) * _ALIKE


def sign(key: int, head: Sequence[Segment], masker: Masker) -> Signature:
    """The signature of a head whose own key is known."""
    instructions = [segment.text for segment in head if segment.kind != "tool"]
    masked = _lines("\n".join(masker.masked(text, _LOOKED_AT) for text in instructions)[:_LOOKED_AT])
    end = "\n".join(instructions)[-_ENDINGS[-1] * 2 :]
    # Where a long text is cut in pieces depends on what stands before; it costs sentences their marks.
    ending = [line.rstrip(_MARKS) for line in reversed(_lines(masker.masked(end, len(end))))]
    tools = [_tool_name(segment.text) for segment in head if segment.kind == "tool"]
    digests = {stable_digest(chunk) for chunk in [*masked, *tools]}
    openings = (*_known_by(ending, _ENDINGS, b"end"), *_known_by(masked, _OPENINGS, b""))
    return Signature(key, openings, tuple(sorted(digests)[:_KEPT]))


def digest_of(parts: Iterable[Iterable[int]]) -> int:
    """One 64-bit number for lists of such numbers, the same in every process."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(b"".join(number.to_bytes(8, "big") for number in part))
        digest.update(b"/")
    return int.from_bytes(digest.digest(), "big")


def _lines(text: str) -> list[str]:
    for end in _SENTENCE_ENDS:
        text = text.replace(end, end[0] + "\n")
    parts = (part.strip() for part in text.split("\n"))
    return [" ".join(part.split()) for part in parts if len(part) >= _MIN_CHUNK]


def _known_by(masked: Sequence[str], lengths: Sequence[int], kind: bytes) -> list[int]:
    """A digest of the first lines at each of ``lengths`` in characters, taken at the end of a line."""
    openings: list[int] = []
    digest, length = hashlib.blake2b(kind, digest_size=8), 0
    wanted = iter(lengths)
    target = next(wanted, None)
    for chunk in masked:
        if target is None:
            break
        digest.update(chunk.encode("utf-8", "surrogatepass") + b"\n")
        length += len(chunk)
        if length >= target:
            openings.append(int.from_bytes(digest.digest(), "big"))
            target = next((size for size in wanted if size > length), None)
    return openings


def _tool_name(text: str) -> str:
    found = _TOOL_NAME.search(text)
    return f"tool {found.group(1) if found else text}"
