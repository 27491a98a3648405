"""From logits to tokens: the likeliest, or a draw that is the sequence's own.

Each sequence brings its own random numbers, one a token, so a seeded answer is the same alone and in a batch.
The draw inverts the cumulative distribution, which a rounding difference in the logits all but never moves.
"""

import math
import random
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from promptcache_engine.config import SamplingParams

# Below this a token's weight is 0 in float32.
_WEIGHTLESS = -110.0
# Weights are summed up in runs of this length first.
_RUN = 256
# Beyond these a temperature changes no draw, but would leave what float32 can hold.
_COLDEST, _HOTTEST = 1e-6, 1e6


class Draws:
    """The random numbers of one sequence.

    Args:
        params: a greedy sequence takes no number; a seeded one always takes the same ones.
        choice: which answer to one prompt this is; each draws otherwise, the first as one that stands alone.
    """

    def __init__(self, params: SamplingParams, choice: int = 0) -> None:
        self._random: random.Random | None = None
        if not params.greedy:
            seed = params.seed if params.seed is None or choice == 0 else f"{params.seed}/{choice}"
            self._random = random.Random(seed)  # noqa: S311 - keeps no secret

    def next(self) -> float:
        """A number in [0, 1) for the next token."""
        return 0.0 if self._random is None else self._random.random()


def sample(logits: Tensor, params: Sequence[SamplingParams], points: Sequence[float]) -> list[int | None]:
    """Choose one token for each row.

    Args:
        logits: [rows, vocab] float32; left unchanged.
        params: how each row is chosen.
        points: a number in [0, 1) for each row: where in its distribution the draw falls.

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
        found = _draw(rows, [params[row] for row in drawn], [points[row] for row in drawn])
        for row, token in zip(drawn, found, strict=True):
            tokens[row] = token
    return tokens


def _draw(logits: Tensor, params: Sequence[SamplingParams], points: Sequence[float]) -> list[int]:
    """Draw from each row's tempered and truncated distribution."""
    heats = [min(max(p.temperature, _COLDEST), _HOTTEST) for p in params]
    heat = torch.tensor(heats, dtype=torch.float32, device=logits.device)
    # Shifted first: a temperature close to 0 then drives the others to -inf, and never anything to +inf.
    shifted = (logits - logits.amax(dim=-1, keepdim=True)).div_(heat.unsqueeze(-1))
    point = torch.tensor(points, dtype=torch.float64, device=logits.device)
    if all(_keeps_all(p, logits.shape[-1]) for p in params):
        return _invert(shifted.exp_(), point).tolist()
    return [
        int(_invert(shifted[row : row + 1].exp(), point[row : row + 1]).item())
        if _keeps_all(p, logits.shape[-1])
        else _draw_truncated(shifted[row], p, point[row : row + 1])
        for row, p in enumerate(params)
    ]


def _keeps_all(params: SamplingParams, vocab_size: int) -> bool:
    return params.top_p >= 1 and params.min_p == 0 and (params.top_k == 0 or params.top_k >= vocab_size)


def _draw_truncated(row: Tensor, params: SamplingParams, point: Tensor) -> int:
    """Draw from the likeliest tokens of one row that ``min_p``, then ``top_k`` and then ``top_p`` leave."""
    probabilities, ids = _likeliest(row, params)
    # The token that crosses top_p is kept: those before it do not reach it.
    kept = int((probabilities.cumsum(0) - probabilities < params.top_p).sum())
    return int(ids[_invert(probabilities[:kept].unsqueeze(0), point)[0]])


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


def _invert(weights: Tensor, point: Tensor) -> Tensor:
    """For each row, the first index up to which the weights exceed ``point`` of the row's sum.

    Found in two strides, first the run of weights and then the weight: a running sum over a whole vocabulary
    would cost more than all the rest.
    """
    rows, size = weights.shape
    padding = -size % _RUN
    runs = (functional.pad(weights, (0, padding)) if padding else weights).view(rows, -1, _RUN)
    upto = runs.sum(-1).cumsum(-1, dtype=torch.float64)
    target = point.unsqueeze(-1) * upto[:, -1:]
    run = _first_above(upto, target)
    before = functional.pad(upto, (1, 0)).gather(-1, run)
    inside = runs[torch.arange(rows, device=run.device), run.squeeze(-1)].cumsum(-1, dtype=torch.float64)
    return (run * _RUN + _first_above(inside, target - before)).squeeze(-1)


def _first_above(cumulative: Tensor, target: Tensor) -> Tensor:
    """For each row, the first index whose value exceeds ``target``; the last rise if rounding leaves none."""
    index = torch.searchsorted(cumulative, target, right=True)
    return torch.minimum(index, (cumulative < cumulative[:, -1:]).sum(dim=-1, keepdim=True))
