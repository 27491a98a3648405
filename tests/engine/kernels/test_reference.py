"""The plain-torch operations against formulas written out in float64."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from promptcache_engine.kernels import reference

SHAPES = [
    pytest.param(1, 1, 4, 1, 1, id="one token alone"),
    pytest.param(3, 1, 8, 7, 7, id="short prompt, one group"),
    pytest.param(4, 4, 6, 9, 1, id="decode without groups, odd head"),
    pytest.param(9, 3, 64, 300, 1, id="decode past a key tile"),
    pytest.param(9, 3, 64, 300, 70, id="chunk past a query tile"),
    pytest.param(4, 2, 8, 256, 256, id="exactly one key tile"),
    pytest.param(8, 1, 16, 513, 65, id="one head for all"),
    pytest.param(6, 2, 80, 130, 129, id="odd sizes"),
]


def attention_by_definition(
    query: Tensor, keys: Tensor, values: Tensor, window: int | None = None, softcap: float | None = None
) -> Tensor:
    """[n, H, D] over [L, Hk, D], one row and head at a time, in float64."""
    count, heads, dim = query.shape
    context, kv_heads, _ = keys.shape
    out = torch.zeros(count, heads, dim, dtype=torch.float64)
    for row in range(count):
        seen = context - count + row + 1
        first = 0 if window is None else max(0, seen - window)
        for head in range(heads):
            shared = head * kv_heads // heads
            scores = keys[first:seen, shared].double() @ query[row, head].double() / math.sqrt(dim)
            if softcap is not None:
                scores = softcap * torch.tanh(scores / softcap)
            out[row, head] = torch.softmax(scores, 0) @ values[first:seen, shared].double()
    return out.view(count, -1)


def random_context(kv_heads: int, dim: int, context: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Pools with the context in random slots and NaN everywhere else."""
    generator = torch.Generator().manual_seed(seed)
    size = 2 * context + 3
    slots = torch.randperm(size, generator=generator)[:context]
    pools = []
    for _ in range(2):
        pool = torch.full((size, kv_heads * dim), math.nan)
        pool[slots] = torch.randn(context, kv_heads * dim, generator=generator)
        pools.append(pool)
    return pools[0], pools[1], slots


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(("heads", "kv_heads", "dim", "context", "count"), SHAPES)
def test_attention_equals_its_definition(
    heads: int, kv_heads: int, dim: int, context: int, count: int, deterministic: bool
) -> None:
    keys, values, slots = random_context(kv_heads, dim, context)
    query = torch.randn(count, heads, dim, generator=torch.Generator().manual_seed(1))
    found = reference.paged_attention(
        query, keys, values, [(0, count, slots)], scale=dim**-0.5, deterministic=deterministic
    )
    shape = (context, kv_heads, dim)
    expected = attention_by_definition(query, keys[slots].view(shape), values[slots].view(shape))
    torch.testing.assert_close(found.double(), expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("softcap", [None, 1.5])
@pytest.mark.parametrize("window", [1, 5, 64, 256, 257, 600])
@pytest.mark.parametrize(("context", "count"), [(1, 1), (70, 70), (300, 1), (530, 70), (513, 65)])
def test_attention_in_a_window_equals_its_definition(
    context: int, count: int, window: int, softcap: float | None, deterministic: bool
) -> None:
    """Slots that every row's window has passed hold NaN."""
    keys, values, slots = random_context(2, 8, context)
    passed = slots[: max(0, context - count + 1 - window)]
    keys[passed] = values[passed] = math.nan
    query = torch.randn(count, 4, 8, generator=torch.Generator().manual_seed(1))
    found = reference.paged_attention(
        query,
        keys,
        values,
        [(0, count, slots)],
        scale=8**-0.5,
        window=window,
        softcap=softcap,
        deterministic=deterministic,
    )
    shape = (context, 2, 8)
    given = keys[slots].view(shape), values[slots].view(shape)
    expected = attention_by_definition(query, *given, window=window, softcap=softcap)
    torch.testing.assert_close(found.double(), expected, atol=2e-6, rtol=1e-5)


@settings(max_examples=25)
@given(context=st.integers(2, 900), window=st.integers(1, 600), data=st.data())
def test_deterministic_rows_in_a_window_do_not_depend_on_the_chunk(
    context: int, window: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, context))
    rows = data.draw(st.integers(1, count))
    keys, values, slots = random_context(1, 16, context, seed=context)
    query = torch.randn(count, 3, 16, generator=torch.Generator().manual_seed(count))

    def attend(part: Tensor, own: Tensor) -> Tensor:
        return reference.paged_attention(
            part,
            keys,
            values,
            [(0, part.shape[0], own)],
            scale=0.25,
            window=window,
            softcap=5.0,
            deterministic=True,
        )

    whole = attend(query, slots)
    assert torch.equal(attend(query[-rows:].clone(), slots), whole[-rows:])
    assert torch.equal(attend(query[:rows].clone(), slots[: context - count + rows]), whole[:rows])


@pytest.mark.parametrize("deterministic", [False, True])
def test_sequences_of_a_step_do_not_see_each_other(deterministic: bool) -> None:
    keys, values, slots = random_context(2, 8, 40)
    query = torch.randn(13, 4, 8)
    slices = [(0, 3, slots[:20]), (3, 1, slots[20:21]), (4, 9, slots[21:40])]

    def attend(rows: Tensor, sequences: list[tuple[int, int, Tensor]]) -> Tensor:
        return reference.paged_attention(
            rows, keys, values, sequences, scale=0.3, deterministic=deterministic
        )

    together = attend(query, slices)
    for start, length, own in slices:
        alone = attend(query[start : start + length], [(0, length, own)])
        assert torch.equal(together[start : start + length], alone)


