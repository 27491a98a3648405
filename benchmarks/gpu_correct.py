"""Every kernel against formulas in float64, on fresh random inputs; part of ``gpu``.

A row's ``error`` is the largest difference, absolute, of values of about 1; ``right`` whether it is within
``bound``. What is compared bit for bit has the bound 0.
"""

import secrets
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks import gpu_parts
from benchmarks.gpu_alike import rows_alike
from benchmarks.gpu_pages import Paged, chunks, paged
from benchmarks.gpu_parts import Row
from promptcache_engine.kernels import coded, reference_sampling
from promptcache_engine.kernels import triton as kernels
from promptcache_engine.kernels.tables import Chunks
from promptcache_engine.kernels.triton import extend_split
from promptcache_engine.kernels.triton.launch import target_of
from promptcache_engine.kernels.triton.layer import layer_of

BOUNDS = {torch.float32: 5e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
"""Rounding of results to the dtype, values up to about 4, and of weights before the second product."""

_PROCESSES = 12


def run(device: torch.device, *, tiny: bool) -> Iterator[Row]:
    """All kernels; ``tiny`` takes one shape of each. Processes share the work: most of it is compiling."""
    seed = secrets.randbits(32)
    dtypes = [torch.float32] if tiny else [torch.float32, torch.float16, torch.bfloat16]
    shapes = [(4, 2, 16, 4)] if tiny else [(32, 8, 64, 16), (32, 8, 128, 16), (8, 1, 256, 32), (12, 4, 80, 1)]
    cases: list[tuple[Any, ...]] = [(_rows, dtype) for dtype in dtypes]
    cases += [(_attention, shape, dtype, dtype) for shape in shapes for dtype in dtypes]
    if not tiny:
        codings = (torch.float8_e4m3fn, torch.int8)
        cases += [
            (_attention, (32, 8, 128, 16), dtype, coding)
            for dtype in (torch.float16, torch.bfloat16)
            for coding in codings
        ]
    cases.append((_moves,))
    if device.type != "cuda":
        for case in cases:
            yield from _checked(case, device, seed, tiny=tiny)
        return
    cases.append((_far_pages,))
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn")) as pool:
        found = {pool.submit(_checked, case, device, seed, tiny=tiny): case for case in reversed(cases)}
        for each in as_completed(found):
            # A case that ends its process leaves no result, of itself and of what had not begun.
            yield from gpu_parts.attempt(f"{found[each][0].__name__} {found[each][1:]}", each.result)


def _checked(case: tuple[Any, ...], device: torch.device, seed: int, *, tiny: bool) -> list[Row]:
    """One case's rows, from fresh numbers."""
    torch.manual_seed(seed)
    check, *shape = case
    rows = gpu_parts.attempt(f"{check.__name__} {shape}", check, device, *shape, tiny=tiny)
    return [{**row, "seed": seed} for row in rows]


def _row(operation: str, variant: str, found: Tensor, expected: Tensor, bound: float) -> Row:
    error = float((found.double() - expected.double()).abs().max())
    return {
        "operation": operation,
        "variant": variant,
        "error": error,
        "bound": bound,
        "right": error <= bound,
    }


def _rows(device: torch.device, dtype: torch.dtype, *, tiny: bool) -> list[Row]:
    rows, width = (3, 32) if tiny else (37, 2048)
    name, bound = str(dtype).removeprefix("torch."), BOUNDS[dtype]
    hidden, weight = torch.randn(rows, width, device=device), 1 + torch.randn(width, device=device) / 10
    update = torch.randn(rows, width, device=device).to(dtype)
    expected = _normed(hidden.double() + update.double(), weight)
    total = hidden.clone()
    found = [
        _row(
            "add_rms_norm",
            name,
            kernels.add_rms_norm(total, update, weight, 1e-5, dtype=dtype),
            expected,
            bound,
        ),
        _row("rms_norm", name, kernels.rms_norm(update, weight, 1e-5, dtype), _normed(update, weight), bound),
    ]
    gate, up = update.double().chunk(2, -1)
    found.append(_row("silu_mul", name, kernels.silu_mul(update), functional.silu(gate) * up, 2 * bound))
    tanh = functional.gelu(gate, approximate="tanh")
    found.append(_row("gelu_mul", name, kernels.gelu_mul(update), tanh * up, 2 * bound))
    return found


def _normed(x: Tensor, weight: Tensor) -> Tensor:
    wide = x.double()
    return weight.double() * wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)


