"""classify_change names the value that changed, whichever character of it differs first."""

from __future__ import annotations

import itertools

import pytest

from promptcache.detectors import classify_change
from promptcache.divergence.evidence import common_prefix

CHANGES = [
    ("Total of the order: 1,234.50", "Total of the order: 1.234,50", "PC205"),
    ("Seats: 12,500", "Seats: 12500", "PC205"),
    ("Remaining budget: $4.21", "Remaining budget: $3.98", "PC107"),
    ("Today's date: Tue Mar 04 2031\n</env>", "Today's date: Wed Mar 05 2031\n</env>", "PC109"),
    ("Thursday, March 4", "Tuesday, March 2", "PC109"),
    ("Now 2031-03-04 18:04:11 x", "Now 2031-03-04 18:05:40 x", "PC101"),
    ("Now: 2031-03-04T10:00:00Z", "Now: 2031-03-04T10:00:00.5Z", "PC101"),
    ("date 2031-03-04 x", "date 2031-03-05T10:00:00Z x", "PC101"),
    ("Sunday, November 29 2026 15:03", "Sunday, November 29 2026 15:04", "PC101"),
    ("Monday, March 3, 2031 9:59 AM", "Monday, March 3, 2031 10:02 AM", "PC101"),
    ("Time: 18:04:11\nRooms", "Time: 18:05:40\nRooms", "PC101"),
    ("it is 18:04 now", "it is 18:05 now", "PC101"),
    ("The current time is 18:04.", "The current time is 19:05.", "PC101"),
    ("x 1764428580123 y", "x 1764428590123 y", "PC101"),
    ("ts 1764428580", "ts 1764428999", "PC101"),
    ("updated 59s ago", "updated 2m ago", "PC101"),
    ("x-client-billing: v=3.1.a1; mode=cli;", "x-client-billing: v=3.1.b7; mode=cli;", "PC102"),
    ("id 3f2b8a10-5c1d-4e77-9a55-0d6c1b2f9e31.", "id 3f2b8a10-5c1d-4e77-9a55-0d6c1b2f9e32.", "PC102"),
    ("hash 5d41402abc4b2a76b9719d911017c592", "hash 7d793037a0760186574b0282f2f435e7", "PC102"),
    ("a k3j9x8q2m4z7w1 b", "a p0d8s7f6g5h4j3 b", "PC103"),
    ("nonce: abc1", "nonce: xyz2", "PC103"),
    ("user_id: 41", "user_id: 42", "PC104"),
    ("mail anna.k@acme.io", "mail annb.k@acme.io", "PC104"),
    ("User name: Anna", "User name: Bob", "PC104"),
    ("cwd: /srv/a", "cwd: /srv/b", "PC105"),
    ("/home/maria/x", "/home/mario/x", "PC105"),
    ("Platform: linux", "Platform: darwin", "PC105"),
    ("tmp /tmp/abc1/x", "tmp /tmp/abd1/x", "PC105"),
    ("<A object at 0x7f3a2c1b4d90>", "<A object at 0x7f3a2c1b5d90>", "PC106"),
    ("[49% - 1,085/2,200 chars]", "[51% - 1,130/2,200 chars]", "PC107"),
    ("step 3 of 10", "step 4 of 10", "PC107"),
    ("Turn 9: go", "Turn 10: go", "PC107"),
    ("used 999 tokens so", "used 1,002 tokens so", "PC107"),
]

EDITS = [
    ("At most 1,500 guests may come", "At most 1,500 visitors may come"),
    ("Use version 1.2.3", "Use version 1.2.4"),
    ("costs $12", "costs $13"),
    ("Be kind.", "Be brief."),
    ("You have 3 rooms", "You have 4 rooms"),
    ("Open at 18:00", "Open at 19:00"),
    ("room 12 of 20", "room 13 of 20"),
    ("at most 100 words", "at most 200 words"),
    ("call 1800123456", "call 1999123456"),
    ("order 4111222", "order 4111223"),
    ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20"),
    ("User: hello", "User: goodbye"),
    ("temperature 0.2", "temperature 0.3"),
    ("chapter 3", "chapter 4"),
    ("in 2024", "in 2025"),
    ("line 10:20", "line 10:30"),
    ("at 2031-03-04T10:00:00Z", "at noon"),
    ("a 2031-03-04 b", "a b"),
    ("ends 2031-03-04", "ends 2031-03-0"),
    ("abc", "abcdef"),
    ("", "x"),
    ("same", "same"),
]


def offset_of(before: str, after: str) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(before), len(after)))


@pytest.mark.parametrize("padding", ["", "Rules of the house. " * 40], ids=["alone", "behind"])
@pytest.mark.parametrize(("before", "after", "code"), CHANGES, ids=[before[:30] for before, _, _ in CHANGES])
def test_names_the_value(before: str, after: str, code: str, padding: str) -> None:
    before, after = f"{padding}\n{before} tail", f"{padding}\n{after} tail"
    offset = offset_of(before, after)
    assert classify_change(before, after, offset) == code
    assert classify_change(after, before, offset) == code


@pytest.mark.parametrize(("before", "after"), EDITS, ids=[before[:30] for before, _ in EDITS])
def test_blames_no_detector_for_an_edit(before: str, after: str) -> None:
    offset = offset_of(before, after)
    assert classify_change(before, after, offset) is None
    assert classify_change(after, before, offset) is None


def test_a_change_far_from_the_volatile_value_is_not_its_fault() -> None:
    text = "It is 2031-03-04 18:04:11. Be {} to guests."
    before, after = text.format("kind"), text.format("brief")
    assert classify_change(before, after, offset_of(before, after)) is None


def test_an_offset_outside_the_texts_is_taken_for_their_end() -> None:
    assert classify_change("abc", "abcd", 99) is None
    assert classify_change("abc", "xbc", -5) is None


def test_a_name_with_its_address_is_somebodys() -> None:
    people = ("Ann Lee (ann@example.com)", "Bob de la Roy (bob@example.com)", "Ann Poe <ap@example.org>")
    for one, other in itertools.combinations(people, 2):
        before, after = (f"You help {person}.\nAlways be kind." for person in (one, other))
        assert classify_change(before, after, common_prefix(before, after)) == "PC104"
    places = ("You help in Oslo (Norway).", "You help in Turin (Italy).")
    assert classify_change(*places, 12) is None
    assert classify_change("You help Ann Lee (a@b.org).", "You help everybody (in Oslo).", 9) is None
    assert classify_change("When a customer from Oslo", "When a customer om Oslo", 16) is None