@settings(max_examples=25)
@given(context=st.integers(2, 700), data=st.data())
def test_deterministic_rows_do_not_depend_on_the_chunk(context: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, context))
    rows = data.draw(st.integers(1, count))
    keys, values, slots = random_context(3, 16, context, seed=context)
    query = torch.randn(count, 9, 16, generator=torch.Generator().manual_seed(count))

    def attend(part: Tensor, own: Tensor) -> Tensor:
        return reference.paged_attention(
            part, keys, values, [(0, part.shape[0], own)], scale=0.25, deterministic=True
        )

    whole = attend(query, slots)
    assert torch.equal(attend(query[-rows:].clone(), slots), whole[-rows:])
    assert torch.equal(attend(query[:rows].clone(), slots[: context - count + rows]), whole[:rows])


def test_attention_in_bfloat16_stays_close_to_float32() -> None:
    keys, values, slots = random_context(2, 32, 90)
    query = torch.randn(5, 6, 32)
    exact = reference.paged_attention(query, keys, values, [(0, 5, slots)], scale=0.2)
    rounded = reference.paged_attention(
        query.bfloat16(), keys.bfloat16(), values.bfloat16(), [(0, 5, slots)], scale=0.2
    )
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, atol=0.03, rtol=0.03)


def test_rms_norm_equals_its_formula() -> None:
    x, weight = torch.randn(5, 33), torch.randn(33)
    wide = x.double()
    expected = wide / (wide.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight.double()
    torch.testing.assert_close(reference.rms_norm(x, weight, 1e-5).double(), expected, atol=1e-6, rtol=1e-5)


def test_rotary_turns_each_pair_by_its_angle() -> None:
    x, angles = torch.randn(4, 3, 10), torch.randn(4, 5)
    turned = reference.rotary(x, angles.cos(), angles.sin())
    pairs = torch.complex(x[..., :5].double(), x[..., 5:].double())
    expected = pairs * torch.polar(torch.ones(4, 1, 5).double(), angles[:, None].double())
    torch.testing.assert_close(turned[..., :5].double(), expected.real, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(turned[..., 5:].double(), expected.imag, atol=1e-6, rtol=1e-5)


def test_silu_mul_takes_the_gate_first() -> None:
    gate, up = torch.randn(7, 11) * 20, torch.randn(7, 11)
    expected = gate.double() * torch.sigmoid(gate.double()) * up.double()
    found = reference.silu_mul(torch.cat((gate, up), dim=-1))
    torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=1e-5)


def test_gelu_mul_equals_its_formula() -> None:
    gate, up = torch.randn(7, 11) * 5, torch.randn(7, 11)
    inner = math.sqrt(2 / math.pi) * (gate.double() + 0.044715 * gate.double() ** 3)
    expected = 0.5 * gate.double() * (1 + torch.tanh(inner)) * up.double()
    found = reference.gelu_mul(torch.cat((gate, up), dim=-1))
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)


GATES = [reference.silu_mul, reference.gelu_mul]


@pytest.mark.parametrize("gate", GATES)
def test_gates_give_a_row_the_same_bits_alone_and_among_others(gate: Callable[[Tensor], Tensor]) -> None:
    rows = torch.randn(40, 2 * 37)  # an odd width, so that rows end inside a vector register
    whole = gate(rows)
    assert all(torch.equal(gate(rows[i : i + 1]), whole[i : i + 1]) for i in range(40))


@pytest.mark.parametrize("gate", GATES)
def test_gates_survive_extreme_values(gate: Callable[[Tensor], Tensor]) -> None:
    found = gate(torch.tensor([[-1e10, -200.0, 200.0, 1.0, 1.0, 1.0]]))
    assert found.tolist() == [[0.0, 0.0, 200.0]]


def test_softcap_presses_into_its_bounds_and_keeps_small_values() -> None:
    scores = torch.tensor([-1e9, 0.01, 0.0, 1e9])
    torch.testing.assert_close(reference.softcap_(scores, 30.0), torch.tensor([-30.0, 0.01, 0.0, 30.0]))


def test_softcap_gives_a_value_the_same_bits_anywhere() -> None:
    scores = torch.randn(200) * 9
    whole = reference.softcap_(scores.clone(), 7.0)
    for low in range(0, 190, 7):
        assert torch.equal(reference.softcap_(scores[low : low + 11].clone(), 7.0), whole[low : low + 11])


def test_write_kv_touches_only_its_slots() -> None:
    keys, values = torch.zeros(6, 4), torch.zeros(6, 4)
    slots = torch.tensor([4, 1])
    reference.write_kv(torch.full((2, 4), 2.0), torch.full((2, 4), 3.0), keys, values, slots=slots, dim=2)
    assert keys[:, 0].tolist() == [0, 2, 0, 0, 2, 0]
    assert values[:, 0].tolist() == [0, 3, 0, 0, 3, 0]


def test_copy_slots_reads_everything_before_it_writes() -> None:
    pool = torch.arange(5.0).view(1, 5, 1).repeat(2, 1, 3)
    reference.copy_slots(pool, torch.tensor([0, 1, 2]), torch.tensor([1, 2, 4]))
    assert pool[:, :, 0].tolist() == [[0, 0, 1, 3, 2]] * 2
