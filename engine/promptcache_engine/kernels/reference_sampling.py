"""The plain-torch version of sampling on a device: one token a row, with parameters that lie there too.

It cuts what ``promptcache_engine.sampling`` cuts, up to rounding, from tensors instead of requests, and draws
from what is left by the same noise.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from promptcache_engine.kernels.noise import loudest


def sample_tokens(
    logits: Tensor, *, heats: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, keys: Tensor
) -> Tensor:
    """Choose one token for each row of ``logits`` [R, V], float32.

    Args:
        logits: left unchanged; -inf excludes a token.
        heats: float32 [R], the temperature; 0 takes the likeliest token, the first of several.
        top_k: int32 [R], keep that many of the likeliest tokens, of equal ones those of lower ids; 0 keeps
            all.
        top_p: float32 [R], then keep the likeliest that reach this share of what is left; 1 keeps all, 0 the
            likeliest alone.
        min_p: float32 [R], before both, keep tokens at least this share as likely as the likeliest; 0: all.
        keys: int32 [R, 2], of each row's noise: ``noise.key_halves``.

    Returns:
        int64 [R]; -1 where the row's largest logit is not finite.
    """
    limits = torch.stack((heats, top_k.to(heats.dtype), top_p, min_p), dim=1).tolist()
    halves = [(low, high) for low, high in keys.tolist()]
    tokens = [_sample(row, each, key) for row, each, key in zip(logits, limits, halves, strict=True)]
    return torch.stack(tokens) if tokens else torch.empty(0, dtype=torch.int64, device=logits.device)


def _sample(row: Tensor, limits: Sequence[float], halves: tuple[int, int]) -> Tensor:
    heat, top_k, top_p, min_p = limits
    likeliest = row.argmax()
    if not bool(torch.isfinite(row.max())):
        return torch.full_like(likeliest, -1)
    if heat == 0.0:
        return (row == row.max()).nonzero()[0, 0]
    tempered = (row - row.max()) / torch.tensor(heat, dtype=row.dtype, device=row.device)
    ids = torch.arange(len(row), device=row.device)
    if 0 < top_k < len(row) or top_p < 1 or min_p > 0:
        # By logits: weights of two may round to the same.
        ranked, order = tempered.sort(descending=True, stable=True)
        weights = ranked.exp().double()
        weights = torch.where(weights < min_p, 0.0, weights)
        if top_k > 0:
            weights[int(top_k) :] = 0.0
        if top_p < 1:
            before = weights.cumsum(0) - weights
            weights = torch.where((before < top_p * weights.sum()) | (before == 0), weights, 0.0)
        ids = order[weights > 0].sort().values
    return ids[loudest(tempered[ids], ids.to(torch.int32), halves)]
