"""The operations in fewer calls, against those that specify them: equal to the bit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.kernels import coded, host, reference, reference_fused

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
KINDS = [*DTYPES, torch.int8, torch.float8_e4m3fn]
HEADS, DIM = 3, 16


def randoms(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def pool_of(rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return coded.encode(rows, dtype, DIM)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [8, 33, 576])
@pytest.mark.parametrize("rows", [1, 2, 7, 65])
def test_norms(dtype: torch.dtype, width: int, rows: int) -> None:
    x, weight = randoms(rows, width).to(dtype), randoms(width, seed=1)
    assert torch.equal(host.rms_norm(x, weight, 1e-5), reference.rms_norm(x, weight, 1e-5))
    assert torch.equal(host.rms_norm(x, weight, 1e-5, dtype), reference.rms_norm(x, weight, 1e-5, dtype))
    hiddens = randoms(rows, width, seed=2), randoms(rows, width, seed=2)
    for norm in (None, randoms(width, seed=3)):
        found, expected = (
            each.add_rms_norm(hidden, x, weight, 1e-6, dtype=dtype, update_weight=norm)
            for each, hidden in zip((host, reference_fused), hiddens, strict=True)
        )
        assert torch.equal(found, expected)
        assert torch.equal(*hiddens)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [2, 8, 64, 96])
def test_rotation(dtype: torch.dtype, dim: int) -> None:
    x, cos, sin = randoms(5, 4, dim).to(dtype), randoms(5, dim // 2, seed=1), randoms(5, dim // 2, seed=2)
    assert torch.equal(host.rotary(x, host.turns(cos, sin)), reference.rotary(x, cos, sin))


slots_in_runs = st.lists(st.integers(1, 9), min_size=1, max_size=40).flatmap(
    lambda lengths: st.permutations(range(len(lengths))).map(
        lambda order: [
            place * 10 + i for place, length in zip(order, lengths, strict=True) for i in range(length)
        ]
    )
)


@given(slots=slots_in_runs, dtype=st.sampled_from(KINDS))
@settings(max_examples=60)
def test_slots_in_any_order_are_read_and_written(slots: list[int], dtype: torch.dtype) -> None:
    """In one run, in several, in more than are copied one by one."""
    where, size = torch.tensor(slots), 10 * 41
    pool, rows = pool_of(randoms(size, HEADS * DIM), dtype), randoms(len(slots), HEADS * DIM, seed=1)
    runs, before = host.Runs(where), coded.raw(pool).clone()
    room = torch.full((len(slots), HEADS * DIM), float("nan"))
    expected = coded.decode(coded.raw(pool)[where].view(dtype), torch.float32, DIM).view(-1, HEADS, DIM)
    assert torch.equal(runs.read(pool, room, DIM), expected.transpose(0, 1))

    runs.write(rows, pool, DIM)
    assert torch.equal(coded.raw(pool)[where], coded.raw(pool_of(rows, dtype)))
    others = torch.ones(size, dtype=torch.bool).index_fill_(0, where, False)
    assert torch.equal(coded.raw(pool)[others], before[others])


def test_one_run_of_float32_is_not_copied() -> None:
    pool = randoms(20, HEADS * DIM)
    read = host.Runs(torch.arange(3, 11)).read(pool, torch.empty(8, HEADS * DIM), DIM)
    assert read.data_ptr() == pool[3].data_ptr()
