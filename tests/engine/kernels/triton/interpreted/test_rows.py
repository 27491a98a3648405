"""Norms, gates, rotation with the write into pages, and moving slots, interpreted, against their
specification."""

import math

import pytest
import torch
from torch import Tensor

from promptcache_engine.kernels import coded, reference, reference_fused, triton

# A gate far below zero divides by an infinite sum, as it should.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")

TOLERANCES = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 2e-2}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
CODED = [torch.int8, torch.float8_e4m3fn]


def randoms(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    tolerance = TOLERANCES[dtype]
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@DTYPES
@pytest.mark.parametrize("width", [1, 33, 576])
def test_rms_norm(width: int, dtype: torch.dtype) -> None:
    x, weight = randoms(5, width, dtype=dtype), randoms(width, dtype=dtype, seed=1)
    assert_close(triton.rms_norm(x, weight, 1e-5), reference.rms_norm(x, weight, 1e-5), dtype)
    wide = triton.rms_norm(x.view(5, 1, width), weight, 1e-5, torch.float32)
    assert_close(wide, reference.rms_norm(x.view(5, 1, width), weight, 1e-5, torch.float32), torch.float32)


@DTYPES
@pytest.mark.parametrize("norms_update", [False, True])
def test_add_rms_norm(norms_update: bool, dtype: torch.dtype) -> None:
    hidden, update, weight = (
        randoms(3, 70),
        randoms(3, 70, dtype=dtype, seed=1),
        randoms(70, dtype=dtype, seed=2),
    )
    other = randoms(70, dtype=dtype, seed=3) if norms_update else None
    expected_hidden = hidden.clone()
    expected = reference_fused.add_rms_norm(
        expected_hidden, update, weight, 1e-5, dtype=dtype, update_weight=other
    )
    found = triton.add_rms_norm(hidden, update, weight, 1e-5, dtype=dtype, update_weight=other)
    assert_close(found, expected, dtype)
    assert_close(hidden, expected_hidden, dtype if norms_update else torch.float32)


@DTYPES
@pytest.mark.parametrize("width", [1, 70, 1100])
def test_gates(width: int, dtype: torch.dtype) -> None:
    gate_up = randoms(3, 2 * width, dtype=dtype) * 4
    assert_close(triton.silu_mul(gate_up), reference.silu_mul(gate_up), dtype)
    assert_close(triton.gelu_mul(gate_up), reference.gelu_mul(gate_up), dtype)


def rotate_both(
    dtype: torch.dtype, pool_dtype: torch.dtype, *, heads: int, kv_heads: int, dim: int, norms: bool
) -> list[tuple[Tensor, Tensor]]:
    """(queries, keys, values) that the kernel and the specification leave, in pairs."""
    projected = randoms(4, (heads + 2 * kv_heads) * dim, dtype=dtype)
    projected[2, heads * dim : (heads + 1) * dim] = 0
    cos, sin = randoms(4, dim // 2, seed=1), randoms(4, dim // 2, seed=2)
    slots = torch.tensor([7, -1, 0, 3])
    norm = randoms(dim, dtype=dtype, seed=3) if norms else None
    sides = []
    for operation in (triton.rotary_write, reference_fused.rotary_write):
        keys, values = (
            torch.zeros(
                9, coded.slot_width(kv_heads, dim, pool_dtype) * pool_dtype.itemsize, dtype=torch.uint8
            )
            for _ in range(2)
        )
        query = operation(
            projected, cos, sin, keys.view(pool_dtype), values.view(pool_dtype),
            slots=slots, heads=heads, dim=dim, query_norm=norm, key_norm=norm, eps=1e-5,
        )  # fmt: skip
        sides.append((query, keys.view(pool_dtype), values.view(pool_dtype)))
    return list(zip(*sides, strict=True))


@DTYPES
@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.parametrize(
    ("heads", "kv_heads", "dim"), [(1, 1, 2), (6, 2, 80), (3, 3, 64), (2, 1, 96), (1, 1, 256)]
)
def test_rotary_write(heads: int, kv_heads: int, dim: int, norms: bool, dtype: torch.dtype) -> None:
    for found, expected in rotate_both(dtype, dtype, heads=heads, kv_heads=kv_heads, dim=dim, norms=norms):
        assert_close(found, expected, dtype)


@pytest.mark.parametrize("pool_dtype", CODED, ids=str)
@pytest.mark.parametrize("dim", [20, 96, 256])
def test_coded_writes_are_the_specifications_bytes(dim: int, pool_dtype: torch.dtype) -> None:
    _, *pools = rotate_both(torch.float32, pool_dtype, heads=4, kv_heads=2, dim=dim, norms=False)
    for found, expected in pools:
        assert torch.equal(found.view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.parametrize("pool_dtype", CODED, ids=str)
def test_coded_writes_of_all_sizes_are_the_specifications_bytes(pool_dtype: torch.dtype) -> None:
    sizes = torch.tensor([1e-45, 1e-43, 8e-43, 1e-40, 1e-37, 1e-36, 1e-30, 1.0, 1e30])
    projected = randoms(len(sizes), 3 * 16) * sizes.unsqueeze(1)
    cos, sin = torch.ones(len(sizes), 8), torch.zeros(len(sizes), 8)
    sides = []
    for operation in (triton.rotary_write, reference_fused.rotary_write):
        pools = [torch.zeros(9, coded.slot_width(1, 16, pool_dtype)).to(pool_dtype) for _ in "kv"]
        operation(projected, cos, sin, *pools, slots=torch.arange(9), heads=1, dim=16)
        sides.append(pools)
    for found, expected in zip(*sides, strict=True):
        assert torch.equal(coded.raw(found), coded.raw(expected))
        assert not coded.decode(found, torch.float32, 16).isnan().any()


@pytest.mark.parametrize("pool_dtype", CODED, ids=str)
def test_what_is_not_a_number_stays_so_in_coded_pages(pool_dtype: torch.dtype) -> None:
    projected = randoms(1, 3 * 16)
    projected[0, 17] = math.nan
    pools = [
        torch.zeros(1, coded.slot_width(1, 16, pool_dtype), dtype=torch.uint8).view(pool_dtype) for _ in "kv"
    ]
    angles = torch.ones(1, 8), torch.zeros(1, 8)
    triton.rotary_write(projected, *angles, *pools, slots=torch.tensor([0]), heads=1, dim=16)
    assert coded.decode(pools[0], torch.float32, 16).isnan().any()
    assert not coded.decode(pools[1], torch.float32, 16).isnan().any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8], ids=str)
@pytest.mark.parametrize("width", [1, 7, 1100])
def test_slots_move(width: int, dtype: torch.dtype) -> None:
    pools = [(randoms(3, 9, width) * 50).to(dtype) for _ in range(2)]
    gathered = []
    for pool, operations in zip(pools, (triton, reference_fused), strict=True):
        operations.copy_slots(pool, torch.tensor([1, 2]), torch.tensor([5, 0]))
        gathered.append(operations.gather_slots(pool, torch.tensor([4, 0, 4])))
        operations.scatter_slots(pool, torch.tensor([8, 7]), gathered[-1][:, :2].contiguous())
        into = torch.empty_like(gathered[-1])
        assert operations.gather_slots(pool, torch.tensor([4, 0, 4]), into) is into
        assert torch.equal(into, gathered[-1])
    assert torch.equal(*gathered)
    assert torch.equal(*pools)


@pytest.mark.parametrize(
    ("dtype", "wide", "apart", "offset"),
    [
        (torch.bfloat16, 4, 5, 0),
        (torch.bfloat16, 4, 4, 1),
        (torch.int8, 8, 9, 0),
        (torch.int8, 8, 10, 2),
        (torch.float8_e4m3fn, 8, 9, 1),
        (torch.float32, 3, 5, 1),
    ],
    ids=str,
)
def test_slots_move_between_rows_that_begin_differently(
    dtype: torch.dtype, wide: int, apart: int, offset: int
) -> None:
    """One side in whole words, the other ``apart`` values apart behind an odd place."""
    slots, left = torch.tensor([6, 2, 5]), torch.tensor([0, 1, 3, 4, 7])
    pool = (randoms(2, 8, wide) * 50).to(dtype)

    def odd() -> Tensor:
        memory = torch.zeros((6 * apart + offset) * dtype.itemsize, dtype=torch.uint8).view(dtype)
        return memory[offset:].view(2, 3, apart)[:, :, :wide]

    rows = odd()
    assert triton.gather_slots(pool, slots, rows) is rows
    assert torch.equal(coded.raw(rows), coded.raw(pool)[:, slots])
    back = torch.zeros(2, 8, wide).to(dtype)
    triton.scatter_slots(back, slots, rows)
    assert torch.equal(coded.raw(back)[:, slots], coded.raw(pool)[:, slots])
    assert not coded.raw(back)[:, left].any()


def test_slots_do_not_move_between_rows_of_different_sizes() -> None:
    pool, slots = randoms(2, 8, 4), torch.tensor([1])
    for rows in (randoms(2, 1, 5), randoms(1, 1, 4)):
        with pytest.raises(ValueError, match="do not fit"):
            triton.scatter_slots(pool, slots, rows)
