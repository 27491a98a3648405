"""Slots copied within a pool, gathered out of it and scattered into it: one kernel that moves rows.

Specification: ``copy_slots``, ``gather_slots`` and ``scatter_slots`` of ``reference_fused``. Scales of coded
pages lie in their slots and move with them.
"""

import math

import torch
import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.triton.launch import Launch, Options, jit

_TILE = 1024
_WORDS = {4: torch.int32, 2: torch.int16, 1: torch.int8}
_APART = 16


def copy_slots(pool: Tensor, src: Tensor, dst: Tensor) -> None:
    """As ``reference_fused.copy_slots``."""
    plan(pool, pool, src, dst).run()


def gather_slots(pool: Tensor, slots: Tensor, out: Tensor | None = None) -> Tensor:
    """As ``reference_fused.gather_slots``; ``out`` may lie in pinned memory of the host."""
    if out is None:  # whole sixteens apart, so that no number of slots makes Triton compile again
        count = slots.shape[0]
        out = pool.new_empty(pool.shape[0], count + -count % _APART, pool.shape[2])[:, :count]
    plan(pool, out, slots, None).run()
    return out


def scatter_slots(pool: Tensor, slots: Tensor, rows: Tensor) -> None:
    """As ``reference_fused.scatter_slots``; ``rows`` may lie in pinned memory of the host."""
    plan(rows, pool, None, slots).run()


def plan(source: Tensor, target: Tensor, src: Tensor | None, dst: Tensor | None) -> Launch:
    """The launch that moves rows ``src`` of ``source`` to rows ``dst`` of ``target``, in every layer.

    Without ``src`` or ``dst`` rows are taken, or put, in order. Rows move in the largest unit, of up to 32
    bits, that all rows of both begin with and fill.

    Raises:
        ValueError: the tensors differ in dtype, layers or width, or values of a row do not lie side by side.
    """
    named = dst if src is None else src
    assert named is not None
    if source.stride(2) != 1 or target.stride(2) != 1 or source.dtype != target.dtype:
        raise ValueError("slots move between rows of one dtype whose values lie side by side")
    if source.shape[::2] != target.shape[::2]:
        raise ValueError(f"rows of {tuple(source.shape)} do not fit those of {tuple(target.shape)}")
    unit = math.gcd(*_spans(source), *_spans(target), max(_WORDS))
    words = [each.view(_WORDS[unit]) for each in (source, target)]
    width = words[0].shape[2]
    strides = [stride for each in words for stride in (each.stride(0), each.stride(1))]
    return Launch(
        _move_rows,
        (named.shape[0], -(-width // _TILE), source.shape[0]),
        (*words, named if src is None else src, named if dst is None else dst, width, *strides),
        {"tile": _TILE, "picks": src is not None, "places": dst is not None},
        Options(4),
    )


def _spans(pool: Tensor) -> list[int]:
    """The bytes by which rows are wide and apart, and those before the first."""
    spans = (pool.shape[2], pool.stride(0), pool.stride(1), pool.storage_offset())
    return [int(span * pool.element_size()) for span in spans]


@jit()
def _move_rows(
    source: tl.tensor,
    target: tl.tensor,
    src: tl.tensor,
    dst: tl.tensor,
    width: tl.tensor,
    source_layer: tl.tensor,
    source_stride: tl.tensor,
    target_layer: tl.tensor,
    target_stride: tl.tensor,
    tile: tl.constexpr,
    picks: tl.constexpr,
    places: tl.constexpr,
) -> None:
    """One run of words of one slot in one layer."""
    index = tl.program_id(0).to(tl.int64)
    layer = tl.program_id(2).to(tl.int64)
    at = tl.program_id(1) * tile + tl.arange(0, tile)
    real = at < width
    taken = index
    put = index
    if picks:
        taken = tl.load(src + index)
    if places:
        put = tl.load(dst + index)
    words = tl.load(source + layer * source_layer + taken * source_stride + at, mask=real)
    tl.store(target + layer * target_layer + put * target_stride + at, words, mask=real)
