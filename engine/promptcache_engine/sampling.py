"""From logits to tokens: the likeliest, or a draw that is the sequence's own.

Each sequence brings a random key for each step, from which every token of the vocabulary gets noise of its
own (``kernels.noise``): a seeded answer is the same alone and in a batch. The token of the greatest sum of
logit and noise is drawn. Where rounding moves a share of the distribution, the draw moves with at most about
twice that probability, since no token's noise depends on another's. On a GPU ``device.draw`` draws the same
tokens from the same logits.
"""

import math
import random
from collections.abc import Sequence

import torch
from torch import Tensor

from promptcache_engine.config import SamplingParams
from promptcache_engine.kernels.noise import key_halves, loudest

# Below this a token's weight is 0 in float32.
_WEIGHTLESS = -110.0
# The largest of runs of this length are looked for first.
_RUN = 256
COLDEST, HOTTEST = 1e-6, 1e6
"""Beyond these a temperature changes no draw, but would leave what float32 can hold."""


class Draws:
    """The random numbers of one sequence.

    Args:
        params: a greedy sequence needs none; a seeded one always takes the same ones.
        choice: which answer to one prompt this is; each draws otherwise, the first as one that stands alone.
    """

    def __init__(self, params: SamplingParams, choice: int = 0) -> None:
        self._random: random.Random | None = None
        if not params.greedy:
            seed = params.seed if params.seed is None or choice == 0 else f"{params.seed}/{choice}"
            self._random = random.Random(seed)  # noqa: S311 - keeps no secret

    def next(self) -> int:
        """The key of the next token's noise, from 0 to 2**63 - 1."""
        return 0 if self._random is None else self._random.getrandbits(63)


def sample(logits: Tensor, params: Sequence[SamplingParams], keys: Sequence[int]) -> list[int | None]:
    """Choose one token for each row.

    Args:
        logits: [rows, vocab] float32; left unchanged.
        params: how each row is chosen.
        keys: a number from 0 to 2**63 - 1 for each row, the key of its noise.

    Returns:
        One token id a row; None where the row's largest logit is not finite: there is nothing to choose.
    """
    top, likeliest = logits.max(dim=-1)
    tokens: list[int | None] = [
        token if fine else None
        for token, fine in zip(likeliest.tolist(), torch.isfinite(top).tolist(), strict=True)
    ]
    drawn = [row for row, token in enumerate(tokens) if token is not None and not params[row].greedy]
    if drawn:
        rows = logits if len(drawn) == len(tokens) else logits[drawn]
        found = _draw(rows, [params[row] for row in drawn], [keys[row] for row in drawn])
        for row, token in zip(drawn, found, strict=True):
            tokens[row] = token
    return tokens


def _draw(logits: Tensor, params: Sequence[SamplingParams], keys: Sequence[int]) -> list[int]:
    """Draw from each row's tempered and truncated distribution."""
    heats = [min(max(p.temperature, COLDEST), HOTTEST) for p in params]
    heat = torch.tensor(heats, dtype=torch.float32, device=logits.device)
    # Shifted first: a temperature close to 0 then drives the others to -inf, and never anything to +inf.
    shifted = (logits - logits.amax(dim=-1, keepdim=True)).div_(heat.unsqueeze(-1))
    everything = torch.arange(logits.shape[-1], dtype=torch.int32, device=logits.device)
    best: list[Tensor] = []
    # Row by row, so that the noise stays in the processor's cache.
    for row, p, key in zip(shifted, params, keys, strict=True):
        if _keeps_all(p, len(row)):
            best.append(loudest(row, everything, key_halves(key)))
        else:
            ids = kept_tokens(row, p)[1].sort().values
            best.append(ids[loudest(row[ids], ids.to(torch.int32), key_halves(key))])
    return torch.stack(best).tolist()


def _keeps_all(params: SamplingParams, vocab_size: int) -> bool:
    return params.top_p >= 1 and params.min_p == 0 and (params.top_k == 0 or params.top_k >= vocab_size)


def kept_tokens(row: Tensor, params: SamplingParams) -> tuple[Tensor, Tensor]:
    """What ``min_p``, then ``top_k`` and then ``top_p`` leave of one row, the likeliest first.

    Args:
        row: [vocab] float32, tempered logits of which the largest is 0.
        params: the cuts.

    Returns:
        Weights, float64, and ids of the tokens left.
    """
    probabilities, ids = _likeliest(row, params)
    # The token that crosses top_p is kept: those before it do not reach it.
    kept = int((probabilities.cumsum(0) - probabilities < params.top_p).sum())
    return probabilities[:kept], ids[:kept]


def _likeliest(row: Tensor, params: SamplingParams) -> tuple[Tensor, Tensor]:
    """The tokens that ``min_p`` and ``top_k`` leave, or those that ``top_p`` may need: probabilities and ids.

    Only what lies above a floor is sorted: a whole vocabulary would take milliseconds.
    """
    total = row.exp().sum()
    ids = (row >= _floor(row, params, total)).nonzero().squeeze(-1)
    values, order = row[ids].sort(descending=True, stable=True)
    ids = ids[order]
    if params.top_k or params.min_p:
        kept = min(params.top_k or len(ids), len(ids))
        return torch.softmax(values[:kept], 0, dtype=torch.float64), ids[:kept]
    return values.to(torch.float64).exp() / total, ids


def _floor(row: Tensor, params: SamplingParams, total: Tensor) -> float:
    """A value below which no token of a row can be wanted; the row's largest is 0."""
    floors = [_WEIGHTLESS]
    if params.min_p:
        floors.append(math.log(params.min_p))
    if params.top_k:
        floors.append(_kth_at_least(row, params.top_k))
    elif not params.min_p:
        # Tokens less likely than this hold less than 1 - top_p together: the others reach top_p without them.
        share = (1 - params.top_p) * float(total) / len(row)
        floors.append(math.log(share) - 1e-3 if share > 0 else -math.inf)
    return max(floors)


def _kth_at_least(row: Tensor, count: int) -> float:
    """A value that at least ``count`` tokens reach: the largest of as many runs do."""
    runs = len(row) // _RUN
    if count > runs:
        return float(row.topk(min(count, len(row))).values[-1])
    peaks = row[: runs * _RUN].view(runs, _RUN).amax(-1)
    return float(peaks.topk(count).values[-1])
