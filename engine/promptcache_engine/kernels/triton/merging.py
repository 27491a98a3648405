"""States of the rows of attention, one for each split of a context, and their merger in order.

What fills the states are the kernels of ``decode`` and ``extend_split``. Splits are of one length, whatever
the context's, and merged from the first to the last that a row sees.
"""

from dataclasses import dataclass

import torch
import triton.language as tl
from torch import Tensor

from promptcache_engine.kernels.tables import Chunks
from promptcache_engine.kernels.triton import tiles
from promptcache_engine.kernels.triton.attention_tile import finish, shares
from promptcache_engine.kernels.triton.launch import Launch, Options, jit
from promptcache_engine.kernels.triton.layer import Layer


@dataclass(frozen=True, eq=False)
class States:
    """Of T rows, H heads and S splits of ``length`` keys.

    ``sums`` float32 [T, H, S, D] are the weighted sums of values; ``peaks`` float32 [T, H, S, 2] the largest
    scores and the sums of weights. Of splits that a row does not see they are undefined.
    """

    sums: Tensor
    peaks: Tensor
    length: int

    @property
    def splits(self) -> int:
        """How many there is room for."""
        return self.sums.shape[2]


def states_for(query: Tensor, longest: int, length: int) -> States:
    """Room for the states of queries [T, H, D] over contexts that are not longer than ``longest``."""
    rows, heads, dim = query.shape
    splits = -(-longest // length)
    sums = torch.empty(rows, heads, splits, dim, dtype=torch.float32, device=query.device)
    peaks = torch.empty(rows, heads, splits, 2, dtype=torch.float32, device=query.device)
    return States(sums, peaks, length)


def state_bytes(query: Tensor, longest: int, length: int) -> int:
    """Bytes of ``states_for``."""
    rows, heads, dim = query.shape
    return 4 * rows * heads * -(-longest // length) * (dim + 2)


def merge_rows(
    layer: Layer, states: States, contexts: Tensor, out: Tensor, chunks: Chunks | None = None
) -> Launch:
    """The launch that merges every row's states into ``out``: one row a sequence, or ``chunks``."""
    rows, heads, splits, dim = states.sums.shape
    grid = (heads, rows) if chunks is None else (heads, chunks.longest, contexts.shape[0])
    starts = contexts if chunks is None else chunks.starts
    return Launch(
        _merge_splits,
        grid,
        (
            states.sums, states.peaks, contexts, starts, out, splits, out.stride(0), layer.scale,
            layer.window,
        ),
        {
            "dim": dim, "padded": layer.padded, "split": states.length, "gathered": tiles.GATHERED,
            "windowed": layer.window > 0, "capped": layer.softcap > 0, "chunked": chunks is not None,
        },
        Options(warps=1),
    )  # fmt: skip


@jit(varying=("splits", "window"))
def _merge_splits(
    sums: tl.tensor,
    peaks: tl.tensor,
    contexts: tl.tensor,
    starts: tl.tensor,
    out: tl.tensor,
    splits: tl.tensor,
    out_stride: tl.tensor,
    scale: tl.tensor,
    window: tl.tensor,
    dim: tl.constexpr,
    padded: tl.constexpr,
    split: tl.constexpr,
    gathered: tl.constexpr,
    windowed: tl.constexpr,
    capped: tl.constexpr,
    chunked: tl.constexpr,
) -> None:
    """Merge the states of one row and head; a row that its chunk has not is left."""
    head = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    sequence = tl.program_id(2) if chunked else row
    context = tl.load(contexts + sequence)
    there = True
    if chunked:
        start = tl.load(starts + sequence)
        behind = tl.load(starts + sequence + 1) - start - tl.program_id(1)  # rows of the chunk from this on
        there = behind > 0
        context = tl.where(there, context - behind + 1, 0)
        row += start
    low = tl.maximum(context - window, 0) if windowed else 0
    factor = 1.4426950408889634 if capped else scale * 1.4426950408889634
    dims = tl.arange(0, padded)
    best = float("-inf")
    total = 0.0
    mixed = tl.zeros([padded], tl.float32)
    begin = low // split
    end = tl.cdiv(context, split)
    cell = (row * tl.num_programs(0) + head) * splits
    for base in tl.range(begin, end, gathered):
        for offset in tl.static_range(gathered):
            piece = base + offset
            seen = piece < end
            more_best = tl.load(peaks + (cell + piece) * 2, mask=seen, other=float("-inf"))
            more_total = tl.load(peaks + (cell + piece) * 2 + 1, mask=seen, other=0.0)
            kept = dims < tl.where(seen, dim, 0)
            more_mixed = tl.load(sums + (cell + piece) * dim + dims, mask=kept, other=0.0)
            best, keep, take = shares(best, more_best, factor)
            total = total * keep + more_total * take
            mixed = mixed * keep + more_mixed * take
    merged = finish(total, mixed).to(out.dtype.element_ty)
    tl.store(out + row * out_stride + head * dim + dims, merged, mask=dims < tl.where(there, dim, 0))
