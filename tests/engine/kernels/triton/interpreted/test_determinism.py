"""Deterministic attention, interpreted: a row's bits depend on its own sequence alone."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from promptcache_engine.kernels import triton
from promptcache_engine.kernels.tables import PageTable
from promptcache_engine.kernels.triton import extend as extend_module
from promptcache_engine.kernels.triton import extend_split
from promptcache_engine.kernels.triton.launch import Target
from promptcache_engine.kernels.triton.layer import layer_of
from tests.engine.kernels.triton.cases import Case, chunks_of, make_case

pytestmark = pytest.mark.usefixtures("even_products", "short_splits")
LENIENT = settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
HEADS, DIM = 3, 16


def queries(rows: int) -> Tensor:
    return torch.randn(rows, HEADS, DIM, generator=torch.Generator().manual_seed(rows))


def extend(case: Case, query: Tensor, context: int, window: int | None) -> Tensor:
    """The last rows of the first sequence's first ``context`` tokens."""
    table = PageTable(
        case.table.pages[:1], torch.tensor([context], dtype=torch.int32), case.table.page_size, context
    )
    return triton.extend_attention(
        query, case.keys, case.values, table, chunks_of([query.shape[0]]),
        scale=0.3, window=window, deterministic=True,
    )  # fmt: skip


@LENIENT
@given(context=st.integers(2, 90), window=st.sampled_from([None, 9, 33, 70]), data=st.data())
def test_a_row_does_not_depend_on_its_chunk(context: int, window: int | None, data: st.DataObject) -> None:
    """Extended in one go, in two, or decoded as the last token: cold, chunked and warm."""
    case = make_case([context, 40], kv_heads=1, dim=DIM, page_size=7, seed=context)
    query = queries(context)
    whole = extend(case, query, context, window)
    cut = data.draw(st.integers(1, context - 1))
    assert torch.equal(extend(case, query[:cut], cut, window), whole[:cut])
    assert torch.equal(extend(case, query[cut:], context, window), whole[cut:])
    decoded = triton.decode_attention(
        torch.cat((query[-1:], query[:1])), case.keys, case.values, case.table,
        scale=0.3, window=window, deterministic=True,
    )  # fmt: skip
    assert torch.equal(decoded[0], whole[-1])


@LENIENT
@given(
    contexts=st.lists(st.integers(1, 90), min_size=1, max_size=2),
    window=st.sampled_from([None, 9, 40]),
    data=st.data(),
)
def test_divided_keys_leave_every_bit(contexts: list[int], window: int | None, data: st.DataObject) -> None:
    """Rows outside of all chunks stay as they were."""
    case = make_case(contexts, kv_heads=1, dim=DIM, page_size=5, seed=sum(contexts))
    lengths = [data.draw(st.integers(0, min(context, 12))) for context in contexts]
    query, chunks = queries(sum(lengths) + 1), chunks_of(lengths)
    layer = layer_of(query, case.keys, case.values, 0.3, window, None)
    whole, divided = torch.full((2, query.shape[0], HEADS * DIM), 7.0)
    given_ = Target("cpu"), query, layer, case.table, chunks
    extend_module.plan(*given_, whole, deterministic=True).run()
    for launch in extend_split.plan(*given_, divided, deterministic=True):
        launch.run()
    assert torch.equal(divided, whole)
    assert (divided[-1] == 7.0).all()


@LENIENT
@given(contexts=st.lists(st.integers(1, 80), min_size=2, max_size=3), deterministic=st.booleans())
def test_a_decoded_row_does_not_depend_on_its_batch(contexts: list[int], deterministic: bool) -> None:
    case = make_case(contexts, kv_heads=1, dim=DIM, page_size=3, seed=sum(contexts))
    query = queries(len(contexts))
    together = triton.decode_attention(
        query, case.keys, case.values, case.table, scale=0.3, deterministic=deterministic
    )
    for row, context in enumerate(contexts):
        own = PageTable(case.table.pages[row : row + 1], case.table.contexts[row : row + 1], 3, context)
        alone = triton.decode_attention(
            query[row : row + 1], case.keys, case.values, own, scale=0.3, deterministic=deterministic
        )
        assert torch.equal(alone[0], together[row])
