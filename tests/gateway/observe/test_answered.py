"""Answers are found by their ids for as long as history remembers their requests, and no longer."""

from __future__ import annotations

import gc

from promptcache_gateway.observe.answered import Answered
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.row import Entry
from tests.gateway.observe.scenes import chat


def entry(number: int) -> Entry:
    return Entry(f"pcr_{number}", read_prompt(chat(None, "Hello?"), Masker()), "m", "up", float(number))


def test_an_answer_is_found_by_either_id_and_by_its_own_tenant_only() -> None:
    answered, known = Answered(), entry(7)
    answered.add("mine", known, "resp_abc")

    assert answered.find("mine", "resp_abc") is known
    assert answered.find("mine", "chatcmpl_7") is known
    assert answered.find("other", "resp_abc") is None
    assert known.response_id == "resp_abc"


def test_what_history_forgot_is_not_found_and_takes_no_place() -> None:
    answered = Answered()
    kept = [entry(number) for number in range(50)]
    for one in kept:
        answered.add("t", one, f"resp_{one.id}")
    for number in range(5_000):
        answered.add("t", entry(number + 100), None)
    gc.collect()

    assert answered.find("t", "pcr_4000") is None
    assert len(answered) == 100
    assert len(answered._entries) <= 1_025
    assert all(answered.find("t", f"resp_{one.id}") is one for one in kept)
