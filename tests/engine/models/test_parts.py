"""Numbers, batches, pools, angles and row multiples: what they hold and what they refuse."""

import dataclasses
import math
from typing import Any

import pytest
import torch

from promptcache_engine.models import ForwardBatch, KVPool, ModelConfig, SequenceSlice
from promptcache_engine.models.determinism import RowRule, find_row_rule
from promptcache_engine.models.errors import DeterminismError
from promptcache_engine.models.rope import RotaryTable
from promptcache_engine.models.rope_settings import RopeSettings

CONFIG = ModelConfig(
    architecture="llama",
    num_layers=2,
    hidden_size=24,
    num_heads=6,
    num_kv_heads=2,
    head_dim=4,
    intermediate_size=32,
    vocab_size=100,
    context_length=64,
)


def test_widths_follow_from_heads() -> None:
    assert (CONFIG.group_size, CONFIG.query_width, CONFIG.kv_width) == (3, 24, 8)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"num_layers": 0}, "at least 1"),
        ({"num_kv_heads": 4}, "cannot share"),
        ({"head_dim": 5}, "even"),
        ({"attention_softcap": -1.0}, "attention_softcap"),
        ({"activation": "relu"}, "relu"),
        ({"rms_eps": math.inf}, "rms_eps"),
    ],
)
def test_impossible_sizes_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dataclasses.replace(CONFIG, **change)


def test_pool_layout_is_token_major() -> None:
    pool = KVPool(CONFIG, 10, torch.float32, "cpu")
    assert pool.k.shape == pool.v.shape == (2, 10, 8)
    assert pool.nbytes == 10 * 2 * 2 * 8 * 4
    assert pool.num_slots == 10


def test_pool_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        KVPool(CONFIG, 0, torch.float32, "cpu")


def test_copies_reach_keys_and_values_of_every_layer() -> None:
    pool = KVPool(CONFIG, 4, torch.float32, "cpu")
    pool.k.copy_(torch.randn_like(pool.k))
    pool.v.copy_(torch.randn_like(pool.v))
    keys, values = pool.k.clone(), pool.v.clone()
    pool.copy_slots(torch.tensor([0, 1]), torch.tensor([3, 2]))
    assert torch.equal(pool.k, keys[:, [0, 1, 1, 0]])
    assert torch.equal(pool.v, values[:, [0, 1, 1, 0]])


@pytest.mark.parametrize(
    "slices",
    [
        [SequenceSlice(0, 2, torch.arange(2))],
        [SequenceSlice(1, 3, torch.arange(3))],
        [SequenceSlice(0, 3, torch.arange(2))],
        [SequenceSlice(0, 3, torch.arange(3)), SequenceSlice(3, 0, torch.arange(3))],
        [SequenceSlice(0, 2, torch.arange(2)), SequenceSlice(1, 1, torch.arange(1))],
        [],
    ],
    ids=["too few", "late start", "short context", "empty slice", "overlap", "none"],
)
def test_slices_must_cover_the_rows(slices: list[SequenceSlice]) -> None:
    three = torch.arange(3)
    with pytest.raises(ValueError, match="row"):
        ForwardBatch(three, three, three, slices, three)


def test_rows_must_agree() -> None:
    three = torch.arange(3)
    with pytest.raises(ValueError, match="positions"):
        ForwardBatch(three, torch.arange(2), three, [SequenceSlice(0, 3, three)], three)


def test_angles_follow_the_formula_whatever_was_asked_first() -> None:
    early, late = RotaryTable(8, RopeSettings()), RotaryTable(8, RopeSettings())
    early.at(torch.tensor([3]), 4)
    positions = torch.tensor([0, 3, 5000])
    cos, sin = early.at(positions, 5001)
    angles = positions[:, None].double() * 10_000.0 ** -(torch.arange(0, 8, 2).double() / 8)
    torch.testing.assert_close(cos.double(), angles.cos(), atol=1e-3, rtol=0)
    torch.testing.assert_close(sin.double(), angles.sin(), atol=1e-3, rtol=0)
    assert torch.equal(late.at(positions, 9000)[0], cos)


def test_row_multiple_is_the_smallest_that_is_stable() -> None:
    def fussy(rows: torch.Tensor) -> torch.Tensor:
        return rows + (1e-3 if rows.shape[0] < 16 else 0.0)

    plain = torch.nn.Identity()
    assert find_row_rule([(plain, 4)], torch.float32, torch.device("cpu")) == RowRule(8)
    assert find_row_rule([(plain, 4), (fussy, 4)], torch.float32, torch.device("cpu")) == RowRule(16)


@pytest.mark.parametrize("count", [1, 16, 17, 50])
def test_blocks_hide_how_many_rows_there_are(count: int) -> None:
    def by_number(rows: torch.Tensor) -> torch.Tensor:
        return rows + rows.shape[0]

    rule, rows = RowRule(16, blocked=True), torch.randn(count, 3)
    padded = rule.pad(rows)
    assert padded.shape[0] % 16 == 0
    assert torch.equal(rule.multiply(by_number, padded)[:count], rows + 16)


def test_a_place_that_matters_is_noticed() -> None:
    def by_place(rows: torch.Tensor) -> torch.Tensor:
        return rows + 1e-3 * torch.arange(rows.shape[0])[:, None]

    with pytest.raises(DeterminismError, match="number of rows") as caught:
        find_row_rule([(by_place, 4)], torch.float32, torch.device("cpu"))
    assert "--deterministic" in caught.value.remedy
