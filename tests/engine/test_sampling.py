"""Sampling: the right distribution, the right truncation, repeatable draws, poisoned rows alone."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.config import SamplingParams
from promptcache_engine.sampling import Draws, kept_tokens, sample

PROBABILITIES = [0.5, 0.25, 0.15, 0.07, 0.03]
DRAWS = 1000
LOGITS = torch.tensor([[math.log(p) for p in PROBABILITIES]])


def frequencies(params: SamplingParams, logits: torch.Tensor = LOGITS, count: int = DRAWS) -> list[float]:
    draws = Draws(replace(params, seed=7))
    counts: Counter[int | None] = Counter()
    for _ in range(count // 100):
        counts.update(sample(logits.expand(100, -1), [params] * 100, [draws.next() for _ in range(100)]))
    return [counts[token] / count for token in range(logits.shape[-1])]


def renormalized(weights: list[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (SamplingParams(), PROBABILITIES),
        (SamplingParams(temperature=2.0), renormalized([math.sqrt(p) for p in PROBABILITIES])),
        (SamplingParams(temperature=0.5), renormalized([p * p for p in PROBABILITIES])),
        (SamplingParams(top_k=2), renormalized([0.5, 0.25, 0, 0, 0])),
        (SamplingParams(top_p=0.8), renormalized([0.5, 0.25, 0.15, 0, 0])),
        (SamplingParams(top_p=0.4), [1.0, 0, 0, 0, 0]),
        (SamplingParams(top_k=3, top_p=0.8), renormalized([0.5, 0.25, 0, 0, 0])),
        (SamplingParams(top_k=99), PROBABILITIES),
    ],
    ids=str,
)
def test_draws_follow_the_distribution(params: SamplingParams, expected: list[float]) -> None:
    for got, want in zip(frequencies(params), expected, strict=True):
        # Five standard deviations of a binomial share; what is cut off must never be drawn.
        assert abs(got - want) <= 5 * math.sqrt(want * (1 - want) / DRAWS)


def test_a_flat_distribution_is_truncated_over_the_whole_vocabulary() -> None:
    logits = torch.zeros(1, 2000)
    params = SamplingParams(top_p=0.95)
    drawn = {token for point in range(400) for token in sample(logits, [params], [point])}
    assert len(drawn) > 300  # a shortlist of 256 candidates would cap it


@pytest.mark.parametrize(
    "params", [SamplingParams(temperature=0), SamplingParams(top_k=1), SamplingParams(temperature=1e-300)]
)
def test_the_likeliest_token_is_taken(params: SamplingParams) -> None:
    logits = torch.tensor([[0.0, 3.0, 2.9], [5.0, 1.0, -1.0]])
    assert sample(logits, [params] * 2, [1, 9]) == [1, 0]


def test_an_enormous_temperature_draws_evenly_among_possible_tokens() -> None:
    logits = torch.tensor([[50.0, 0.0, -math.inf]])
    shares = frequencies(SamplingParams(temperature=1e300), logits)
    assert abs(shares[0] - 0.5) < 0.05
    assert shares[2] == 0


def test_a_seed_repeats_its_draws_alone_and_in_a_batch() -> None:
    torch.manual_seed(0)
    steps = torch.randn(20, 1, 300)
    params = SamplingParams(temperature=1.3, top_p=0.9, seed=11)
    draws = Draws(params)
    alone = [sample(step, [params], [draws.next()])[0] for step in steps]

    others = [SamplingParams(temperature=0), SamplingParams(top_k=5), SamplingParams(seed=4)]
    rows = [others[0], params, *others[1:]]
    streams = [Draws(row) for row in rows]
    batched = [
        sample(
            torch.cat([torch.randn(1, 300), step, torch.randn(2, 300)]), rows, [s.next() for s in streams]
        )[1]
        for step in steps
    ]
    assert batched == alone
    assert len(set(alone)) > 5


def test_without_a_seed_draws_differ() -> None:
    logits = torch.zeros(1, 50_000)
    assert (
        len({sample(logits, [SamplingParams()], [Draws(SamplingParams()).next()])[0] for _ in range(8)}) > 1
    )


@pytest.mark.parametrize("poison", [math.nan, math.inf])
@pytest.mark.parametrize(
    "params", [SamplingParams(), SamplingParams(temperature=0), SamplingParams(top_p=0.5)]
)
def test_a_poisoned_row_has_no_token_and_others_do(poison: float, params: SamplingParams) -> None:
    logits = torch.zeros(3, 8)
    logits[:, 5] = 9.0
    logits[1, 2] = poison
    tokens = sample(logits, [params] * 3, [1, 5, 9])
    assert tokens[1] is None
    assert tokens[0] is not None
    assert tokens[2] is not None


def test_a_row_of_impossible_tokens_only_has_no_token() -> None:
    assert sample(torch.full((1, 4), -math.inf), [SamplingParams()], [5]) == [None]


@settings(max_examples=60)
@given(
    st.lists(st.floats(-20, 20), min_size=1, max_size=12),
    st.floats(0.05, 5),
    st.floats(0.01, 1),
    st.integers(0, 14),
    st.integers(0, 2**63 - 1),
)
def test_a_drawn_token_is_one_the_truncation_leaves(
    row: list[float], temperature: float, top_p: float, top_k: int, key: int
) -> None:
    logits = torch.tensor([row])
    params = SamplingParams(temperature=temperature, top_p=top_p, top_k=top_k)
    (token,) = sample(logits, [params], [key])
    assert token is not None
    weights = torch.softmax(logits[0].double() / temperature, dim=-1)
    better = weights[logits[0] > logits[0][token]]
    assert top_k == 0 or len(better) < top_k
    kept = torch.topk(weights, min(top_k or len(row), len(row))).values.sum()
    assert float(better.sum() / kept) < top_p + 1e-6


def test_many_draws_pass_a_chi_square_test() -> None:
    shares = torch.tensor([0.5, 0.25, 0.15, 0.07, 0.029, 0.001])
    count, draws = 40_000, Draws(SamplingParams(seed=3))
    rows, keys = shares.log().expand(count, -1), [draws.next() for _ in range(count)]
    tokens = torch.tensor(sample(rows, [SamplingParams()] * count, keys))
    found = torch.bincount(tokens, minlength=len(shares))
    # The value that chance exceeds once in 100,000 times, of 5 degrees of freedom.
    assert float(((found - count * shares) ** 2 / (count * shares)).sum()) < 30.86


@pytest.mark.parametrize(
    "params", [SamplingParams(), SamplingParams(top_p=0.9), SamplingParams(top_k=50)], ids=str
)
def test_where_logits_move_a_little_few_draws_do(params: SamplingParams) -> None:
    """A draw by its place in the vocabulary would move in more than a quarter of the rows."""
    source = torch.Generator().manual_seed(0)
    rows = torch.randn(400, 2000, generator=source) * 2
    moved = rows + torch.randn(400, 2000, generator=source) * 0.02  # 0.8 % of the distribution
    draws = Draws(SamplingParams(seed=1))
    keys = [draws.next() for _ in range(400)]
    pairs = zip(sample(rows, [params] * 400, keys), sample(moved, [params] * 400, keys), strict=True)
    assert sum(one != other for one, other in pairs) < 24


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([5, 300, 1500, 4000]),
    spread=st.sampled_from([0.01, 1.0, 6.0]),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 0.999, 1.0]),
    top_k=st.sampled_from([0, 2, 3, 14, 15, 16, 500]),
    min_p=st.sampled_from([0.0, 0.01, 0.4]),
)
def test_the_last_token_kept_is_the_one_a_full_sort_keeps(
    seed: int, size: int, spread: float, top_p: float, top_k: int, min_p: float
) -> None:
    """Only what lies above a floor is sorted; the floor must never cut what is wanted."""
    logits = torch.randn(1, size, generator=torch.Generator().manual_seed(seed)) * spread
    chances, order = logits[0].double().softmax(0).sort(descending=True)
    kept = min(top_k or size, size, int((chances >= min_p * chances[0]).sum()))
    within = chances[:kept] / chances[:kept].sum()
    wanted = int((within.cumsum(0) - within < top_p).sum())
    params = SamplingParams(top_p=top_p, top_k=top_k, min_p=min_p)
    if params.greedy:
        return
    weights, ids = kept_tokens(logits[0] - logits.max(), params)
    assert weights[0] == weights.max()
    # At the very border rounding may decide otherwise about one token, or about those without weight.
    if top_p < 1 or 0 < top_k < size or min_p:  # else none is cut
        assert abs(len(ids) - wanted) <= 1 + size // 1000
        assert int(ids[0]) == order.tolist()[0] or weights[0] == weights[1]