def _attention(
    device: torch.device,
    shape: tuple[int, int, int, int],
    dtype: torch.dtype,
    kept: torch.dtype,
    *,
    tiny: bool,
) -> list[Row]:
    """Decode and extend with and without a window and a cap, and the same bits from both."""
    heads, kv_heads, dim, page_size = shape
    contexts = [9, 1, 13] if tiny else [1000, 1, 257, 4096, 511]
    case = paged(contexts, kv_heads, dim, page_size, kept, device)
    lengths = [4, 1, 2] if tiny else [77, 1, 257, 130, 3]
    query = torch.randn(sum(lengths), heads, dim, device=device).to(dtype)
    last = torch.tensor(lengths, device=device).cumsum(0) - 1
    step = chunks(lengths, device)
    name = f"{'x'.join(map(str, shape))} {dtype} pages {kept}".replace("torch.", "")
    found = [_written(device, shape, dtype, kept, name)]
    for window, softcap in ((None, None), (7 if tiny else 300, 20.0)):
        rules = {"scale": dim**-0.5, "window": window, "softcap": softcap}
        expected = _expected(case, query, lengths, dim, **rules)
        for exact in (False, True):
            variant = f"{name} window={window} cap={softcap} deterministic={exact}"
            extended = kernels.extend_attention(
                query, case.keys, case.values, case.table, step, deterministic=exact, **rules
            )
            decoded = kernels.decode_attention(
                query[last], case.keys, case.values, case.table, deterministic=exact, **rules
            )
            split = _divided(case, query, step, exact=exact, **rules)
            found.append(_row("extend_attention", variant, extended, expected, BOUNDS[dtype]))
            found.append(_row("decode_attention", variant, decoded, expected[last], BOUNDS[dtype]))
            found.append(_row("extend_attention, keys divided", variant, split, expected, BOUNDS[dtype]))
            if exact:
                found.append(_row("divided equals whole", variant, split, extended, 0.0))
            if exact:
                whole, pieces = _in_pieces(case, 13 if tiny else 700, heads, dim, dtype, **rules)
                found.append(_row("chunked equals whole", variant, pieces, whole, 0.0))
            if exact and device.type == "cuda":  # the interpreter's products differ by a row's place
                found.append(_row("decode equals extend", variant, decoded, extended[last], 0.0))
    return found


