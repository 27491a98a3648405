"""The tokens at given points of the distributions that the engine's own sampler would draw from."""

from collections.abc import Sequence

import torch
from torch import Tensor

from promptcache_engine.config import SamplingParams
from promptcache_engine.sampling import kept_tokens


def drawn_at(logits: Tensor, params: SamplingParams, points: Sequence[float]) -> list[int]:
    """For each row the token at a point in [0, 1): by id where all are kept, else from the likeliest down."""
    return [_drawn(row, params, point) for row, point in zip(logits, points, strict=True)]


def _drawn(row: Tensor, params: SamplingParams, point: float) -> int:
    if params.greedy:
        return int(row.argmax())
    tempered = (row - row.max()) / params.temperature
    weights, ids = kept_tokens(tempered, params)
    if params.top_p >= 1 and params.min_p == 0 and (params.top_k == 0 or params.top_k >= len(row)):
        weights, ids = tempered.double().exp(), torch.arange(len(row))
    upto = weights.cumsum(0)
    return int(ids[min(int((upto <= point * upto[-1]).sum()), len(ids) - 1)])
