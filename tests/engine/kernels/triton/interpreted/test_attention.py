"""Both attention kernels against their specification, interpreted."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from promptcache_engine.kernels import coded, reference_pages, triton
from promptcache_engine.kernels.tables import Chunks
from promptcache_engine.kernels.triton import extend_split, tiles
from promptcache_engine.kernels.triton.launch import Target
from promptcache_engine.kernels.triton.layer import layer_of
from tests.engine.kernels.triton.cases import NOWHERE, Case, chunks_of, make_case, readable

SHAPES = [
    pytest.param(1, 1, 64, 1, [1], [1], id="one token alone, pages of one"),
    pytest.param(4, 4, 80, 16, [33, 0, 1], [3, 0, 1], id="without groups, an empty sequence"),
    pytest.param(8, 2, 96, 7, [70, 5], [9, 5], id="odd pages"),
    pytest.param(6, 1, 128, 3, [40, 2], [7, 1], id="one head for all"),
    pytest.param(40, 2, 64, 5, [35], [2], id="a group larger than a tile"),
    pytest.param(2, 1, 256, 4, [20, 17], [17, 17], id="wide heads, a whole prompt"),
    pytest.param(3, 3, 40, 32, [65], [1], id="a head that fills no tile, past two splits"),
]
HALVES = {torch.float16: SHAPES[1::2], torch.bfloat16: SHAPES[::2]}
TYPED = [
    pytest.param(*shape.values, dtype, id=f"{shape.id}, {str(dtype).removeprefix('torch.')}")
    for dtype, shapes in {torch.float32: SHAPES, **HALVES}.items()
    for shape in shapes
]
"""Every shape in float32 and in one of the halves."""

TOLERANCES = {torch.float32: 3e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def queries(rows: int, heads: int, dim: int, dtype: torch.dtype = torch.float32, seed: int = 1) -> Tensor:
    return torch.randn(rows, heads, dim, generator=torch.Generator().manual_seed(seed)).to(dtype)


def divided(
    case: Case,
    query: Tensor,
    chunks: Chunks,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    deterministic: bool = False,
) -> Tensor:
    """Extend attention with the keys of chunks divided, however short the contexts are."""
    layer = layer_of(query, case.keys, case.values, scale, window, softcap)
    out = query.new_empty(query.shape[0], query.shape[1] * query.shape[2])
    for launch in extend_split.plan(
        Target("cpu"), query, layer, case.table, chunks, out, deterministic=deterministic
    ):
        launch.run()
    return out


def both(case: Case, query: Tensor, lengths: list[int] | None, **rules: Any) -> tuple[Tensor, Tensor]:
    """What the kernel and its specification find, for the chunks or for one row a sequence.

    Of chunks the form that divides their keys is compared here.
    """
    if lengths is None:
        found = triton.decode_attention(query, case.keys, case.values, case.table, **rules)
        return found, reference_pages.decode_attention(query, case.keys, case.values, readable(case), **rules)
    chunks = chunks_of(lengths)
    found = triton.extend_attention(query, case.keys, case.values, case.table, chunks, **rules)
    close = TOLERANCES[query.dtype]
    torch.testing.assert_close(divided(case, query, chunks, **rules), found, atol=close, rtol=close)
    return found, reference_pages.extend_attention(
        query, case.keys, case.values, readable(case), chunks, **rules
    )


@pytest.mark.usefixtures("short_splits")
@pytest.mark.parametrize(("heads", "kv_heads", "dim", "page_size", "contexts", "lengths", "dtype"), TYPED)
def test_attention_equals_its_specification(
    heads: int,
    kv_heads: int,
    dim: int,
    page_size: int,
    contexts: list[int],
    lengths: list[int],
    dtype: torch.dtype,
) -> None:
    case = make_case(contexts, kv_heads=kv_heads, dim=dim, page_size=page_size, dtype=dtype)
    close = {"atol": TOLERANCES[dtype], "rtol": TOLERANCES[dtype]}
    found, expected = both(case, queries(len(contexts), heads, dim, dtype), None, scale=dim**-0.5)
    torch.testing.assert_close(found, expected, **close)
    found, expected = both(case, queries(sum(lengths), heads, dim, dtype), lengths, scale=dim**-0.5)
    torch.testing.assert_close(found, expected, **close)


@pytest.mark.usefixtures("short_splits")
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("softcap", [None, 1.5])
@pytest.mark.parametrize("window", [None, 1, 17, 40, 200])
def test_attention_by_rules_equals_its_specification(
    window: int | None, softcap: float | None, deterministic: bool
) -> None:
    """What every row's window has passed is poison, and lies in pages that do not exist."""
    contexts, lengths = [75, 3, 30], [12, 1, 30]
    for chunk in (None, lengths):
        own = [1, 1, 1] if chunk is None else chunk
        passed = [
            0 if window is None else context - length + 1 - window
            for context, length in zip(contexts, own, strict=True)
        ]
        case = make_case(contexts, kv_heads=2, dim=16, page_size=5, unseen=passed)
        found, expected = both(
            case, queries(sum(own), 4, 16), chunk,
            scale=0.3, window=window, softcap=softcap, deterministic=deterministic,
        )  # fmt: skip
        torch.testing.assert_close(found, expected, atol=3e-6, rtol=3e-6)


