"""Sampling from tensors in plain torch: the draws of the engine's own sampler."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.config import SamplingParams
from promptcache_engine.kernels.noise import key_halves
from promptcache_engine.kernels.reference_sampling import sample_tokens
from promptcache_engine.sampling import sample


def halves(*keys: int) -> torch.Tensor:
    return torch.tensor([key_halves(key) for key in keys], dtype=torch.int32)


@settings(max_examples=60)
@given(
    heat=st.one_of(st.just(0.0), st.floats(0.1, 2)),
    top_k=st.integers(0, 40),
    top_p=st.one_of(st.just(1.0), st.floats(0.05, 1)),
    min_p=st.one_of(st.just(0.0), st.floats(0, 0.9)),
    coarse=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_it_draws_what_the_engine_draws(
    heat: float, top_k: int, top_p: float, min_p: float, coarse: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(4, 300, generator=generator) * 3
    logits = logits.round() if coarse else logits
    keys = [seed, seed + 1, 2**62 + seed, 2**63 - 1 - seed]

    def column(value: float) -> torch.Tensor:
        return torch.full((4,), value)

    heats, shares, least = column(heat), column(top_p), column(min_p)
    found = sample_tokens(
        logits, heats=heats, top_k=column(top_k).int(), top_p=shares, min_p=least, keys=halves(*keys)
    )
    params = SamplingParams(
        temperature=float(heats[0]), top_k=top_k, top_p=float(shares[0]), min_p=float(least[0])
    )
    assert found.tolist() == sample(logits, [params] * 4, keys)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_row_whose_largest_is_not_finite_has_no_token(bad: float) -> None:
    logits = torch.zeros(2, 10)
    logits[0, 4] = bad
    one, none = torch.ones(2), torch.zeros(2)
    found = sample_tokens(logits, heats=one, top_k=none.int(), top_p=one, min_p=none, keys=halves(1, 2))
    assert found[0] == -1
    assert found[1] >= 0


def test_a_share_that_float32_cannot_hold_keeps_the_likeliest() -> None:
    """The host may send 0 for it; as the engine's own sampler, the first of equal ones."""
    logits = torch.tensor([[0.0, 2.0, 2.0], [1.0, 0.0, 0.5]])
    one, none = torch.ones(2), torch.zeros(2)
    found = sample_tokens(logits, heats=one, top_k=none.int(), top_p=none, min_p=none, keys=halves(1, 2))
    assert found.tolist() == [1, 0]
    assert sample(logits, [SamplingParams(top_p=1e-60)] * 2, [1, 2]) == [1, 0]


def test_the_likeliest_is_so_by_its_logit_where_weights_are_equal() -> None:
    logits = torch.tensor([[0.0, 1e-9, -1.0]]).expand(8, 3)
    assert torch.equal(*logits[0, :2].sub(1e-9).exp().split(1))
    one, none, keys = torch.ones(8), torch.zeros(8), range(8)
    found = sample_tokens(
        logits, heats=one, top_k=torch.ones(8).int(), top_p=one, min_p=none, keys=halves(*keys)
    )
    assert found.tolist() == [1] * 8 == sample(logits, [SamplingParams(top_k=1)] * 8, list(keys))
