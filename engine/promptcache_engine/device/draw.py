"""Draws on the device: parameters go there in one copy, tokens and log-probabilities come back in one.

The tokens are those that ``sampling`` draws on the host from the same logits; where rounding decides what a
cut leaves, another may come.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from promptcache_engine.choosing import Drawn, logprob_of
from promptcache_engine.config import SamplingParams
from promptcache_engine.device.transfers import current, packed
from promptcache_engine.kernels.noise import key_halves
from promptcache_engine.sampling import COLDEST, HOTTEST


class DeviceDraw:
    """A ``choosing.Draw`` by a kernel.

    Args:
        sample_tokens: as ``kernels.reference_sampling.sample_tokens``.
    """

    def __init__(self, sample_tokens: Callable[..., Tensor]) -> None:
        self._sample_tokens = sample_tokens

    def __call__(
        self, logits: Tensor, shaped: Tensor, params: Sequence[SamplingParams], keys: Sequence[int]
    ) -> list[Drawn]:
        """Draw from each row; the host waits once."""
        count = len(params)
        if not count:
            return []
        told = [row for row, each in enumerate(params) if each.logprobs is not None]
        parts = [*_limits(params, keys, logits.shape[-1]), np.array(told, dtype=np.int32)]
        with current(logits.device):
            heats, top_k, top_p, min_p, halves, rows = packed(parts, logits.device)
            tokens = self._sample_tokens(
                shaped,
                heats=heats.view(torch.float32),
                top_k=top_k,
                top_p=top_p.view(torch.float32),
                min_p=min_p.view(torch.float32),
                keys=halves.view(count, 2),
            )
            found, most = [tokens.to(torch.int32)], 0
            if told:
                most = min(max(params[row].logprobs or 0 for row in told), logits.shape[-1])
                found += _scores(logits, tokens, rows, most)
            numbers = torch.cat(found).cpu().numpy()
        return _read(numbers, params, told, most)


def _limits(
    params: Sequence[SamplingParams], keys: Sequence[int], vocab_size: int
) -> list[NDArray[np.int32]]:
    """Of each row: temperature, top_k, top_p, min_p, the halves of its key; floats by their bits."""

    def bits(values: Sequence[float]) -> NDArray[np.int32]:
        return np.array(values, dtype=np.float32).view(np.int32)

    return [
        bits([0.0 if each.greedy else min(max(each.temperature, COLDEST), HOTTEST) for each in params]),
        np.array([min(each.top_k, vocab_size) for each in params], dtype=np.int32),
        bits([each.top_p for each in params]),
        bits([each.min_p for each in params]),
        np.array([key_halves(key) for key in keys], dtype=np.int32).ravel(),
    ]


def _scores(logits: Tensor, tokens: Tensor, rows: Tensor, most: int) -> list[Tensor]:
    """Of ``rows``: the token's log-probability, those of the ``most`` likeliest, their ids; as int32."""
    scores = torch.log_softmax(logits.index_select(0, rows), dim=-1)
    own = scores.gather(1, tokens.index_select(0, rows).clamp(min=0).unsqueeze(-1))
    values, ids = scores.topk(most, dim=-1)
    return [
        own.view(torch.int32).flatten(),
        values.view(torch.int32).flatten(),
        ids.to(torch.int32).flatten(),
    ]


def _read(
    numbers: NDArray[np.int32], params: Sequence[SamplingParams], told: Sequence[int], most: int
) -> list[Drawn]:
    """What came back, taken apart."""
    count = len(params)
    drawn = [Drawn(None if token < 0 else token) for token in numbers[:count].tolist()]
    own, rest = np.split(numbers[count:], [len(told)])
    values, ids = (part.reshape(len(told), most) for part in np.split(rest, 2))
    for place, row in enumerate(told):
        token = drawn[row].token
        if token is not None:
            kept = params[row].logprobs or 0
            likeliest = ids[place, :kept].tolist(), values.view(np.float32)[place, :kept].tolist()
            drawn[row] = Drawn(token, logprob_of(token, float(own.view(np.float32)[place]), *likeliest))
    return drawn
