"""Token ids as packed bytes, so that a run of a thousand tokens is compared by one ``memcmp``.

An extra key (an image's content hash over its placeholder tokens) is laid into the packed form: the covered
positions get numbers of their own, below zero, interned per (key, length, tokens). So two prompts are equal
in packed form exactly when their tokens and their extra keys are; nothing is hashed, nothing can collide.
"""

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from promptcache_engine.cache.errors import InvalidTokensError

UNIT = 4
"""Bytes a packed token takes."""

Tokens = Sequence[int] | npt.NDArray[Any]
ExtraKey = tuple[int, int, str | bytes]
"""(position, length, key): tokens ``position .. position + length`` stand for the thing ``key``
identifies."""

_LOWEST = -(2**31)
_EXTRA_REMEDY = "Pass tuples of two whole numbers and a str or bytes."


class TokenCodec:
    """Packs token ids and remembers which numbers below zero stand for which extra key."""

    def __init__(self) -> None:
        self._bases: dict[tuple[str | bytes, int, bytes], int] = {}
        self._spans: dict[int, tuple[str | bytes, int, bytes]] = {}
        self._starts: list[int] = []  # every interned base, ascending
        self._next = _LOWEST

    @property
    def has_extras(self) -> bool:
        """Whether any extra key is remembered."""
        return bool(self._bases)

    @property
    def num_extras(self) -> int:
        """How many extra keys are remembered."""
        return len(self._bases)

    def encode(self, tokens: Tokens, extra_keys: Iterable[ExtraKey] = ()) -> bytes:
        """Pack ``tokens`` (ids from 0 to 2**31 - 1), with ``extra_keys`` laid over them.

        Raises InvalidTokensError for what is not a token id, and for an extra key outside the tokens,
        overlapping another, or of no length.
        """
        packed = _pack(tokens)
        if not extra_keys:
            return packed
        if not isinstance(extra_keys, Iterable):
            raise InvalidTokensError(f"extra_keys={extra_keys!r} cannot be used.", remedy=_EXTRA_REMEDY)
        spans = sorted(map(_checked, extra_keys), key=lambda extra: extra[:2])
        return self._overlay(packed, spans) if spans else packed

    def strip(self, packed: bytes) -> bytes:
        """Return ``packed`` with the caller's token ids where extra keys lie."""
        if not self._bases:
            return packed
        ids = np.frombuffer(packed, dtype=np.int32).copy()
        for at in np.flatnonzero(ids < 0).tolist():
            ids[at] = self._original(int(ids[at]))
        return ids.tobytes()

    def extras_in(self, packed: bytes) -> list[tuple[int, int, str | bytes, int]]:
        """Return (offset, offset in the span, key, span length) of every extra key that touches
        ``packed``."""
        found: list[tuple[int, int, str | bytes, int]] = []
        following = 0
        for offset, token in enumerate(np.frombuffer(packed, dtype=np.int32).tolist()):
            if token < 0 and (token != following or token in self._spans):
                base = self._base(token)
                key, length, _ = self._spans[base]
                found.append((offset, token - base, key, length))
            following = token + 1
        return found

    def keep_only(self, runs: Iterable[bytes]) -> None:
        """Forget every extra key of which no packed run holds a position."""
        live: set[int] = set()
        for run in runs:
            ids = np.frombuffer(run, dtype=np.int32)
            negative = ids[ids < 0]
            if negative.size:
                index = np.searchsorted(np.array(self._starts), negative, side="right") - 1
                live.update(self._starts[i] for i in np.unique(index).tolist())
        self._starts = sorted(live)
        self._spans = {base: self._spans[base] for base in self._starts}
        self._bases = {span: base for base, span in self._spans.items()}

    def _overlay(self, packed: bytes, spans: list[ExtraKey]) -> bytes:
        ids = np.frombuffer(packed, dtype=np.int32).copy()
        end = 0
        for position, length, key in spans:
            if position < end or length < 1 or position + length > len(ids):
                raise InvalidTokensError(
                    f"the extra key at position {position} with length {length} does not fit.",
                    remedy=f"Keys must not overlap, and must lie within the {len(ids)} tokens.",
                )
            end = position + length
            base = self._intern((key, length, packed[position * UNIT : end * UNIT]))
            ids[position:end] = np.arange(base, base + length, dtype=np.int32)
        return ids.tobytes()

    def _intern(self, span: tuple[str | bytes, int, bytes]) -> int:
        base = self._bases.get(span)
        if base is None:
            base = self._free_range(span[1])
            self._bases[span] = base
            self._spans[base] = span
            self._starts.insert(bisect_right(self._starts, base), base)
        return base

    def _free_range(self, length: int) -> int:
        if self._next + length <= 0:
            base, self._next = self._next, self._next + length
            return base
        edge = _LOWEST
        for start in self._starts:
            if start - edge >= length:
                return edge
            edge = start + self._spans[start][1]
        raise InvalidTokensError("no room for another extra key.", remedy="Reset the cache.")

    def _base(self, token: int) -> int:
        return self._starts[bisect_right(self._starts, token) - 1]

    def _original(self, token: int) -> int:
        base = self._base(token)
        at = (token - base) * UNIT
        return int.from_bytes(self._spans[base][2][at : at + UNIT], "little")


