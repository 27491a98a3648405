"""Attention beside the hardware's measured limits and torch's own attention; part of ``gpu``.

Decoding is bound by memory, so its bytes of keys and values a second stand beside those of a copy; extending
by products, so its products a second stand beside those of a matrix product. Both limits are measured here.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

from benchmarks.gpu_pages import chunks, paged
from benchmarks.gpu_parts import Row, attempt
from promptcache_engine.kernels import triton as kernels
from promptcache_engine.kernels.triton import extend, extend_split
from promptcache_engine.kernels.triton.launch import Launch, target_of
from promptcache_engine.kernels.triton.layer import layer_of

DECODE_TARGET, EXTEND_TARGET = 0.8, 0.6
HEADS, KV_HEADS, DIM, PAGE_SIZE = 32, 8, 128, 16
_CAPTURED, _REPLAYED = 5, 7
_CACHED_BYTES = 2**28
"""What repeated runs may find in a device's caches: a rate over fewer bytes says nothing of its memory."""


def seconds(device: torch.device, work: Callable[[], object]) -> float:
    """Of one call: on a GPU by its own clock, the median of replays of a captured row of calls.

    Captured, so that what is timed is the device's work and not how fast a host can ask for it.
    """
    if device.type != "cuda":
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_CAPTURED):
            work()
    event: Any = torch.cuda.Event  # has no types
    taken = []
    for _ in range(_REPLAYED):
        begin, end = event(enable_timing=True), event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1000 / _CAPTURED)
    return float(statistics.median(taken))


def run(device: torch.device, *, tiny: bool) -> Iterator[Row]:
    """Limits, decode attention and extend attention."""
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    products, copied = _matmul_rate(device, dtype, 64 if tiny else 8192), _copy_rate(device, tiny=tiny)
    yield {"operation": "copy", "TB/s": copied / 1e12}
    yield {"operation": "matmul", "dtype": str(dtype), "TFLOP/s": products / 1e12}
    for count, context in ((2, 20),) if tiny else ((64, 4096), (1, 4096), (8, 4096), (8, 32768)):
        yield from attempt("decode_attention", _decode, device, dtype, count, context, copied)
    for dim, cached, rows in (
        ((16, 8, 8),) if tiny else ((128, 0, 8192), (128, 0, 2048), (128, 30720, 2048), (64, 0, 8192))
    ):
        yield from attempt("extend_attention", _extend, device, dtype, dim, cached, rows, products)
    for cached, rows in ((24, 4),) if tiny else ((32736, 32), (32704, 64), (3891, 205), (130_944, 128)):
        yield from attempt("extend_attention, short chunk", _short_chunk, device, dtype, cached, rows, copied)


def _matmul_rate(device: torch.device, dtype: torch.dtype, size: int) -> float:
    """Products and sums a second of square matrices."""
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2 * size**3 / seconds(device, lambda: left @ right)


def _copy_rate(device: torch.device, *, tiny: bool) -> float:
    """Bytes read and written a second."""
    source = torch.empty(2**12 if tiny else 2**31, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * source.numel() / seconds(device, lambda: target.copy_(source))


def _decode(device: torch.device, dtype: torch.dtype, count: int, context: int, copied: float) -> Row:
    case = paged([context] * count, KV_HEADS, DIM, PAGE_SIZE, dtype, device)
    query = torch.randn(count, HEADS, DIM, device=device).to(dtype)
    moved = 2 * count * context * KV_HEADS * DIM * dtype.itemsize
    own = seconds(
        device,
        lambda: kernels.decode_attention(query, case.keys, case.values, case.table, scale=DIM**-0.5),
    )
    keys, values = (torch.randn(count, KV_HEADS, context, DIM, device=device).to(dtype) for _ in range(2))
    rows = query.view(count, HEADS, 1, DIM)
    torchs = seconds(
        device, lambda: functional.scaled_dot_product_attention(rows, keys, values, enable_gqa=True)
    )
    share = moved / own / copied
    judged = count == 64
    return {
        "operation": "decode_attention",
        "sequences": count,
        "context": context,
        "us": own * 1e6,
        **({"TB/s": moved / own / 1e12, "of_copy": share} if moved > _CACHED_BYTES else {}),
        "sdpa_contiguous_us": torchs * 1e6,
        **({"target": DECODE_TARGET, "target_met": share >= DECODE_TARGET} if judged else {}),
    }


def _extend(
    device: torch.device, dtype: torch.dtype, dim: int, cached: int, rows: int, products: float
) -> Row:
    context = cached + rows
    case = paged([context], KV_HEADS, dim, PAGE_SIZE, dtype, device)
    query = torch.randn(rows, HEADS, dim, device=device).to(dtype)
    step = chunks([rows], device)
    own = seconds(
        device,
        lambda: kernels.extend_attention(query, case.keys, case.values, case.table, step, scale=dim**-0.5),
    )
    pairs = rows * cached + rows * (rows + 1) // 2  # of a row and a key it sees
    done = 4 * HEADS * dim * pairs
    found: Row = {
        "operation": "extend_attention",
        "dim": dim,
        "cached": cached,
        "rows": rows,
        "ms": own * 1e3,
        "TFLOP/s": done / own / 1e12,
        "of_matmul": done / own / products,
    }
    if not cached:
        asked, keys, values = (
            torch.randn(1, heads, rows, dim, device=device).to(dtype) for heads in (HEADS, KV_HEADS, KV_HEADS)
        )
        found["sdpa_contiguous_ms"] = 1e3 * seconds(
            device,
            lambda: functional.scaled_dot_product_attention(
                asked, keys, values, is_causal=True, enable_gqa=True
            ),
        )
    if (dim, rows) == (DIM, 8192):
        found |= {"target": EXTEND_TARGET, "target_met": found["of_matmul"] >= EXTEND_TARGET}
    return found


def _short_chunk(device: torch.device, dtype: torch.dtype, cached: int, rows: int, copied: float) -> Row:
    """Both forms of a chunk too short to fill the device, and which of them the engine takes."""
    case = paged([cached + rows], KV_HEADS, DIM, PAGE_SIZE, dtype, device)
    query, step = torch.randn(rows, HEADS, DIM, device=device).to(dtype), chunks([rows], device)
    out = query.new_empty(rows, HEADS * DIM)
    layer = layer_of(query, case.keys, case.values, DIM**-0.5, None, None)
    where = target_of(query), query, layer, case.table, step
    found: Row = {"operation": "extend_attention, short chunk", "cached": cached, "rows": rows}
    for name, exact in (("", False), ("deterministic_", True)):
        whole = seconds(device, _all([extend.plan(*where, out, deterministic=exact)]))
        divided = seconds(device, _all(extend_split.plan(*where, out, deterministic=exact)))
        found[f"{name}whole_us"], found[f"{name}divided_us"] = 1e6 * whole, 1e6 * divided
        found[f"{name}divides"] = extend_split.pays(*where, deterministic=exact)
    moved = 2 * (cached + rows) * KV_HEADS * DIM * dtype.itemsize
    return {**found, "copy_us": 1e6 * moved / copied}


def _all(launches: list[Launch]) -> Callable[[], None]:
    def work() -> None:
        for launch in launches:
            launch.run()

    return work
