"""Tile sizes of attention by speed: what ``kernels/triton/tiles.py`` is filled from; part of ``gpu``.

Each choice is compiled, timed on the sizes that ``gpu_speed`` is judged by, and named with what it takes.
Choices that do not compile, or take more than the device has, are left out.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
from torch import Tensor

from benchmarks.gpu_pages import chunks, paged
from benchmarks.gpu_parts import Row, attempt
from benchmarks.gpu_speed import HEADS, KV_HEADS, PAGE_SIZE, seconds
from promptcache_engine.kernels.triton import decode, extend, tiles
from promptcache_engine.kernels.triton.launch import Launch, Options, target_of
from promptcache_engine.kernels.triton.layer import layer_of

Choice = tuple[int, int, int, int]
"""Rows and keys of a tile, warps, stages."""

EXTEND: tuple[Choice, ...] = (
    (128, 64, 8, 2), (128, 64, 8, 3), (128, 64, 8, 5), (128, 128, 8, 2), (128, 128, 8, 3), (128, 32, 8, 3),
    (64, 64, 4, 2), (64, 64, 4, 3), (64, 64, 4, 5), (64, 32, 4, 3), (64, 128, 4, 2), (128, 64, 4, 3),
)  # fmt: skip
DECODE: tuple[Choice, ...] = (
    (16, 64, 4, 2), (16, 64, 4, 3), (16, 64, 4, 5), (16, 32, 4, 3), (16, 32, 2, 3), (16, 128, 4, 3),
    (16, 128, 8, 3), (16, 64, 8, 3), (16, 64, 2, 2), (16, 32, 4, 5),
)  # fmt: skip
_COMPILERS = 8


def run(device: torch.device, *, tiny: bool) -> Iterator[Row]:
    """Every choice, the fastest first."""
    tries = [
        (kind, dim, choice)
        for dim in ((16,) if tiny else (128, 64))
        for kind, choices in (("decode", DECODE), ("extend", EXTEND))
        for choice in (choices[:1] if tiny else choices)
    ]
    if device.type == "cuda":  # all compile at once; what is compiled is kept on disk
        with ProcessPoolExecutor(_COMPILERS, get_context("spawn")) as pool:
            usable = list(pool.map(_compiles, tries))
        tries = [each for each, usable_ in zip(tries, usable, strict=True) if usable_]
    rows = [row for each in tries for row in attempt("tiles", _timed, device, *each, tiny=tiny)]
    yield from sorted(rows, key=lambda row: (row["operation"], row.get("dim", 0), row.get("us", 0.0)))


def _compiles(tried: tuple[str, int, Choice]) -> bool:
    kind, dim, choice = tried
    device = torch.device("cuda")
    try:
        for launch in _launches(device, kind, dim, choice, tiny=True):
            launch.run()
        torch.cuda.synchronize()
    except Exception:  # noqa: BLE001 - whatever a choice asks for that the device has not
        return False
    return True


def _timed(device: torch.device, kind: str, dim: int, choice: Choice, *, tiny: bool) -> Row:
    launches = list(_launches(device, kind, dim, choice, tiny=tiny))
    rows, keys, warps, stages = choice
    return {
        "operation": kind,
        "dim": dim,
        "rows": rows,
        "keys": keys,
        "warps": warps,
        "stages": stages,
        "us": 1e6 * seconds(device, _all(launches)),
    }


def _all(launches: list[Launch]) -> Callable[[], None]:
    def work() -> None:
        for launch in launches:
            launch.run()

    return work


def _launches(device: torch.device, kind: str, dim: int, choice: Choice, *, tiny: bool) -> Iterator[Launch]:
    """As the operations would make them, with tiles of one's own choice."""
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    rows, keys, warps, stages = choice
    chosen = tiles.AttentionTiles(rows, keys, Options(warps, stages))
    contexts = [40, 33] if tiny else [8192] if kind == "extend" else [4096] * 64
    case = paged(contexts, KV_HEADS, dim, PAGE_SIZE, dtype, device)
    count = sum(contexts) if kind == "extend" else len(contexts)
    query: Tensor = torch.randn(count, HEADS, dim, device=device).to(dtype)
    out = query.new_empty(count, HEADS * dim)
    layer = layer_of(query, case.keys, case.values, dim**-0.5, None, None)
    target = target_of(query)
    if kind == "decode":
        yield from decode.plan(target, query, layer, case.table, out, deterministic=False, chosen=chosen)
    else:
        step = chunks(contexts, device)
        yield extend.plan(target, query, layer, case.table, step, out, deterministic=False, chosen=chosen)
