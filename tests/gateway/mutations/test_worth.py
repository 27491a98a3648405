"""What automatic breakpoints are worth, at a provider that caches as Anthropic documents it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.upstreams.base import WholeReply
from tests.gateway.mutations.stage import LONG, SONNET, Stage, messages
from tests.gateway.observe.marked_traffic import MarkedProvider

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_gateway.observe import RequestRecord

READ, WRITE = 0.1, 1.25


@dataclass
class Played:
    """A row of requests, sent and answered."""

    records: list[RequestRecord]

    @property
    def cost(self) -> float:
        """In tokens at the full price."""
        return sum(
            (one.uncached_tokens or 0)
            + READ * (one.cached_tokens or 0)
            + WRITE * (one.cache_write_tokens or 0)
            for one in self.records
        )

    def hit_rate(self, after: int = 0) -> float:
        """By tokens, of the requests after some."""
        records = self.records[after:]
        return sum(one.cached_tokens or 0 for one in records) / sum(one.prompt_tokens or 0 for one in records)


def play(bodies: Iterable[dict[str, Any]], rules: dict[str, Any]) -> Played:
    stage, provider = Stage(rules, kind="anthropic"), MarkedProvider()
    records = []
    for body in bodies:
        sent = stage.send(body)
        usage = provider.serve(sent.json, sent.call.received_at)
        sent.flight.reply = WholeReply(200, [], b"", usage)
        sent.flight.end(200)
        sent.flight.finish()
        assert sent.flight.record is not None
        records.append(sent.flight.record)
    return Played(records)


def both(bodies: list[dict[str, Any]]) -> tuple[Played, Played]:
    return play(bodies, {}), play(bodies, {"breakpoints": True})


def conversation(turns: int, blocks: int = 1) -> list[dict[str, Any]]:
    """A conversation without a mark, one request a turn, each answer and question of so many blocks."""

    def said(role: str, number: int) -> dict[str, Any]:
        texts = [f"{role} {number}.{block} " + "says something of weight. " * 8 for block in range(blocks)]
        return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}

    talk: list[dict[str, Any]] = []
    bodies = []
    for number in range(turns):
        talk = [*talk, said("user", number)]
        bodies.append(messages(messages=talk))
        talk = [*talk, said("assistant", number)]
    return bodies


def test_a_conversation_that_nobody_marked_is_read_from_its_third_turn_on() -> None:
    plain, marked = both(conversation(12))
    assert plain.hit_rate() == 0
    assert marked.hit_rate(after=3) > 0.8
    assert marked.cost < 0.5 * plain.cost


def test_turns_longer_than_the_lookback_are_read_all_the_same() -> None:
    plain, marked = both(conversation(10, blocks=14))
    assert plain.hit_rate() == 0
    assert marked.hit_rate(after=4) > 0.5
    assert marked.cost < 0.6 * plain.cost


def test_questions_with_the_same_instructions_share_them() -> None:
    bodies = [messages(messages=[{"role": "user", "content": f"Question {n}: why?"}]) for n in range(12)]
    plain, marked = both(bodies)
    assert marked.hit_rate(after=3) > 0.95
    assert marked.cost < 0.5 * plain.cost


@pytest.mark.parametrize(
    "bodies",
    [
        [
            messages(system=[{"type": "text", "text": f"Now it is 2026-11-29T10:00:{n:02}Z. {LONG}"}])
            for n in range(12)
        ],
        [
            messages(system=[{"type": "text", "text": f"Case {n} is about {n * 7}. " + LONG}])
            for n in range(12)
        ],
        [messages(model=SONNET, system="Be brief.") for _ in range(12)],
    ],
)
def test_where_nothing_repeats_nothing_is_paid(bodies: list[dict[str, Any]]) -> None:
    plain, marked = both(bodies)
    assert marked.cost == plain.cost


def test_nobody_is_blamed_for_marks_that_were_put_in() -> None:
    plain, marked = both(conversation(12))
    assert {one.diagnosis.cause for one in plain.records[1:]} == {"PC602"}, "nobody marks anything"
    assert [one.diagnosis.causes for one in marked.records[2:]] == [()] * 10
    assert all(one.diagnosis.hit for one in marked.records[3:])
