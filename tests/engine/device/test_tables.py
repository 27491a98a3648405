"""The tables of pages on the device: they say what was noted, and only what is new is sent."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.device import tables as module
from promptcache_engine.device.tables import DeviceTables
from promptcache_engine.scheduler import Sequence

CPU = torch.device("cpu")
NOTES = st.tuples(
    st.integers(0, 1), st.integers(0, 2), st.integers(0, 3), st.lists(st.integers(0, 99), max_size=6)
)


def tables(seats: int = 2, groups: int = 1) -> DeviceTables:
    return DeviceTables(groups=groups, seats=seats, max_length=64, page_size=4, device=CPU)


def sequence(name: str) -> Sequence:
    return Sequence(id=name, tokens=[1], prompt_tokens=1, max_length=2)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of entries of every copy."""
    sizes: list[int] = []
    plain = module.to_device

    def counting(values: np.ndarray, device: torch.device) -> torch.Tensor:  # type: ignore[type-arg]
        sizes.append(values.shape[1])
        return plain(values, device)

    monkeypatch.setattr(module, "to_device", counting)
    return sizes


def test_only_what_is_new_is_sent(sent: list[int]) -> None:
    made = tables()
    seat = made.seat(sequence("a"))
    for pages in ([5, 6, 7], [5, 6, 7], [5, 6, 7, 8], [5, 9, 7, 8], [5]):
        made.note(0, seat, 0, pages)
        made.flush()
        assert made.tables[0, seat, : len(pages)].tolist() == pages
    assert sent == [3, 1, 4, 1]


def test_a_seat_comes_back_and_a_waiting_sequence_gives_it_up() -> None:
    made = tables()
    first, second, third = sequence("a"), sequence("b"), sequence("c")
    first.lease = object()  # type: ignore[assignment]
    seats = [made.seat(first), made.seat(second)]
    assert sorted(seats) == [0, 1]
    assert made.seat(first) == seats[0]
    assert made.seat(third) == seats[1], "the second has no pages: it waits"
    made.forget("a")
    made.forget("unknown")
    assert made.seat(sequence("d")) == seats[0]


def test_after_a_failed_copy_all_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tables()
    made.note(0, 0, 0, [1, 2])
    made.flush()

    def broken(*_: object) -> torch.Tensor:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(module, "to_device", broken)
        made.note(0, 0, 0, [1, 2, 3])
        with pytest.raises(MemoryError):
            made.flush()
    made.note(0, 0, 0, [1, 2, 3])
    made.flush()
    assert made.tables[0, 0, :3].tolist() == [1, 2, 3]


@settings(max_examples=50)
@given(st.lists(NOTES, max_size=12))
def test_every_entry_is_the_latest_noted(notes: list[tuple[int, int, int, list[int]]]) -> None:
    made = tables(seats=3, groups=2)
    for group, seat, first, pages in notes:
        made.note(group, seat, first, pages)
        made.flush()
        assert made.tables[group, seat, first : first + len(pages)].tolist() == pages
    assert made.tables.shape == (2, 3, 20)


@settings(max_examples=50)
@given(st.lists(NOTES, max_size=12))
def test_an_entry_noted_twice_before_it_is_sent_is_sent_once(
    notes: list[tuple[int, int, int, list[int]]],
) -> None:
    """As when a seat passes to another sequence between two steps, or pages are taken back."""
    made, expected = tables(seats=3, groups=2), torch.zeros(2, 3, 20, dtype=torch.int32)
    copies: list[np.ndarray[Any, Any]] = []
    plain = module.to_device

    def kept(values: np.ndarray[Any, Any], device: torch.device) -> torch.Tensor:
        copies.append(values.copy())
        return plain(values, device)

    for group, seat, first, pages in notes:
        made.note(group, seat, first, pages)
        expected[group, seat, first : first + len(pages)] = torch.tensor(pages, dtype=torch.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "to_device", kept)
        made.flush()
    assert torch.equal(made.tables, expected)
    for values in copies:
        assert len(set(values[0].tolist())) == values.shape[1]
