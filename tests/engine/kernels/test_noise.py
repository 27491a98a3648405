"""Noise of a key and a token alone: its distribution, and that the sieve never loses the loudest."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.kernels.noise import gumbel_noise, hashed, key_halves, loudest

EULER = 0.5772156649


def test_it_is_of_a_key_and_a_token_alone() -> None:
    ids = torch.arange(5000, dtype=torch.int32)
    whole = gumbel_noise(key_halves(2**62 + 5), ids)
    some = ids[torch.randperm(5000, generator=torch.Generator().manual_seed(0))[:77]]
    assert torch.equal(gumbel_noise(key_halves(2**62 + 5), some), whole[some.long()])
    for other in (0, 2**62 + 4, 5, 2**63 - 1):
        noise = gumbel_noise(key_halves(other), ids)
        assert bool(noise.isfinite().all())
        assert abs(float(torch.corrcoef(torch.stack((whole, noise)))[0, 1])) < 0.07  # five deviations


def test_it_is_gumbels() -> None:
    noise = gumbel_noise(key_halves(7), torch.arange(200_000, dtype=torch.int32))
    deviation = math.pi / math.sqrt(6)
    assert abs(float(noise.mean()) - EULER) < 5 * deviation / math.sqrt(200_000)
    assert abs(float(noise.std()) - deviation) < 0.02
    for bound in (-1.0, 0.0, 2.0):
        share = math.exp(-math.exp(-bound))
        assert abs(float((noise < bound).double().mean()) - share) < 5 * math.sqrt(share / 200_000)


def test_the_hash_is_the_one_that_was_chosen() -> None:
    """A seed's answers last: the numbers may not change, neither here nor in a kernel."""
    assert key_halves(0) == (565792945, -1048989599)
    mixed = hashed((1, -2), torch.tensor([0, 1, 128_255], dtype=torch.int32))
    assert mixed.tolist() == [393646273, 1473625683, 484932424]


@settings(max_examples=80)
@given(
    key=st.integers(0, 2**63 - 1),
    heat=st.sampled_from([1e-6, 0.01, 0.7, 1.0, 3.0, 1e6]),
    size=st.sampled_from([1, 2, 300, 5000]),
    spread=st.sampled_from([0.0, 3.0, 30.0]),
)
def test_the_sieve_loses_nothing(key: int, heat: float, size: int, spread: float) -> None:
    """One token far above the others draws the least noise it may, too: then float32 is coarsest."""
    logits = torch.randn(size, generator=torch.Generator().manual_seed(key % 1000)) * spread
    values = (logits - logits.max()) / heat
    ids = torch.arange(size, dtype=torch.int32)
    halves = key_halves(key)
    exact = values.double() + gumbel_noise(halves, ids)
    assert int(loudest(values, ids, halves)) == int(exact.argmax())


def test_of_equal_sums_the_first() -> None:
    values = torch.tensor([-1.0, 0.0, 0.0, -float("inf")])
    same = torch.full((4,), 9, dtype=torch.int32)
    assert int(loudest(values, same, (5, 6))) == 1
