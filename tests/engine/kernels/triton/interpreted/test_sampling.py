"""Sampling on the device, interpreted, against its specification and the engine's own draws."""

import math

import pytest
import torch
from torch import Tensor

from promptcache_engine.config import SamplingParams
from promptcache_engine.kernels import reference_sampling, triton
from promptcache_engine.kernels.noise import key_halves
from promptcache_engine.sampling import sample

VOCAB = 150


def logits(rows: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, VOCAB, generator=torch.Generator().manual_seed(seed)) * 3


def halves(*keys: int) -> Tensor:
    return torch.tensor([key_halves(key) for key in keys], dtype=torch.int32)


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)


RULES = [
    pytest.param(0.0, 0, 1.0, 0.0, id="greedy"),
    pytest.param(0.8, 0, 1.0, 0.0, id="all tokens"),
    pytest.param(1.3, 5, 1.0, 0.0, id="top k"),
    pytest.param(0.7, 0, 0.9, 0.0, id="top p"),
    pytest.param(1.0, 20, 0.5, 0.02, id="all limits"),
    pytest.param(2.0, 0, 1.0, 0.1, id="min p"),
    pytest.param(1.0, 1, 1.0, 0.0, id="top one"),
    pytest.param(1.0, 0, 1e-40, 0.0, id="a share next to none"),
    pytest.param(0.9, VOCAB, 1.0, 1.0, id="as many as there are, as likely as the likeliest"),
]


@pytest.mark.parametrize(("heat", "top_k", "top_p", "min_p"), RULES)
def test_a_row_is_drawn_as_the_engine_draws_it(heat: float, top_k: int, top_p: float, min_p: float) -> None:
    """Random logits, rounded ones of which many are equal, equal ones of which most are excluded: the same
    tokens for the same keys."""
    rows = torch.cat((logits(1), logits(2, seed=1).round(), torch.zeros(1, VOCAB)))
    rows[3, 30:] = -math.inf
    keys = [3, 2**62 + 11, 77_777, 2**63 - 1]
    limits = {
        "heats": column(*[heat] * 4),
        "top_k": torch.tensor([top_k] * 4, dtype=torch.int32),
        "top_p": column(*[top_p] * 4),
        "min_p": column(*[min_p] * 4),
        "keys": halves(*keys),
    }
    found = triton.sample_tokens(rows, **limits)
    assert torch.equal(found, reference_sampling.sample_tokens(rows, **limits))
    params = SamplingParams(temperature=heat, top_k=top_k, top_p=top_p, min_p=min_p)
    assert found.tolist() == sample(rows, [params] * 4, keys)


def test_rows_that_leave_nothing_to_choose() -> None:
    rows = logits(4)
    rows[0, 7] = math.nan
    rows[1, 3] = math.inf
    rows[2] = -math.inf
    rows[3, 1:] = -math.inf
    limits = {
        "heats": column(1, 1, 0, 1),
        "top_k": torch.zeros(4, dtype=torch.int32),
        "top_p": column(1, 1, 1, 0.5),
        "min_p": torch.zeros(4),
        "keys": halves(1, 2, 3, 4),
    }
    assert triton.sample_tokens(rows, **limits).tolist() == [-1, -1, -1, 0]
    assert reference_sampling.sample_tokens(rows, **limits).tolist() == [-1, -1, -1, 0]


def test_no_rows() -> None:
    none = torch.empty(0)
    counts = torch.empty(0, dtype=torch.int32)
    for operation in (triton.sample_tokens, reference_sampling.sample_tokens):
        found = operation(
            torch.empty(0, VOCAB),
            heats=none,
            top_k=counts,
            top_p=none,
            min_p=none,
            keys=counts.view(0, 2),
        )
        assert found.shape == (0,)
