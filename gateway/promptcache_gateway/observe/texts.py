"""Where two texts agree: common prefix, suffix or both, without a Python step for each character."""

from __future__ import annotations

_STRIDE = 4_096
_AT_ONCE = 64  # characters


def common_prefix(one: str, other: str) -> int:
    """Number of leading characters two texts share.

    >>> common_prefix("page one", "page two")
    5
    """
    limit = min(len(one), len(other))
    at = 0
    while at < limit and one[at : at + _STRIDE] == other[at : at + _STRIDE]:
        at += _STRIDE
    if at >= limit:
        return limit
    low, high = at, min(at + _STRIDE, limit)
    while high - low > _AT_ONCE:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low + _alike(one[low:high], other[low:high])


def _alike(one: str, other: str) -> int:
    """The same of two short texts of one length: as numbers, the highest bit in which they differ tells."""
    if one.isascii() and other.isascii():
        unlike = int.from_bytes(one.encode(), "big") ^ int.from_bytes(other.encode(), "big")
        return len(one) - (unlike.bit_length() + 7) // 8
    wide = "utf-32-be", "surrogatepass"
    unlike = int.from_bytes(one.encode(*wide), "big") ^ int.from_bytes(other.encode(*wide), "big")
    return len(one) - (unlike.bit_length() + 31) // 32


def common_suffix(one: str, other: str, *, limit: int) -> int:
    """Number of trailing characters two texts share, at most ``limit``.

    >>> common_suffix("page one", "line one", limit=8)
    5
    """
    low, high = 0, min(len(one), len(other), limit)
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle :] == other[len(other) - middle :]:
            low = middle
        else:
            high = middle - 1
    return low


def shared_ends(one: str, other: str) -> tuple[int, int]:
    """Characters that two texts share at their beginning, and at their end without counting any twice.

    >>> shared_ends("all of page one", "all of line one"), shared_ends("aa", "aaa")
    ((7, 5), (2, 0))
    """
    start = common_prefix(one, other)
    return start, common_suffix(one, other, limit=min(len(one), len(other)) - start)