def test_attention_past_the_splits_that_are_shipped() -> None:
    case = make_case([300, 257], kv_heads=1, dim=64, page_size=16)
    found, expected = both(case, queries(2, 2, 64), None, scale=0.125)
    torch.testing.assert_close(found, expected, atol=3e-6, rtol=3e-6)


@pytest.mark.usefixtures("short_splits")
@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn], ids=str)
@pytest.mark.parametrize("window", [None, 4])
def test_attention_over_coded_pages(dtype: torch.dtype, window: int | None) -> None:
    """Heads and groups that fill no tile, a window that is smaller than a page."""
    case = make_case([37, 1], kv_heads=2, dim=20, page_size=6, dtype=dtype)
    for lengths in (None, [9, 1]):
        rows = 2 if lengths is None else 10
        found, expected = both(case, queries(rows, 6, 20), lengths, scale=0.3, window=window, softcap=4.0)
        torch.testing.assert_close(found, expected, atol=3e-6, rtol=3e-6)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn], ids=str)
def test_halves_keep_small_weights_over_coded_pages(dtype: torch.dtype) -> None:
    """All but one key get weights of about e-10, and together say what comes out: their values alone are not
    zero."""
    context, dim = 300, 16
    case = make_case([context], kv_heads=1, dim=dim, page_size=16)
    slots = case.table.slots(0)
    case.keys[slots] = 0.0
    case.keys[slots[0], 0] = 10.0
    case.values[slots] = 0.1
    case.values[slots[0]] = 0.0
    keys, values = (coded.encode(pool.nan_to_num(), dtype, dim) for pool in (case.keys, case.values))
    query = torch.zeros(1, 1, dim, dtype=torch.float16)
    query[..., 0] = 1.0
    found = triton.decode_attention(query, keys, values, case.table, scale=1.0)
    expected = reference_pages.decode_attention(query.float(), keys, values, case.table, scale=1.0)
    torch.testing.assert_close(found.float(), expected, atol=0.0, rtol=2e-2)


