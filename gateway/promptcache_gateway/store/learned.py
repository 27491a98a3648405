"""A learned template as the database keeps it: digests, packed into bytes. What they mean is `observe`'s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """One learned template.

    Attributes:
        tenant: whose it is.
        name: what it is called.
        key: 64-bit digest of its first head.
        openings: 64-bit digests of the head's beginning.
        chunks: 64-bit digests of a sample of its lines.
    """

    tenant: str
    name: str
    key: int
    openings: tuple[int, ...]
    chunks: tuple[int, ...]

    def packed(self) -> dict[str, Any]:
        """The row's columns. The key is text: SQLite's integers are signed."""
        return {
            "tenant": self.tenant,
            "name": self.name,
            "key": f"{self.key:016x}",
            "openings": _pack(self.openings),
            "chunks": _pack(self.chunks),
        }

    @classmethod
    def unpacked(cls, row: Mapping[str, Any]) -> LearnedRow:
        """The inverse of `packed`."""
        key = int(row["key"], 16)
        return cls(row["tenant"], row["name"], key, _unpack(row["openings"]), _unpack(row["chunks"]))


def _pack(digests: Sequence[int]) -> bytes:
    return b"".join(digest.to_bytes(_DIGEST_BYTES, "big") for digest in digests)


def _unpack(data: bytes) -> tuple[int, ...]:
    pieces = range(0, len(data), _DIGEST_BYTES)
    return tuple(int.from_bytes(data[at : at + _DIGEST_BYTES], "big") for at in pieces)
