"""Every kernel against formulas in float64, on fresh random inputs; part of ``gpu``.

A row's ``error`` is the largest difference, absolute, of values of about 1; ``right`` whether it is within
``bound``. What is compared bit for bit has the bound 0.
"""

import secrets
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.gpu_pages import Paged, chunks, paged
from promptcache_engine.kernels import coded, reference_sampling
from promptcache_engine.kernels import triton as kernels

BOUNDS = {torch.float32: 5e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
"""Rounding of results to the dtype, values up to about 4, and of weights before the second product."""

_PROCESSES = 12


def run(device: torch.device, *, tiny: bool) -> list[dict[str, Any]]:
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
        return [row for case in cases for row in _checked(case, device, seed, tiny=tiny)]
    with ProcessPoolExecutor(_PROCESSES, get_context("spawn")) as pool:
        found = [pool.submit(_checked, case, device, seed, tiny=tiny) for case in reversed(cases)]
        return [row for each in reversed(found) for row in each.result()]


def _checked(case: tuple[Any, ...], device: torch.device, seed: int, *, tiny: bool) -> list[dict[str, Any]]:
    """One case's rows; an error is a row, too, so that the others are reported."""
    torch.manual_seed(seed)
    check, *shape = case
    try:
        rows: list[dict[str, Any]] = check(device, *shape, tiny=tiny)
    except Exception as error:  # noqa: BLE001 - whatever it is, this case is not right
        because = f"{type(error).__name__}: {error}"[:300]
        rows = [{"operation": check.__name__, "variant": str(shape), "right": False, "because": because}]
    return [{**row, "seed": seed} for row in rows]


def _row(operation: str, variant: str, found: Tensor, expected: Tensor, bound: float) -> dict[str, Any]:
    error = float((found.double() - expected.double()).abs().max())
    return {
        "operation": operation,
        "variant": variant,
        "error": error,
        "bound": bound,
        "right": error <= bound,
    }


def _rows(device: torch.device, dtype: torch.dtype, *, tiny: bool) -> list[dict[str, Any]]:
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
) -> list[dict[str, Any]]:
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
            found.append(_row("extend_attention", variant, extended, expected, BOUNDS[dtype]))
            found.append(_row("decode_attention", variant, decoded, expected[last], BOUNDS[dtype]))
            if exact and device.type == "cuda":  # the interpreter's products differ by a row's place
                found.append(_row("decode equals extend", variant, decoded, extended[last], 0.0))
    return found


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
) -> dict[str, Any]:
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


def _moves(device: torch.device, *, tiny: bool) -> list[dict[str, Any]]:
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
