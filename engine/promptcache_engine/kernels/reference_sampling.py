"""The plain-torch version of sampling on a device: one token a row, with parameters that lie there too.

It cuts what ``promptcache_engine.sampling`` cuts, up to rounding, from tensors instead of requests; the draw
is by a point in the distribution, and not by noise.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def sample_tokens(
    logits: Tensor, *, heats: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, points: Tensor
) -> Tensor:
    """Choose one token for each row of ``logits`` [R, V], float32.

    Args:
        logits: left unchanged; -inf excludes a token.
        heats: float32 [R], the temperature; 0 takes the likeliest token, the first of several.
        top_k: int32 [R], keep that many of the likeliest tokens; 0 keeps all.
        top_p: float32 [R], then keep the likeliest that reach this share of what is left; 1 keeps all.
        min_p: float32 [R], keep tokens at least this share as likely as the likeliest; 0 keeps all.
        points: float32 [R] in [0, 1): where in the row's distribution the draw falls, tokens being in order
            of their ids where all are kept, else from the likeliest down, equal ones by id.

    Returns:
        int64 [R]; -1 where the row's largest logit is not finite.
    """
    limits = torch.stack((heats, top_k.to(heats.dtype), top_p, min_p, points), dim=1).tolist()
    tokens = [_sample(row, each) for row, each in zip(logits, limits, strict=True)]
    return torch.stack(tokens) if tokens else torch.empty(0, dtype=torch.int64, device=logits.device)


def _sample(row: Tensor, limits: Sequence[float]) -> Tensor:
    heat, top_k, top_p, min_p, point = limits
    likeliest = row.argmax()
    if not bool(torch.isfinite(row.max())):
        return torch.full_like(likeliest, -1)
    if heat == 0.0:
        return (row == row.max()).nonzero()[0, 0]
    weights = ((row - row.max()) / heat).exp().double()
    ids = torch.arange(len(row), device=row.device)
    if 0 < top_k < len(row) or top_p < 1 or min_p > 0:
        weights, ids = weights.sort(descending=True, stable=True)
        weights = torch.where(weights < min_p, 0.0, weights)
        if top_k > 0:
            weights[int(top_k) :] = 0.0
        before = weights.cumsum(0) - weights
        if top_p < 1:
            weights = torch.where(before < top_p * weights.sum(), weights, 0.0)
    upto = weights.cumsum(0)
    return ids[torch.minimum((upto <= point * upto[-1]).sum(), (upto < upto[-1]).sum())]
