"""Renderings that differ only in volatile values mask equal, and the first difference is classified."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.causes import CAUSES
from promptcache.detectors import classify_change, find_volatile, mask_volatile

if TYPE_CHECKING:
    import uuid

moments = st.datetimes(datetime(2024, 1, 1), datetime(2039, 12, 31))
FORMS = (
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%d %H:%M",
    "%A, %B %d %Y %H:%M",
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%d/%m/%Y %H:%M:%S",
    "%B %d, %Y at %I:%M %p",
    "%d.%m.%Y, %H:%M",
    "%Y%m%dT%H%M%SZ",
    "%A %d %B %Y, %I:%M:%S %p",
)
DATES = ("%Y-%m-%d", "%a %b %d %Y", "%A, %d %B %Y", "%d %b %Y", "%B %d, %Y", "%d/%m/%Y", "%d.%m.%Y")
PIECES = st.sampled_from([*"0123456789:-/., TZAMPMar@x=_%", " ago", " tokens", "id: ", "0x7f", "<"])
frames = st.sampled_from(
    [
        "You are a clerk.\nCurrent time: {}\nBe kind.",
        "Now: {}.",
        "<env>{}</env>\nRules follow.",
        "Hotel Larkspur ({}) rules: be kind, quote 99 EUR, v1.2.3.",
    ]
)


def offset_of(before: str, after: str) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(before), len(after)))


def agree(frame: str, one: str, other: str, code: str) -> None:
    before, after = frame.format(one), frame.format(other)
    assert mask_volatile(before) == mask_volatile(after)
    assert one not in mask_volatile(before)
    if before != after:
        assert classify_change(before, after, offset_of(before, after)) == code


@settings(max_examples=150)
@given(frames, st.sampled_from(FORMS), moments, moments)
def test_timestamps(frame: str, form: str, one: datetime, other: datetime) -> None:
    agree(frame, one.strftime(form), other.strftime(form), "PC101")


@settings(max_examples=100)
@given(frames, st.sampled_from(DATES), moments, moments)
def test_dates(frame: str, form: str, one: datetime, other: datetime) -> None:
    agree(frame, one.strftime(form), other.strftime(form), "PC109")


@settings(max_examples=80)
@given(frames, st.uuids(version=4), st.uuids(version=4))
def test_uuids(frame: str, one: uuid.UUID, other: uuid.UUID) -> None:
    agree(frame, str(one), str(other), "PC102")


@settings(max_examples=80)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_counters(one: int, other: int) -> None:
    agree("You have used {} so far. Rules.", f"{one:,} tokens", f"{other:,} tokens", "PC107")


@settings(max_examples=80)
@given(st.integers(0, 2**47), st.integers(0, 2**47))
def test_addresses(one: int, other: int) -> None:
    agree(
        "Tool: {} ready",
        f"<app.Tool object at 0x{one:012x}>",
        f"<app.Tool object at 0x{other:012x}>",
        "PC106",
    )


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_any_text_is_scanned_without_error(text: str) -> None:
    for span in find_volatile(text):
        assert text[span.start : span.end] == span.text
    assert isinstance(mask_volatile(text), str)


@settings(max_examples=200)
@given(st.lists(PIECES).map("".join))
def test_fragments_of_shapes_are_scanned_without_error(text: str) -> None:
    spans = find_volatile(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert (classify_change(text, text[:-1] + "1", len(text) - 1) if text else None) in {None, *CAUSES}


def test_what_stays_is_not_masked() -> None:
    text = "Open at 18:00, version 1.2.3, 99 EUR, ISO 8601."
    assert mask_volatile(text) == text


def test_a_time_with_a_colon_behind_it_is_masked_whole() -> None:
    lines = [f"status at 2026-11-29T12:00:{second:02}: pending" for second in (4, 8)]
    assert mask_volatile(lines[0]) == mask_volatile(lines[1]) == "status at \u27e8timestamp\u27e9: pending"
    addresses = ["mac 12:34:56:ab:cd:ef", "mac 12:34:56:7a:cd:ef"]
    assert [mask_volatile(text) for text in addresses] == addresses
