"""Slots in eight bits: their layout, their error, and what decides their bytes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.kernels import coded

CODINGS = pytest.mark.parametrize("dtype", list(coded.LARGEST), ids=str)


def rows(count: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("kv_heads", "dim"), [(1, 64), (8, 128), (3, 80), (2, 20), (1, 12)])
@CODINGS
def test_a_slot_holds_its_heads_and_their_scales(dtype: torch.dtype, kv_heads: int, dim: int) -> None:
    width = coded.slot_width(kv_heads, dim, dtype)
    assert width % 16 == 0
    assert kv_heads * (dim + 4) <= width < kv_heads * (dim + 4) + 16
    pool = torch.zeros(5, width, dtype=torch.uint8).view(dtype)
    assert coded.heads_in(pool, dim) == kv_heads
    parts = coded.take_apart(pool, dim)
    assert parts.values.shape == (5, kv_heads * dim)
    assert parts.scales is not None
    assert parts.scales.shape == (5, kv_heads)


def test_plain_slots_hold_values_only() -> None:
    pool = torch.zeros(5, 96)
    assert coded.slot_width(3, 32, torch.float32) == 96
    assert coded.heads_in(pool, 32) == 3
    assert coded.take_apart(pool, 32).scales is None
    given_rows = rows(2, 96)
    assert torch.equal(
        coded.decode(coded.encode(given_rows, torch.float32, 32), torch.float32, 32), given_rows
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8])
def test_slots_of_another_width_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match="do not hold heads of 32"):
        coded.heads_in(torch.zeros(1, 65, dtype=dtype), 32)


@pytest.mark.parametrize(("dim", "message"), [(14, "not aligned"), (8, "12 are the least")])
def test_heads_that_cannot_be_coded(dim: int, message: str) -> None:
    pool = torch.zeros(1, coded.slot_width(1, dim, torch.int8), dtype=torch.int8)
    with pytest.raises(ValueError, match=message):
        coded.take_apart(pool, dim)


@settings(max_examples=40)
@given(dtype=st.sampled_from(list(coded.LARGEST)), size=st.floats(-20, 20), seed=st.integers(0, 99))
def test_what_is_read_is_close_to_what_was_written(dtype: torch.dtype, size: float, seed: int) -> None:
    given_rows = rows(3, 2 * 16, seed) * 2.0**size
    found = coded.decode(coded.encode(given_rows, dtype, 16), torch.float32, 16)
    peaks = given_rows.view(3, 2, 16).abs().amax(-1, keepdim=True)
    # int8: half a step of peak / 127. e4m3: a sixteenth of a value, and near 0 a small part of the peak.
    bound = peaks / 254 if dtype == torch.int8 else given_rows.view(3, 2, 16).abs() / 16 + peaks * 2.0**-18
    assert bool(((found - given_rows).view(3, 2, 16).abs() <= bound * 1.001).all())


@CODINGS
def test_zeros_stay_zeros_and_what_is_not_a_number_stays_so(dtype: torch.dtype) -> None:
    given_rows = torch.zeros(2, 16)
    given_rows[1, 3] = torch.nan
    found = coded.decode(coded.encode(given_rows, dtype, 16), torch.float32, 16)
    assert bool((found[0] == 0).all())
    assert bool(found[1].isnan().any())


@CODINGS
@pytest.mark.parametrize("peak", [1e-45, 1e-43, 8e-43, 1e-40, 1e-38])
def test_heads_next_to_zero_are_zeros(dtype: torch.dtype, peak: float) -> None:
    """Their scale would be rounded to nothing, or so far that values leave the coding's range."""
    given_rows = torch.linspace(-peak, peak, 16).unsqueeze(0)
    assert bool(given_rows.any())
    assert not bool(coded.decode(coded.encode(given_rows, dtype, 16), torch.float32, 16).any())


@CODINGS
def test_a_tokens_bytes_depend_on_the_token_alone(dtype: torch.dtype) -> None:
    given_rows = rows(6, 32)
    together = coded.encode(given_rows, dtype, 16).view(torch.uint8)
    alone = [coded.encode(row.unsqueeze(0), dtype, 16).view(torch.uint8) for row in given_rows]
    assert torch.equal(together, torch.cat(alone))
