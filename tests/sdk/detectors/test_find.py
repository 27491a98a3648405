"""find_volatile names what will change, and leaves alone what will not."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.causes import CAUSES
from promptcache.detectors import counter, find_volatile

FOUND = [
    ("Now: 2026-11-29T15:03:11Z.", "PC101", "2026-11-29T15:03:11Z"),
    ("2031-03-04 18:04:11.123456+00:00", "PC101", "2031-03-04 18:04:11.123456+00:00"),
    ("stamp 20310304T180411Z", "PC101", "20310304T180411Z"),
    ("It is Sunday, November 29 2026 15:03.", "PC101", "Sunday, November 29 2026 15:03"),
    ("at Tue Mar  4 18:04:11 2031", "PC101", "Tue Mar  4 18:04:11 2031"),
    ("Date: Tue, 04 Mar 2031 18:04:11 GMT", "PC101", "Tue, 04 Mar 2031 18:04:11 GMT"),
    ("Mar 4, 2031 at 6:04 PM", "PC101", "Mar 4, 2031 at 6:04 PM"),
    ("[29/Nov/2026:15:03:11 +0000]", "PC101", "29/Nov/2026:15:03:11 +0000"),
    ("11/29/2026, 3:03:11 PM", "PC101", "11/29/2026, 3:03:11 PM"),
    ("Sat Nov 29 2026 15:03:11 GMT+0000 (Coordinated Universal Time)", "PC101", None),
    ("Time: 18:04:11\nRooms", "PC101", "18:04:11"),
    ("The current time is 18:04.", "PC101", "18:04"),
    ("It is now 6:04 pm, answer", "PC101", "6:04 pm"),
    ("Current UTC time in Oslo (24 h): 18:04", "PC101", "18:04"),
    ("started 1764428580", "PC101", "1764428580"),
    ("timestamp=1764428580123", "PC101", "1764428580123"),
    ("x 1764428580.123456 y", "PC101", "1764428580.123456"),
    ("main.py (3m ago)", "PC101", "3m ago"),
    ("edited 12 minutes ago", "PC101", "12 minutes ago"),
    ("Today's date: Tue Mar 04 2031", "PC109", "Tue Mar 04 2031"),
    ("Today is 2031-03-04.", "PC109", "2031-03-04"),
    ("the 12th of March 2031", "PC109", "12th of March 2031"),
    ("04.03.2031", "PC109", "04.03.2031"),
    ("id 3f2b8a10-5c1d-4e77-9a55-0d6c1b2f9e31", "PC102", "3f2b8a10-5c1d-4e77-9a55-0d6c1b2f9e31"),
    ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "PC102", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ("request_id: 8f3a2c1b9d", "PC102", "8f3a2c1b9d"),
    ('"sessionId": "ab12cd34ef"', "PC102", "ab12cd34ef"),
    ("answer to req_011CSHoEeqs5C35K2UUqR7Fy", "PC102", "req_011CSHoEeqs5C35K2UUqR7Fy"),
    (f"00-{'4bf92f3577b34da6' * 2}-00f067aa0ba902b7-01", "PC102", None),
    (
        "x-anthropic-billing-header: cc_version=2.1.37.abc; cch=0a1b2;",
        "PC102",
        "cc_version=2.1.37.abc; cch=0a1b2;",
    ),
    ("cch=0a1b2;", "PC102", "cch=0a1b2"),
    (
        "https://b.example/k.png?w=1&X-Amz-Date=20310304T180411Z&X-Amz-Signature=abcdef0123 (image)",
        "PC102",
        "w=1&X-Amz-Date=20310304T180411Z&X-Amz-Signature=abcdef0123",
    ),
    ("nonce: 8f3a", "PC103", "8f3a"),
    ("user_id: 4821", "PC104", "4821"),
    ("Logged in: anna.k@acme.io.", "PC104", "anna.k@acme.io"),
    ("in /home/maria/proj/x.py.", "PC105", "/home/maria/proj/x.py"),
    ("C:\\Users\\Maria\\proj", "PC105", "C:\\Users\\Maria\\proj"),
    ("Working directory: /srv/app\nPlatform", "PC105", "/srv/app"),
    ("host: web-7f", "PC105", "web-7f"),
    ("on ip-10-0-12-34.ec2.internal", "PC105", "ip-10-0-12-34.ec2.internal"),
    ("pod api-7d9f8b6c5d-x2x9z here", "PC105", "api-7d9f8b6c5d-x2x9z"),
    ("db at 10.0.3.12:5432", "PC105", "10.0.3.12:5432"),
    ("in /tmp/tmpab12cd34/x", "PC105", "/tmp/tmpab12cd34/x"),
    ("pid: 48213", "PC105", "48213"),
    ("got <foo.Bar object at 0x7f3a2c1b4d90>", "PC106", "<foo.Bar object at 0x7f3a2c1b4d90>"),
    ("<bound method A.b of <A object at 0x7f3a2c1b4d90>>", "PC106", None),
    ("step 3 of 10", "PC107", "3 of 10"),
    ("You have used 1,234 tokens", "PC107", "1,234 tokens"),
    ("[49% - 1,085/2,200 chars]", "PC107", "49% - 1,085/2,200 chars"),
    ("context 45% used", "PC107", "45% used"),
    ("Token usage: 1200/200000; 198800 remaining", "PC107", None),
    ("turn: 5", "PC107", "5"),
]

QUIET = [
    "v1.2.3 and 10.4.22.1 builds, section 4.2.1.3, calver 2024.10.21",
    "It costs $1,234.50 or 99 EUR, 1/2 cup, open 24/7",
    "call +1 (800) 123-4567 or 1800123456, order #1712345678",
    "PT1H30M and P3D",
    "since 2019, in 2024",
    "Write dates as 2024-01-31 and times as 18:05.",
    "Example booking id: 3f2b8a10-5c1d-4e77-9a55-0d6c1b2f9e31.",
    'e.g. "2024-01-31T00:00:00Z"',
    "Use the form `2024-01-31T00:00:00Z`",
    "Rates in this text are valid since 2023-04-01T00:00:00Z.",
    "The hotel was founded on 1 May 1919.",
    "gpt-4o-2024-08-06, claude-sonnet-4-20250514",
    "anthropic-version: 2023-06-01",
    "at most 500 tokens, answer in 100 words",
    "Open 9:00 - 18:00. You can now book from 9:00. Check-out time: 11:00 AM",
    "Step 3: do it. Page 3 of 10, room 12 of 20. Take 2 left turns.",
    "when fewer than 500 tokens left",
    "If it is 18:00 or later, refuse.",
    "16:9, John 3:16, file.py:12:30",
    "ISBN 9781861972712, card 4111 1111 1111 1111",
    "Write to support@acme.com or me@example.com",
    "/home/user/x, https://x.org/home/foo/bar, ~/home/maria",
    "sha256: deadbeef0123456789abcdef, commit 8f3a2c1, 0xdeadbeef, #12345, id: 42",
    "127.0.0.1:8400, 192.0.2.10:80",
    "run_integration_tests_2024, user_preferences_v2, call_function1, web-server-config",
    "00000000-0000-0000-0000-000000000000",
    "May 5 people come? He may 3 times.",
    "seed: uint64, seed = 42, salt: bundled-configs-v1",
    "Usage 1: launch. It was used 10 times. retries=10",
    "alt_host=host1&x, host=probe_http2_host",
    "Write the report to /tmp/report.txt or /tmp/data",
    '"\\n@triton.jit"',
    "",
    "⟨⟩ 🙂 İstanbul ٣٤",
]


@pytest.mark.parametrize(("text", "code", "value"), FOUND, ids=[text[:40] for text, _, _ in FOUND])
def test_finds(text: str, code: str, value: str | None) -> None:
    spans = find_volatile(text)
    assert [span.code for span in spans][:1] == [code]
    first = spans[0]
    assert first.text == text[first.start : first.end]
    if value is not None:
        assert [span.text for span in spans] == [value]


@pytest.mark.parametrize("text", QUIET, ids=[text[:40] for text in QUIET])
def test_stays_quiet(text: str) -> None:
    assert find_volatile(text) == []


def test_spans_come_in_order_without_overlap_and_with_known_codes() -> None:
    text = " | ".join(text for text, _, _ in FOUND)
    spans = find_volatile(text)
    assert len(spans) > 30
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert {span.code for span in spans} <= set(CAUSES)


def test_a_label_says_that_a_date_is_the_current_one() -> None:
    assert find_volatile("Today is 2031-03-04.")[0].labelled
    assert not find_volatile("The fair is on 2031-03-04.")[0].labelled
    assert not find_volatile("Announced shutdown date: 2026-07-23.")[0].labelled


def test_a_sentence_before_does_not_excuse_the_next() -> None:
    text = "Formats may vary, for example by country. It is now 2031-03-04 18:04."
    assert [span.code for span in find_volatile(text)] == ["PC101"]


def test_a_long_text_takes_milliseconds() -> None:
    text = "The guest asks for a room, and the clerk answers in two short sentences. " * 2800
    assert len(text) > 200_000
    began = time.process_time()
    assert find_volatile(text) == []
    # About 8 ms on one core of 2026; the bound leaves room for a busy machine, not for a quadratic scan.
    assert time.process_time() - began < 0.2


def test_hostile_repetition_stays_linear() -> None:
    for piece in (
        "1",
        "1:",
        "1-",
        "/home/",
        "x-",
        "a@",
        "1,111",
        "<",
        " at 0x7fffffff>",
        "?sig=",
        "id: ",
        "Mar 1 ",
        ".",
    ):
        began = time.process_time()
        find_volatile(piece * (60_000 // len(piece)))
        assert time.process_time() - began < 2, piece


@given(st.text(alphabet="stepurnaquldcofi :=#(.-_", max_size=24))
@settings(max_examples=300)
def test_the_cheap_look_at_a_label_misses_none(words: str) -> None:
    for label in (
        words,
        f"Step {words}",
        f"{words} used: ",
        f"tokens used is {words}",
        f"retry count{words}",
    ):
        patterns = (counter._MOVING_BEFORE, counter._STEP_BEFORE, counter._COUNT_BEFORE)
        if any(pattern.search(label) for pattern in patterns):
            assert counter._may_be_counted(label)