def _checked(extra: ExtraKey) -> ExtraKey:
    """An extra key, if it is one."""
    whole = isinstance(extra, tuple) and len(extra) == 3 and all(_is_whole(part) for part in extra[:2])
    if not whole or not isinstance(extra[2], str | bytes) or extra[0] < 0:
        raise InvalidTokensError("an extra key is a position, a length and a key.", remedy=_EXTRA_REMEDY)
    return extra


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pack(tokens: Tokens) -> bytes:
    try:
        if isinstance(tokens, list):
            numbers = array("I")
            numbers.fromlist(tokens)  # the fastest way from a list to bytes
            packed = numbers.tobytes()
        elif isinstance(tokens, np.ndarray):
            packed = _pack_array(tokens)
        elif isinstance(tokens, array) and tokens.itemsize == UNIT and tokens.typecode in "iIlL":
            packed = tokens.tobytes()
        else:
            packed = struct.pack(f"{len(tokens)}I", *tokens)
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise InvalidTokensError(
            f"tokens must be whole numbers from 0 to 2**31 - 1 ({error}).", remedy="Pass the tokenizer's ids."
        ) from error
    if not packed[UNIT - 1 :: UNIT].isascii():  # the highest byte of an id is below 128
        raise InvalidTokensError(
            "a token id is not within 0 to 2**31 - 1.", remedy="Pass the tokenizer's ids."
        )
    return packed


def _pack_array(tokens: npt.NDArray[Any]) -> bytes:
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise ValueError(f"an array of shape {tokens.shape} and type {tokens.dtype}")
    if tokens.dtype == np.int32:
        return tokens.tobytes()
    if tokens.dtype.itemsize >= UNIT and tokens.size and not 0 <= tokens.min() <= tokens.max() < 2**31:
        raise OverflowError("an id below zero, or of 2**31 or more")
    return tokens.astype(np.int32).tobytes()


def shared_bytes(left: bytes, right: bytes) -> int:
    """Return the length in bytes, whole tokens only, of what two packed runs have in common at their
    start."""
    if left[:UNIT] != right[:UNIT]:
        return 0
    low, high = 0, min(len(left), len(right))
    while high - low > 512:  # halve while memcmp is cheaper than arithmetic
        middle = low + ((high - low) // (2 * UNIT)) * UNIT
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    differing = int.from_bytes(left[low:high], "little") ^ int.from_bytes(right[low:high], "little")
    if not differing:
        return high
    return low + ((differing & -differing).bit_length() - 1) // (8 * UNIT) * UNIT
