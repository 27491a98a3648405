"""Tile sizes: a small table by kind of device and head size, instead of trying at run time.

The split of decode attention is the same everywhere: results depend on it.
"""

from dataclasses import dataclass

from promptcache_engine.kernels.triton.launch import Options, Target

SPLIT = 256
"""Keys a program of decode attention reads; fixed, so that a row's sums do not depend on its batch."""

GATHERED = 8
"""Splits whose sums are loaded together when they are merged."""


@dataclass(frozen=True)
class AttentionTiles:
    """Rows of query heads and keys of one tile, and how the kernel is compiled."""

    rows: int
    keys: int
    options: Options


def extend_tiles(target: Target, padded: int, item_size: int, coded: int) -> AttentionTiles:
    """For rows of many tokens.

    Args:
        target: where the kernel runs.
        padded: the power of two that holds a head.
        item_size: bytes of a query's value.
        coded: how pages are coded.
    """
    if target.kind == "cpu":
        return AttentionTiles(16, 16, Options())
    if item_size == 4:
        return _exact_tiles(padded, 8 if padded <= 128 else 4)
    if target.kind == "hip":
        return AttentionTiles(
            128 if padded <= 128 and not coded else 64, 64 if padded <= 128 else 32, Options(4)
        )
    if padded > 128:
        return AttentionTiles(64, 32 if target.arch >= 90 or not coded else 16, Options(8, 2))
    if padded <= 64 and target.arch >= 100 and not coded:
        return AttentionTiles(128, 32, Options(8, 3))
    if padded <= 64 or target.arch >= 90:
        return AttentionTiles(128, 64, Options(8, 2 if coded else 3))
    return AttentionTiles(64 if coded else 128, 32, Options(8, 2 if coded else 3))


def decode_tiles(target: Target, padded: int, item_size: int, coded: int) -> AttentionTiles:
    """For the rows of one token; products take at least 16."""
    if target.kind == "cpu":
        return AttentionTiles(16, 16, Options())
    if item_size == 4:
        return _exact_tiles(padded, 8 if padded <= 128 else 4)
    keys = 64 if padded <= 128 else 32
    if target.kind == "hip":
        return AttentionTiles(16, 32 if coded and padded > 64 else keys, Options(4))
    if coded:
        return AttentionTiles(16, keys, Options(8 if padded <= 128 else 4, 2))
    return AttentionTiles(16, keys, Options(4, 3))


def deterministic_tiles(target: Target, padded: int, item_size: int, coded: int) -> AttentionTiles:
    """For both kernels alike: a row's products then come from the same instructions in either.

    Extend attention holds two states of a tile here, the running one and a split's, so tiles are smaller.
    """
    if target.kind == "cpu":
        return AttentionTiles(16, 16, Options())
    if item_size == 4:
        return _exact_tiles(padded, 8)
    if padded > 128:
        return AttentionTiles(32, 16, Options(4 if target.kind == "hip" else 8, 1 if coded else 2))
    return AttentionTiles(64, 32, Options(4 if target.kind == "hip" else 8, 1 if target.kind == "hip" else 2))


def _exact_tiles(padded: int, warps: int) -> AttentionTiles:
    """For float32, whose products take no matrix units."""
    return AttentionTiles(16, 32 if padded <= 64 else 16, Options(warps))
