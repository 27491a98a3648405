"""Draws on the device, with the kernel's plain-torch version: the host's tokens, and one copy back."""

import math

import pytest
import torch

from promptcache_engine.choosing import draw_on_host
from promptcache_engine.config import SamplingParams
from promptcache_engine.device.draw import DeviceDraw
from promptcache_engine.kernels.reference_sampling import sample_tokens

draw = DeviceDraw(sample_tokens)

ASKED = [
    SamplingParams(temperature=0),
    SamplingParams(temperature=0, logprobs=0),
    SamplingParams(temperature=0.8, logprobs=3),
    SamplingParams(temperature=1e-300, top_k=10**9),
    SamplingParams(temperature=1.0, top_k=5, logprobs=1),
    SamplingParams(temperature=1.3, top_p=0.7, min_p=0.01),
    SamplingParams(top_k=1, temperature=5),
]


def test_it_draws_what_the_host_draws() -> None:
    source = torch.Generator().manual_seed(3)
    logits = torch.randn(len(ASKED), 700, generator=source) * 3
    shaped = logits.clone()
    shaped[:, :50] = -math.inf
    for first in range(0, 40, 10):
        keys = [2**62 + first + row for row in range(len(ASKED))]
        found, expected = draw(logits, shaped, ASKED, keys), draw_on_host(logits, shaped, ASKED, keys)
        assert [each.token for each in found] == [each.token for each in expected]
        for one, other in zip(found, expected, strict=True):
            assert (one.logprob is None) == (other.logprob is None)
            if one.logprob is not None and other.logprob is not None:
                assert one.logprob.token_id == other.logprob.token_id
                assert one.logprob.logprob == pytest.approx(other.logprob.logprob)
                assert [token for token, _ in one.logprob.top] == [token for token, _ in other.logprob.top]


def test_rows_with_nothing_to_choose_have_no_token() -> None:
    logits = torch.zeros(3, 20)
    logits[0, 4] = math.nan
    logits[2] = -math.inf
    params = [SamplingParams(logprobs=1)] * 3
    found = draw(logits, logits, params, [1, 2, 3])
    assert [each.token is None for each in found] == [True, False, True]
    assert [each.logprob is None for each in found] == [True, False, True]
    assert draw(logits[:0], logits[:0], [], []) == []
