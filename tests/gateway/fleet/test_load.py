"""What a replica has to do and how fast it is, learned from what it answered."""

from __future__ import annotations

import pytest

from promptcache_gateway.fleet.load import DECODE_PRIOR, PREFILL_PRIOR, Load


def serve_in_turn(load: Load, prompts: list[tuple[float, float]], rate: float) -> None:
    """Play a queue: (arrival, tokens), computed one after another at ``rate`` tokens a second."""
    free_at, coming = 0.0, []
    for arrival, tokens in prompts:
        for item in [one for one in coming if one[0] <= arrival]:
            finish(load, item)
            coming.remove(item)
        ticket = load.sent(tokens, arrival)
        free_at = max(free_at, arrival) + tokens / rate
        coming.append((free_at, ticket, tokens))
    for item in coming:
        finish(load, item)


def finish(load: Load, item: tuple[float, int, float]) -> None:
    at, ticket, tokens = item
    load.first_output(ticket, at)
    load.ended(ticket, at, computed=tokens)


@pytest.mark.parametrize("rate", [900.0, 30_000.0])
@pytest.mark.parametrize("gap", [0.001, 0.1, 30.0])
def test_the_prefill_rate_is_learned_whatever_the_queue(rate: float, gap: float) -> None:
    load = Load()
    serve_in_turn(load, [(index * gap, 2000.0 + 100 * (index % 7)) for index in range(300)], rate)
    assert load.prefill_rate == pytest.approx(rate, rel=0.1)
    assert (load.running, load.pending_tokens, load.backlog_s(1e9)) == (0, 0, 0)


def test_hits_teach_nothing_about_the_rate() -> None:
    load = Load()
    serve_in_turn(load, [(index * 1.0, 40.0) for index in range(50)], rate=100.0)
    assert load.prefill_rate == PREFILL_PRIOR


def test_the_backlog_is_what_is_queued_and_shrinks_with_time() -> None:
    load = Load()
    first = load.sent(PREFILL_PRIOR, 0.0)
    load.sent(PREFILL_PRIOR, 0.0)
    assert load.backlog_s(0.0) == pytest.approx(2.0)
    assert load.backlog_s(1.5) == pytest.approx(0.5)
    load.first_output(first, 1.0)
    assert load.backlog_s(1.0) == pytest.approx(1.0)


def test_a_replica_that_is_late_is_taken_to_need_as_long_again() -> None:
    load = Load()
    load.sent(PREFILL_PRIOR, 0.0)
    assert load.backlog_s(1.25) == pytest.approx(0.25)
    assert load.backlog_s(100.0) == pytest.approx(1.0)


def test_a_request_ends_once_whatever_is_said_twice() -> None:
    load = Load()
    ticket, other = load.sent(5000.0, 0.0), load.sent(100.0, 0.0)
    load.ended(ticket, 1.0)
    load.ended(ticket, 1.0)
    load.first_output(ticket, 2.0)
    assert (load.running, load.decoding, load.pending_tokens) == (1, 0, 100.0)
    load.first_output(other, 2.0)
    load.first_output(other, 3.0)
    load.ended(other, 4.0)
    assert (load.running, load.decoding, load.pending_tokens) == (0, 0, 0)


def test_the_speed_of_answers_and_what_company_costs_are_learned() -> None:
    load = Load()
    for start in range(60):
        tickets = [load.sent(0.0, float(start)) for _ in range(8)]
        for ticket in tickets:
            load.first_output(ticket, float(start))
        assert load.decoding == 8
        for beside, ticket in enumerate(tickets):  # 10 ms a step, and 1 ms for each that was there before
            load.ended(ticket, start + 100 * (0.010 + 0.001 * beside), output_tokens=101)
    assert 60 < load.decode_rate < 100 > DECODE_PRIOR
    assert 0.0002 < load.slowdown_s < 0.003
    assert load.output_tokens == pytest.approx(101, rel=0.01)
    assert load.crowd_s() == 0


def test_weights_are_priors_until_a_replica_has_shown_its_rate() -> None:
    assert Load(weight=3.0).prefill_rate == 3 * PREFILL_PRIOR
    learned = Load(weight=3.0)
    learned.learn_from(Load(prefill_rate=123.0))
    assert learned.prefill_rate == 123.0
