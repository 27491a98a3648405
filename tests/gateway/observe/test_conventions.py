"""How an upstream counts cached tokens: shown by one record, until enough others show nothing of it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from promptcache.usage import Usage
from promptcache_gateway.observe.conventions import PATIENCE, Conventions
from promptcache_gateway.plane.calls import make_call

CALL = make_call(
    b'{"model":"m"}',
    {"model": "m"},
    [],
    request_id="pcr_1",
    path="/v1/chat/completions",
    dialect="openai.chat",
    tenant="default",
    upstream="u",
    model="m",
)


def usage(prompt: int, cached: int) -> Usage:
    details = {"cached_tokens": cached}
    return Usage.from_response(
        {"usage": {"prompt_tokens": prompt, "prompt_tokens_details": details, "completion_tokens": 1}}
    )


def test_what_is_told_changes_nothing_of_what_is_known() -> None:
    known = Conventions()
    apart, unclear = usage(10, 90), usage(90, 10)
    for _ in range(3):
        assert known.meant(CALL, apart).total_input == 100
        assert known.meant(CALL, unclear).total_input == 90
    known.read(CALL, apart)
    for _ in range(2 * PATIENCE):
        assert known.meant(CALL, unclear).total_input == 100


def test_one_wrong_record_is_forgotten() -> None:
    known = Conventions()
    known.read(CALL, usage(10, 90))
    read = [known.read(CALL, usage(90, 10)).total_input for _ in range(PATIENCE + 1)]
    assert read == [100] * PATIENCE + [90]
    assert known.meant(CALL, usage(90, 10)).total_input == 90


def test_who_shows_it_again_is_believed_on() -> None:
    known = Conventions()
    for _ in range(3):
        assert known.read(CALL, usage(10, 90)).total_input == 100
        for _ in range(PATIENCE - 1):
            assert known.read(CALL, usage(90, 10)).total_input == 100


def test_a_record_that_read_nothing_says_nothing() -> None:
    known = Conventions()
    known.read(CALL, usage(10, 90))
    for _ in range(2 * PATIENCE):
        assert known.read(CALL, usage(90, 0)).total_input == 90
    assert known.read(CALL, usage(90, 10)).total_input == 100


def test_threads_that_end_requests_at_a_time_lose_none() -> None:
    """Large requests are concluded in threads, and one may find that what was known is forgotten just now."""
    known, before = Conventions(), sys.getswitchinterval()
    apart, unclear = usage(10, 90), usage(90, 10)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as threads:
            mixed = [apart if at % 1_000 == 0 else unclear for at in range(30_000)]
            read = list(threads.map(lambda one: known.read(CALL, one).total_input, mixed))
    finally:
        sys.setswitchinterval(before)
    assert set(read) <= {90, 100}