def _in_pieces(
    case: Paged,
    length: int,
    heads: int,
    dim: int,
    dtype: torch.dtype,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> tuple[Tensor, Tensor]:
    """All rows of a prompt, computed at once and in uneven chunks that begin within tiles and pages."""
    device, longest = case.keys.device, case.table.contexts.argmax()
    pages = case.table.pages[longest : longest + 1]
    query = torch.randn(length, heads, dim, device=device).to(dtype)

    def rows(begin: int, end: int) -> Tensor:
        contexts = torch.tensor([end], dtype=torch.int32, device=device)
        table = replace(case.table, pages=pages, contexts=contexts, longest=end)
        return kernels.extend_attention(
            query[begin:end], case.keys, case.values, table, chunks([end - begin], device),
            scale=scale, window=window, softcap=softcap, deterministic=True,
        )  # fmt: skip

    cuts = [0, 1, length // 7 + 2, length // 2, length]
    with rows_alike(device):
        pieces = [rows(begin, end) for begin, end in pairwise(cuts)]
        return rows(0, length), torch.cat(pieces)


def _divided(
    case: Paged,
    query: Tensor,
    step: Chunks,
    *,
    exact: bool,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> Tensor:
    """Extend attention in the form for short chunks behind long prefixes."""
    layer = layer_of(query, case.keys, case.values, scale, window, softcap)
    out = query.new_empty(query.shape[0], query.shape[1] * query.shape[2])
    for launch in extend_split.plan(
        target_of(query), query, layer, case.table, step, out, deterministic=exact
    ):
        launch.run()
    return out


def _expected(
    case: Paged,
    query: Tensor,
    lengths: list[int],
    dim: int,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
) -> Tensor:
    parts, start = [], 0
    for slots, count in zip(case.order, lengths, strict=True):
        keys, values = (
            coded.decode(pool.view(torch.uint8)[slots].view(pool.dtype), torch.float32, dim)
            if pool.dtype in coded.LARGEST
            else pool[slots]
            for pool in (case.keys, case.values)
        )
        group = query.shape[1] // (keys.shape[1] // dim)
        wide = (
            each.double().view(len(slots), -1, dim).repeat_interleave(group, 1) for each in (keys, values)
        )
        keys, values = (each.transpose(0, 1) for each in wide)
        scores = query[start : start + count].double().transpose(0, 1) @ keys.transpose(1, 2) * scale
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        place = torch.arange(len(slots), device=query.device)
        own = place[-count:, None]
        hidden = place > own if window is None else (place > own) | (place <= own - window)
        mixed = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values
        parts.append(mixed.transpose(0, 1).reshape(count, -1))
        start += count
    return torch.cat(parts)


def _written(
    device: torch.device,
    shape: tuple[int, int, int, int],
    dtype: torch.dtype,
    kept: torch.dtype,
    name: str,
) -> Row:
    """Queries, keys and values behind ``rotary_write``, with norms and a row that is not written."""
    heads, kv_heads, dim, _ = shape
    projected = torch.randn(3, (heads + 2 * kv_heads) * dim, device=device).to(dtype)
    angle = torch.rand(3, dim // 2, device=device) * 6
    weight = 1 + torch.randn(dim, device=device) / 10
    pools = [torch.zeros(8, coded.slot_width(kv_heads, dim, kept), device=device).to(kept) for _ in range(2)]
    slots = torch.tensor([6, -1, 2], device=device)
    query = kernels.rotary_write(
        projected, angle.cos(), angle.sin(), *pools, slots=slots, heads=heads, dim=dim,
        query_norm=weight, key_norm=weight, eps=1e-5,
    )  # fmt: skip
    wide = projected.double().view(3, -1, dim)
    turned = _normed(wide[:, : heads + kv_heads], weight)
    first, second = turned.chunk(2, -1)
    cos, sin = angle.double().cos()[:, None], angle.double().sin()[:, None]
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
    kept_rows = [
        coded.decode(pool.view(torch.uint8)[[6, 2]].view(kept), torch.float32, dim)
        if kept in coded.LARGEST
        else pool[[6, 2]]
        for pool in pools
    ]
    expected = torch.cat((turned[:, heads:], wide[:, heads + kv_heads :]), 1)[[0, 2]].flatten()
    written = torch.cat([rows.view(2, kv_heads, dim) for rows in kept_rows], 1).flatten()
    bound = 0.5 if kept in coded.LARGEST else BOUNDS[dtype]  # fp8 has three bits behind the point
    found = torch.cat((query.flatten().double(), written.double()))
    return _row("rotary_write", name, found, torch.cat((turned[:, :heads].flatten(), expected)), bound)


def _far_pages(device: torch.device, *, tiny: bool) -> list[Row]:
    """Pages behind the first 2 ** 31 values and bytes of a pool: places must not be counted in 32 bits."""
    del tiny  # there is no small pool of this kind
    dim, page_size, contexts = 128, 16, [100, 17]
    case = paged(contexts, 8, dim, page_size, torch.bfloat16, device)
    width, size = case.keys.shape[1], case.keys.shape[0]
    slots = (2**31 // width // page_size + 2) * page_size
    keys, values = (torch.empty(slots + size, width, dtype=torch.bfloat16, device=device) for _ in range(2))
    keys[slots:], values[slots:] = case.keys, case.values
    table = replace(case.table, pages=case.table.pages + slots // page_size)
    query, step = torch.randn(2, 32, dim, device=device).to(torch.bfloat16), chunks([1, 1], device)
    near = kernels.decode_attention(query, case.keys, case.values, case.table, scale=0.1)
    far = kernels.decode_attention(query, keys, values, table, scale=0.1)
    near_rows = kernels.extend_attention(query, case.keys, case.values, case.table, step, scale=0.1)
    far_rows = kernels.extend_attention(query, keys, values, table, step, scale=0.1)
    source, target = case.order[0][:3] + slots, torch.tensor([slots + size - 3, 1, slots - 1], device=device)
    kernels.copy_slots(keys.unsqueeze(0), source, target)
    return [
        _row("decode_attention", "pages behind 4 GiB", far, near, 0.0),
        _row("extend_attention", "pages behind 4 GiB", far_rows, near_rows, 0.0),
        _row("copy_slots", "slots behind 4 GiB", keys[target], case.keys[case.order[0][:3]], 0.0),
    ]


def _moves(device: torch.device, *, tiny: bool) -> list[Row]:
    """Slots and samples: exact."""
    del tiny  # they are
    pool = torch.randn(2, 9, 24, device=device)
    src, dst = (torch.tensor(each, device=device) for each in ([0, 5], [7, 2]))
    expected = pool.clone()
    expected[:, dst] = pool[:, src]
    copied = pool.clone()
    kernels.copy_slots(copied, src, dst)
    moved = pool.clone()
    kernels.scatter_slots(moved, dst, kernels.gather_slots(pool, src))
    logits = torch.randn(4, 300, device=device) * 3
    limits = {
        "heats": torch.tensor([0.0, 0.7, 1.0, 1.3], device=device),
        "top_k": torch.tensor([0, 5, 0, 0], dtype=torch.int32, device=device),
        "top_p": torch.tensor([1.0, 1.0, 0.8, 1.0], device=device),
        "min_p": torch.tensor([0.0, 0.0, 0.0, 0.1], device=device),
        "keys": torch.randint(-(2**31), 2**31, (4, 2), dtype=torch.int32, device=device),
    }
    tokens = kernels.sample_tokens(logits, **limits)
    chosen = reference_sampling.sample_tokens(
        logits.cpu(), **{name: each.cpu() for name, each in limits.items()}
    )
    return [
        _row("copy_slots", "2 of 9", copied, expected, 0.0),
        _row("gather_slots, scatter_slots", "2 of 9", moved, expected, 0.0),
        _row("sample_tokens", "greedy, top-k, top-p, min-p", tokens.cpu(), chosen, 0.0),
    ]