def test_places_are_not_counted_in_32_bits() -> None:
    """Pages behind the first 2 ** 31 values of pools, whose memory is never touched before them."""
    dim, page_size = 16, 16
    case = make_case([5, 3], kv_heads=1, dim=dim, page_size=page_size, dtype=torch.int8)
    size, width = case.keys.shape
    begin = (2**31 // width // page_size + 1) * page_size
    keys, values = (torch.empty(begin + size, width, dtype=torch.int8) for _ in "kv")
    keys[begin:], values[begin:] = case.keys, case.values
    pages = case.table.pages + torch.where(case.table.pages == NOWHERE, 0, begin // page_size).int()
    far = replace(case.table, pages=pages)
    query, chunks, near_by = queries(3, 1, dim), chunks_of([2, 1]), (case.keys, case.values, case.table)
    decoded = triton.decode_attention(query[:2], keys, values, far, scale=0.3)
    assert torch.equal(decoded, triton.decode_attention(query[:2], *near_by, scale=0.3))
    extended = triton.extend_attention(query, keys, values, far, chunks, scale=0.3)
    assert torch.equal(extended, triton.extend_attention(query, *near_by, chunks, scale=0.3))
    first = torch.arange(begin, begin + 2)
    triton.copy_slots(keys[None], first, first + 2)
    triton.scatter_slots(keys[None], first + 4, triton.gather_slots(keys[None], first))
    for copied in (first + 2, first + 4):
        assert torch.equal(keys[copied], keys[first])
    projected, angles = queries(1, 3, dim).view(1, -1), (torch.ones(1, 8), torch.zeros(1, 8))
    for pools, slot in (((keys, values), begin + 7), (near_by[:2], 7)):
        triton.rotary_write(projected, *angles, *pools, slots=torch.tensor([slot]), heads=1, dim=dim)
    for pool, other in ((keys, case.keys), (values, case.values)):
        assert torch.equal(pool[begin + 7], other[7])


def test_keys_are_divided_where_chunks_are_short_and_contexts_long(monkeypatch: pytest.MonkeyPatch) -> None:
    made, plan = list[int](), extend_split.plan
    monkeypatch.setattr(extend_split, "plan", lambda *args, **rules: made.append(1) or plan(*args, **rules))
    case, chunks = make_case([40, 9], kv_heads=1, dim=16, page_size=4), chunks_of([2, 1])
    query = queries(3, 2, 16)
    for changed, divides in (
        ({}, False), ({"LONG": 39}, True), ({"LONG": 40}, False), ({"LONG": 0, "FEW": 2}, False),
        ({"LONG": 0, "FEW": 3}, True), ({"LONG": 0, "ROOM": 4 * 3 * 2 * 18 - 1}, False),
        ({"LONG": 0, "ROOM": 4 * 3 * 2 * 18}, True),
    ):  # fmt: skip
        made.clear()
        with monkeypatch.context() as patch:
            for name, value in changed.items():
                patch.setattr(tiles, name, value)
            triton.extend_attention(query, case.keys, case.values, case.table, chunks, scale=0.3)
        assert bool(made) == divides, changed
    made.clear()
    monkeypatch.setattr(tiles, "LONG", 12)
    triton.extend_attention(query, case.keys, case.values, case.table, chunks, scale=0.3, window=10)
    assert not made, "a row sees no more than its window"


def test_attention_writes_where_it_is_told() -> None:
    case = make_case([5, 3], kv_heads=1, dim=16, page_size=4)
    out = torch.full((5, 32), 7.0)
    query = queries(2, 2, 16)
    triton.decode_attention(query, case.keys, case.values, case.table, scale=0.3, out=out[1:3])
    expected = reference_pages.decode_attention(query, case.keys, case.values, case.table, scale=0.3)
    torch.testing.assert_close(out[1:3], expected, atol=3e-6, rtol=3e-6)
    assert (out[[0, 3, 4]] == 7.0).all()


def test_what_does_not_fit_together_is_refused() -> None:
    case = make_case([5], kv_heads=2, dim=16, page_size=4)
    for query, keys, message in (
        (queries(1, 3, 16), case.keys, "evenly"),
        (queries(1, 4, 16), case.keys[:, :-1], "differ"),
        (queries(1, 4, 16, torch.float16), case.keys, "float16"),
        (queries(1, 4, 24), case.keys, "do not hold heads of 24"),
        (queries(1, 4, 258), case.keys, "hold up to 256"),
    ):
        with pytest.raises(ValueError, match=message):
            triton.decode_attention(query, keys, case.values, case.table, scale=0.3)


@pytest.mark.usefixtures("short_splits")
@settings(max_examples=12)
@given(
    contexts=st.lists(st.integers(0, 50), min_size=1, max_size=3),
    page_size=st.integers(1, 9),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_any_page_table(contexts: list[int], page_size: int, seed: int, data: st.DataObject) -> None:
    case = make_case(contexts, kv_heads=1, dim=16, page_size=page_size, seed=seed)
    lengths = [data.draw(st.integers(0, context)) for context in contexts]
    found, expected = both(case, queries(len(contexts), 2, 16), None, scale=0.3)
    torch.testing.assert_close(found, expected, atol=3e-6, rtol=3e-6)
    found, expected = both(case, queries(sum(lengths), 2, 16), lengths, scale=0.3)
    torch.testing.assert_close(found, expected, atol=3e-6, rtol=3e-6)
