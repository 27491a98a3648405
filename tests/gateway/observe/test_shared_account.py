"""Tenants that share one account at a provider: what one sent another may read, and is not blamed for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.observe.history import History
from tests.gateway.observe.scenes import Stage, rules_text

if TYPE_CHECKING:
    import pytest

    from promptcache_gateway.observe import RequestRecord

HEAD, BODY, ANSWER = rules_text(60), rules_text(60, "law"), rules_text(220, "case")
ASKED = "Which of these orders came too late, and why?"


def request(minute: int, first: str = ASKED) -> dict[str, Any]:
    """A conversation under instructions with the time in them, which are the same for all within a minute."""
    system = f"{HEAD}\nNow: 2026-11-29T21:{minute:02}:00Z\n{BODY}"
    said = [("user", first), ("assistant", ANSWER), ("user", f"And at minute {minute}?")]
    talk = [{"role": role, "content": text} for role, text in said]
    return {"model": "m", "messages": [{"role": "system", "content": system}, *talk]}


def two_tenants(stage: Stage) -> RequestRecord:
    """The second tenant's request reads what the first one sent in the same minute."""
    stage.send(request(1), tenant="b")
    stage.send(request(2, "Something else that only this tenant asks."), tenant="a")
    return stage.send(request(2), tenant="b")


def test_a_read_that_another_tenant_made_possible_refutes_the_break() -> None:
    record = two_tenants(Stage())

    assert record.cached_tokens is not None
    assert (
        record.cached_tokens > 2_000
    )  # far behind the clock that differs from the tenant's own last request
    assert (record.diagnosis.cause, record.diagnosis.attribution) == (None, "unknown")
    assert record.diagnosis.lost_tokens is None
    assert "another tenant" not in record.diagnosis.summary


def test_it_does_because_the_other_one_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(History, "_others_hold", lambda *_: [])

    assert two_tenants(Stage()).diagnosis.attribution == "caller"


def test_a_break_that_the_counters_bear_out_stands_whoever_else_there_is() -> None:
    stage = Stage()
    stage.send(request(1), tenant="b")
    stage.send(request(1, "Something else that only this tenant asks."), tenant="a")
    diagnosis = stage.send(request(2), tenant="b").diagnosis

    assert (diagnosis.cause, diagnosis.attribution) == ("PC101", "caller")
    assert diagnosis.lost_tokens


def test_what_the_other_one_sent_before_its_lifetime_is_no_evidence() -> None:
    history = History()
    stage = Stage(history=history)
    stage.send(request(2, "Something else that only this tenant asks."), tenant="a")
    stage.send(request(1), tenant="b", after_s=400)
    observation = stage.observer.open(stage.call(request(2), tenant="b"))

    assert observation.sight.match is not None
    assert not observation.sight.match.gaps
