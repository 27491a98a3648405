"""Tile sizes: a small table by kind of device and head size, instead of trying at run time.

The split of decode attention is the same everywhere: results depend on it.
"""

from dataclasses import dataclass, replace

from promptcache_engine.kernels.triton.launch import Options, Target

SPLIT = 256
"""Keys a program of decode attention reads; fixed, so that a row's sums do not depend on its batch."""

CHUNK_SPLIT = 512
"""Keys a program reads of a chunk whose keys are divided, where results may depend on chunks."""

LONG, FEW, ROOM = 2048, 128, 256 << 20
"""A chunk's keys are divided where rows see more keys than the first, an undivided launch has fewer programs
than the second (large GPUs have 108 to 304 processors), and the states of all splits fill at most so many
bytes."""

GATHERED = 8
"""Splits whose sums are loaded together when they are merged."""


@dataclass(frozen=True)
class AttentionTiles:
    """Rows of query heads and keys of one tile, and how the kernel is compiled."""

    rows: int
    keys: int
    options: Options


_WIDE = AttentionTiles(32, 32, Options(8, 2, 255))
"""For heads of more than 128 where 64 rows of queries and sums, and what is decoded of coded pages, take more
registers than there are."""


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
        return _exact_tiles(target, padded)
    if target.kind == "hip":
        return AttentionTiles(
            128 if padded <= 128 and not coded else 64, 64 if padded <= 128 else 32, Options(4)
        )
    arch = _products_of(target)
    if padded > 128:
        if coded:
            return _WIDE if arch < 90 else AttentionTiles(64, 16, Options(8, 2))
        return AttentionTiles(64, 32, Options(8, 2))
    if padded <= 64 and arch >= 100 and not coded:
        return AttentionTiles(128, 32, Options(8, 3))
    if coded and padded <= 64 and arch < 90:
        return AttentionTiles(128, 32, Options(8, 2))
    if padded <= 64 or arch >= 90:
        return AttentionTiles(128, 64, Options(8, 2 if coded else 3))
    return AttentionTiles(64, 32, Options(8, 2)) if coded else AttentionTiles(128, 16, Options(8, 3, 255))


def divided_tiles(
    target: Target, padded: int, item_size: int, coded: int, *, deterministic: bool = False
) -> AttentionTiles:
    """For rows of many tokens whose keys are divided: writing states takes more registers than sums.

    With ``deterministic`` the rows and keys of ``deterministic_tiles``.
    """
    choose = deterministic_tiles if deterministic else extend_tiles
    chosen = choose(target, padded, item_size, coded)
    if target.kind != "cuda" or item_size == 4 or (deterministic and chosen.options.registers):
        return chosen
    arch = _products_of(target)
    if not deterministic and arch < 90 and 64 < padded <= 128:
        return AttentionTiles(64, 32, Options(8, chosen.options.stages, 255))
    if not deterministic and padded > 128 and (arch < 90 or (arch < 100 and coded)):
        return _WIDE
    if not deterministic and ((arch < 100 and coded) or (arch < 90 and padded <= 64)):
        return AttentionTiles(128, 32, Options(8, 2, 255))
    return replace(chosen, options=replace(chosen.options, registers=255))


def decode_tiles(target: Target, padded: int, item_size: int, coded: int) -> AttentionTiles:
    """For the rows of one token; products take at least 16."""
    if target.kind == "cpu":
        return AttentionTiles(16, 16, Options())
    if item_size == 4:
        return _exact_tiles(target, padded)
    keys = 64 if padded <= 128 else 32
    if target.kind == "hip":
        return AttentionTiles(16, 32 if coded and padded > 64 else keys, Options(4))
    if coded:
        return AttentionTiles(16, keys, Options(8, 2, None if padded <= 64 else 192))
    return AttentionTiles(
        16, keys, Options(4, 3, 128 if padded <= 64 and _products_of(target) < 90 else None)
    )


def deterministic_tiles(target: Target, padded: int, item_size: int, coded: int) -> AttentionTiles:
    """For both kernels alike: a row's products then come from the same instructions in either.

    Extend attention holds two states of a tile here, the running one and a split's, so tiles are smaller.
    """
    if target.kind == "cpu":
        return AttentionTiles(16, 16, Options())
    if item_size == 4:
        return _exact_tiles(target, padded)
    if target.kind == "hip":
        rows, keys = (32, 16) if padded > 128 else (64, 32)
        return AttentionTiles(rows, keys, Options(4, 1 if coded or padded <= 128 else 2))
    if padded > 128:
        return AttentionTiles(32, 16, Options(8, 1 if coded else 2, 224))
    if coded and _products_of(target) < 90:
        return AttentionTiles(64, 32, Options(8, 1, 255))
    return AttentionTiles(64, 32, Options(8, 2, 224 if coded else None))


def _products_of(target: Target) -> int:
    """The architecture whose matrix products an NVIDIA device computes: those of 12.x are 8.0's."""
    return 80 if target.arch >= 120 else target.arch


def _exact_tiles(target: Target, padded: int) -> AttentionTiles:
    """For float32, whose products take no matrix units."""
    bound = None if target.kind == "hip" else 128
    return AttentionTiles(16, 32 if padded <= 64 else 16, Options(8, registers=bound))
