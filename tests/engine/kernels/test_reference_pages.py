"""Attention over page tables in plain torch, against its definition in float64."""

import pytest
import torch
from torch import Tensor

from promptcache_engine.kernels import coded, reference_pages
from promptcache_engine.kernels.tables import Chunks
from tests.engine.kernels.test_reference import attention_by_definition
from tests.engine.kernels.triton.cases import Case, chunks_of, make_case, readable

CONTEXTS, LENGTHS = [70, 1, 0, 33], [9, 1, 0, 33]


def queries(rows: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(rows, 4, 16, generator=torch.Generator().manual_seed(1)).to(dtype)


def by_definition(case: Case, query: Tensor, lengths: list[int], window: int | None) -> Tensor:
    """Of every sequence's last rows, one sequence after the other."""
    parts, start = [], 0
    for index, length in enumerate(lengths):
        if length == 0:
            continue
        slots = readable(case).slots(index)
        keys, values = (
            coded.decode(pool.view(torch.uint8)[slots].view(pool.dtype), torch.float32, 16)
            if pool.dtype in coded.LARGEST
            else pool[slots]
            for pool in (case.keys, case.values)
        )
        shape = (len(slots), 2, 16)
        rows = query[start : start + length].float()
        parts.append(attention_by_definition(rows, keys.reshape(shape), values.reshape(shape), window, 2.0))
        start += length
    return torch.cat(parts)


@pytest.mark.parametrize("window", [None, 20])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.float8_e4m3fn], ids=str)
def test_chunks_attend_by_definition(dtype: torch.dtype, window: int | None) -> None:
    case = make_case(CONTEXTS, kv_heads=2, dim=16, page_size=5, dtype=dtype)
    query = queries(sum(LENGTHS))
    found = reference_pages.extend_attention(
        query,
        case.keys,
        case.values,
        readable(case),
        chunks_of(LENGTHS),
        scale=0.25,
        window=window,
        softcap=2.0,
    )
    torch.testing.assert_close(
        found.double(), by_definition(case, query, LENGTHS, window), atol=3e-6, rtol=1e-5
    )


def test_one_row_a_sequence_is_its_contexts_last() -> None:
    case = make_case([70, 1, 33], kv_heads=2, dim=16, page_size=5)
    query = queries(3)
    found = reference_pages.decode_attention(
        query, case.keys, case.values, readable(case), scale=0.25, softcap=2.0
    )
    expected = by_definition(case, query, [1, 1, 1], None)
    torch.testing.assert_close(found.double(), expected, atol=3e-6, rtol=1e-5)


def test_empty_sequences_come_out_as_zeros_and_other_rows_stay() -> None:
    case = make_case([0, 3], kv_heads=2, dim=16, page_size=5)
    out = torch.full((5, 64), 7.0)
    given = queries(2), case.keys, case.values, readable(case)
    assert reference_pages.decode_attention(*given, scale=0.25, out=out[1:3]).data_ptr() == out[1].data_ptr()
    assert bool((out[1] == 0).all())
    assert bool((out[[0, 3, 4]] == 7.0).all())
    chunks = Chunks(torch.tensor([0, 0, 1], dtype=torch.int32), 1)
    found = reference_pages.extend_attention(*given, chunks, scale=0.25, out=torch.full((2, 64), 7.0))
    torch.testing.assert_close(
        found[0],
        reference_pages.decode_attention(
            given[0][[0, 0]], case.keys, case.values, readable(case), scale=0.25
        )[1],
    )
    assert bool((found[1] == 7.0).all())


def test_deterministic_rows_are_the_same_in_both() -> None:
    case = make_case([70, 33], kv_heads=2, dim=16, page_size=5)
    query = queries(43)
    given = case.keys, case.values, readable(case)
    whole = reference_pages.extend_attention(
        query, *given, chunks_of([10, 33]), scale=0.25, deterministic=True
    )
    last = reference_pages.decode_attention(query[[9, 42]], *given, scale=0.25, deterministic=True)
    assert torch.equal(last, whole[[9, 42]])
