"""From logits to tokens: the likeliest, or a draw that is the sequence's own.

Each sequence brings its own random numbers, one a token, so a seeded answer is the same alone and in a batch.
The draw inverts the cumulative distribution, which a rounding difference in the logits all but never moves.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from promptcache_engine.config import SamplingParams

# Truncated rows are first tried on this many likeliest tokens: sorting a whole vocabulary costs milliseconds.
_CANDIDATES = 256
# Beyond these a temperature changes no draw, but would leave what float32 can hold.
_COLDEST, _HOTTEST = 1e-6, 1e6


class Draws:
    """The random numbers of one sequence.

    Args:
        params: a greedy sequence takes no number; a seeded one always takes the same ones.
    """

    def __init__(self, params: SamplingParams) -> None:
        self._random = None if params.greedy else random.Random(params.seed)  # noqa: S311 - keeps no secret

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
    shifted = (logits - logits.amax(dim=-1, keepdim=True)) / heat.unsqueeze(-1)
    point = torch.tensor(points, dtype=torch.float64, device=logits.device)
    if all(_keeps_all(p, logits.shape[-1]) for p in params):
        return _invert(torch.softmax(shifted, dim=-1), point).tolist()
    return [
        _draw_truncated(shifted[row], p, point[row : row + 1])
        if not _keeps_all(p, logits.shape[-1])
        else int(_invert(torch.softmax(shifted[row : row + 1], dim=-1), point[row : row + 1]).item())
        for row, p in enumerate(params)
    ]


def _keeps_all(params: SamplingParams, vocab_size: int) -> bool:
    return params.top_p >= 1 and (params.top_k == 0 or params.top_k >= vocab_size)


def _draw_truncated(row: Tensor, params: SamplingParams, point: Tensor) -> int:
    """Draw from the likeliest tokens of one row that ``top_k`` and then ``top_p`` leave."""
    vocab_size = row.shape[0]
    limit = min(params.top_k or vocab_size, vocab_size)
    size = limit if params.top_k else min(_CANDIDATES, limit)
    total = row.exp().sum(dtype=torch.float64)
    while True:
        values, ids = torch.topk(row, size)
        probabilities = values.exp().to(torch.float64) / total
        if params.top_k:
            probabilities = probabilities / probabilities.sum()
        cumulative = probabilities.cumsum(0)
        if size == limit or float(cumulative[-1]) >= params.top_p:
            break
        size = min(limit, size * 8)
    # The token that crosses top_p is kept: those before it do not reach it.
    kept = int((cumulative - probabilities < params.top_p).sum().item())
    return int(ids[_invert(probabilities[:kept].unsqueeze(0), point)[0]].item())


def _invert(probabilities: Tensor, point: Tensor) -> Tensor:
    """For each row, the first index whose cumulative weight exceeds ``point`` of the row's sum."""
    cumulative = probabilities.cumsum(-1, dtype=torch.float64)
    target = point.unsqueeze(-1) * cumulative[:, -1:]
    index = torch.searchsorted(cumulative, target, right=True).squeeze(-1)
    # Rounding may put the target on the very sum; the last token with any weight is meant then.
    return torch.minimum(index, (cumulative < cumulative[:, -1:]).sum(dim=-1))
