"""Fused operations in plain torch, against the steps they fuse."""

import pytest
import torch

from promptcache_engine.kernels import coded, reference, reference_fused


def randoms(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_rows_are_increased_in_place_and_normed() -> None:
    hidden, update, weight = randoms(3, 10), randoms(3, 10, seed=1), randoms(10, seed=2)
    total = hidden + update
    found = reference_fused.add_rms_norm(hidden, update, weight, 1e-5, dtype=torch.float32)
    assert torch.equal(hidden, total)
    assert torch.equal(found, reference.rms_norm(total, weight, 1e-5))


def test_an_update_can_be_normed_before() -> None:
    hidden, update, weight = randoms(3, 10), randoms(3, 10, seed=1), randoms(10, seed=2)
    total = hidden + reference.rms_norm(update, weight, 1e-5)
    reference_fused.add_rms_norm(hidden, update, weight, 1e-5, dtype=torch.float32, update_weight=weight)
    assert torch.equal(hidden, total)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("norms", [False, True])
def test_heads_are_normed_rotated_and_written(dtype: torch.dtype, norms: bool) -> None:
    heads, kv_heads, dim = 4, 2, 16
    projected = randoms(3, (heads + 2 * kv_heads) * dim)
    cos, sin, norm = randoms(3, 8, seed=1), randoms(3, 8, seed=2), randoms(dim, seed=3) if norms else None
    pools = [
        torch.full((5, coded.slot_width(kv_heads, dim, dtype) * dtype.itemsize), 1, dtype=torch.uint8).view(
            dtype
        )
        for _ in range(2)
    ]
    untouched = pools[0].view(torch.uint8)[[0, 1, 2]].clone()
    query = reference_fused.rotary_write(
        projected, cos, sin, *pools, slots=torch.tensor([4, -1, 3]),
        heads=heads, dim=dim, query_norm=norm, key_norm=norm, eps=1e-5,
    )  # fmt: skip
    parts = projected.view(3, -1, dim)
    asked, keys, values = parts[:, :heads], parts[:, heads : heads + kv_heads], parts[:, heads + kv_heads :]
    if norm is not None:
        asked, keys = reference.rms_norm(asked, norm, 1e-5), reference.rms_norm(keys, norm, 1e-5)
    assert torch.equal(query, reference.rotary(asked, cos, sin))
    for pool, rows in zip(pools, (reference.rotary(keys, cos, sin), values), strict=True):
        expected = coded.encode(rows.reshape(3, -1), dtype, dim).view(torch.uint8)
        assert torch.equal(pool.view(torch.uint8)[[4, 3]], expected[[0, 2]])
        assert torch.equal(pool.view(torch.uint8)[[0, 1, 2]], untouched)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float8_e4m3fn], ids=str)
def test_slots_move_whole(dtype: torch.dtype) -> None:
    pool = (randoms(2, 6, 16) * 20).to(dtype)
    before = pool.float().clone()
    reference_fused.copy_slots(pool, torch.tensor([1, 2]), torch.tensor([5, 0]))
    assert torch.equal(pool.float()[:, [5, 0]], before[:, [1, 2]])
    taken = reference_fused.gather_slots(pool, torch.tensor([3, 5]))
    assert torch.equal(taken.float(), pool.float()[:, [3, 5]])
    into = torch.empty_like(taken)
    assert reference_fused.gather_slots(pool, torch.tensor([3, 5]), into) is into
    assert torch.equal(into.float(), taken.float())
    reference_fused.scatter_slots(pool, torch.tensor([4, 1]), taken)
    assert torch.equal(pool.float()[:, [4, 1]], taken.float())
