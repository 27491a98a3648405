"""What the admin API says of a template, against a computation of its own from the same requests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe import Diagnosis, RequestRecord
from promptcache_gateway.store.store import Store
from tests.gateway.store.records import record

CODES = ("PC101", "PC201", "PC802")


@st.composite
def requests(draw: st.DrawFn) -> RequestRecord:
    prompt = draw(st.integers(1, 5_000))
    cached = draw(st.integers(0, prompt))
    reusable = draw(st.integers(cached, prompt))
    lost = reusable - cached
    hit = lost == 0
    code, other = draw(st.permutations(CODES))[:2]
    part = draw(st.integers(0, lost))
    losses = {name: share for name, share in ((code, lost - part), (other, part)) if share}
    usd = draw(st.none() | st.floats(0.001, 2.0)) if lost else None
    reported = draw(st.booleans())
    diagnosis = Diagnosis(
        cause=None if hit else code,
        causes=() if hit else (code, other),
        hit=hit,
        reusable_tokens=reusable,
        lost_tokens=lost,
        lost_usd=usd,
        losses=losses,
        attribution="expected" if hit else "caller",
    )
    return record(
        diagnosis,
        time=float(draw(st.integers(1_800_000_000, 1_800_100_000))),
        prompt_tokens=prompt if reported else None,
        cached_tokens=cached if reported else None,
        cache_write_tokens=draw(st.integers(0, prompt - cached)) if reported else None,
        reported=reported,
        ttft_ms=draw(st.none() | st.floats(1.0, 900.0)),
        saved_usd=draw(st.none() | st.floats(-1.0, 1.0)),
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(requests(), min_size=1, max_size=12))
def test_every_number_of_a_template(sent: list[RequestRecord]) -> None:
    told = stored(sent)
    counted = [one for one in sent if one.reported]
    prompt = sum(one.prompt_tokens or 0 for one in counted)
    reusable = sum(one.diagnosis.reusable_tokens or 0 for one in counted)
    written = sum(one.cache_write_tokens or 0 for one in counted)
    read = sum(one.cached_tokens or 0 for one in counted)
    assert told["hit_rate"] == (pytest.approx(read / prompt) if prompt else None)
    assert told["achievable_hit_rate"] == (pytest.approx(reusable / prompt) if prompt else None)
    fresh = prompt - reusable
    amplified = pytest.approx(written / fresh) if written and fresh else None
    assert told["write_amplification"] == amplified
    for kind, wanted in (("hit", True), ("miss", False)):
        times = [one.ttft_ms for one in counted if one.diagnosis.hit is wanted and one.ttft_ms is not None]
        mean = pytest.approx(sum(times) / len(times)) if times else None
        assert told["ttft_ms"][kind] == mean
    for name, amounts in (
        ("lost_usd", [one.diagnosis.lost_usd for one in sent]),
        ("saved_usd", [one.saved_usd for one in sent]),
    ):
        known = [amount for amount in amounts if amount is not None]
        assert told[name] == (pytest.approx(sum(known)) if known else None)
    assert (told["first_seen"], told["last_seen"]) == seen(sent)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(requests(), min_size=1, max_size=12))
def test_every_cause_with_its_money_and_times_dearest_first(sent: list[RequestRecord]) -> None:
    told = {cause["code"]: cause for cause in stored(sent)["causes"]}
    for code in CODES:
        named = [one for one in sent if one.diagnosis.cause == code or one.diagnosis.losses.get(code)]
        assert (code in told) is bool(named)
        if not named:
            continue
        tokens = [one.diagnosis.losses.get(code, 0) for one in named]
        money = [
            one.diagnosis.lost_usd * share / one.diagnosis.lost_tokens
            for one, share in zip(named, tokens, strict=True)
            if one.diagnosis.lost_usd is not None and one.diagnosis.lost_tokens
        ]
        assert told[code]["lost_tokens"] == sum(tokens)
        assert told[code]["lost_usd"] == (pytest.approx(sum(money)) if money else None)
        assert told[code]["requests"] == sum(one.diagnosis.cause == code for one in sent)
        assert (told[code]["first_seen"], told[code]["last_seen"]) == seen(named)
    ranked = [cause["lost_usd"] or 0.0 for cause in told.values()]
    assert ranked == sorted(ranked, reverse=True)


def seen(sent: list[RequestRecord]) -> tuple[float, float]:
    return min(one.time for one in sent), max(one.time for one in sent)


def stored(sent: list[RequestRecord]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "p.db")
        store.open()
        try:
            for one in sent:
                store.record(one)
            assert store.flush()
            (row,) = store.read.templates()
            return row
        finally:
            store.close()
