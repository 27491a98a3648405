"""Page tables and chunks: what they name, and what they refuse."""

import pytest
import torch

from promptcache_engine.kernels.tables import Chunks, PageTable


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def test_slots_are_those_of_the_pages_up_to_the_contexts_end() -> None:
    table = PageTable(torch.tensor([[2, 0], [1, 9]], dtype=torch.int32), ints(6, 3), 4, 6)
    assert table.slots(0).tolist() == [8, 9, 10, 11, 0, 1]
    assert table.slots(1).tolist() == [4, 5, 6]


def test_an_empty_context_has_no_slots() -> None:
    assert PageTable(ints(5).view(1, 1), ints(0), 4, 0).slots(0).tolist() == []


@pytest.mark.parametrize(
    ("pages", "contexts", "page_size", "longest", "message"),
    [
        (ints(1, 2), ints(1), 4, 1, "pages must be"),
        (ints(1, 2).view(2, 1), ints(1), 4, 1, "for \\(1,\\) contexts"),
        (ints(1).view(1, 1).long(), ints(1), 4, 1, "int32, not torch.int64"),
        (torch.zeros(3, 2, dtype=torch.int32).T, ints(1, 1), 4, 1, "side by side"),
        (ints(1).view(1, 1), ints(5), 4, 5, "5 tokens does not fit 1 pages of 4"),
        (ints(1).view(1, 1), ints(0), 0, 0, "does not fit"),
    ],
)
def test_tables_that_cannot_be(
    pages: torch.Tensor, contexts: torch.Tensor, page_size: int, longest: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        PageTable(pages, contexts, page_size, longest)


@pytest.mark.parametrize(
    ("starts", "longest", "message"),
    [
        (ints(0, 1).long(), 1, "int64"),
        (ints(0).view(1, 1), 1, "starts must be"),
        (ints(0, 1), -1, "no -1 rows"),
    ],
)
def test_chunks_that_cannot_be(starts: torch.Tensor, longest: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Chunks(starts, longest)
