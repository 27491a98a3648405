"""Requests on an event loop are looked at a moment later, and still in the order in which they came."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import TYPE_CHECKING

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe import drafts, ending
from promptcache_gateway.observe.arrivals import Arrivals
from promptcache_gateway.observe.history import History
from promptcache_gateway.observe.observation import Observation
from promptcache_gateway.observe.prompt import read_prompt, share_texts
from tests.gateway.observe.scenes import Stage, chat, outcome, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe import RequestRecord

RULES = rules_text()


class Counted(History):
    """A history that says how many requests it was asked about."""

    looks = 0

    def find(self, *arguments: object, **known: object) -> object:  # type: ignore[override]
        self.looks += 1
        return super().find(*arguments, **known)  # type: ignore[arg-type]


def test_opening_on_a_loop_leaves_the_look_for_later() -> None:
    async def play() -> None:
        history = Counted()
        stage = Stage(history=history)
        stage.observer.open(stage.call(chat(RULES, "One?")))
        stage.observer.open(stage.call(chat(RULES, "Two?")))
        assert history.looks == 0

        await asyncio.sleep(0.05)

        assert history.looks == 2

    asyncio.run(play())


def test_without_a_loop_the_look_is_at_once() -> None:
    history = Counted()
    stage = Stage(history=history)

    stage.observer.open(stage.call(chat(RULES, "One?")))

    assert history.looks == 1


def test_a_later_request_answered_first_is_compared_with_the_earlier_one() -> None:
    async def play() -> None:
        stage = Stage()
        first = stage.observer.open(stage.call(chat(RULES, "One?")))
        second = stage.observer.open(stage.call(chat(RULES, "Two?")))
        usage = stage.provider.usage(2_000, 0)

        late = stage.observer.close(second, outcome(usage))
        early = stage.observer.close(first, outcome(usage))

        assert early.diagnosis.cause == "PC801"
        assert late.diagnosis.compared_with == early.id
        assert late.diagnosis.cause == "PC608"  # the first had not begun to be answered as it came

    asyncio.run(play())


def test_an_answer_counts_only_for_those_that_came_after_it() -> None:
    async def play() -> None:
        stage = Stage()
        first = stage.observer.open(stage.call(chat(RULES, "One?")))
        second = stage.observer.open(stage.call(chat(RULES, "Two?")))
        usage = stage.provider.usage(2_000, 0)

        stage.observer.close(first, outcome(usage))
        late = stage.observer.close(second, outcome(usage))

        assert late.diagnosis.cause == "PC608"

    asyncio.run(play())


def test_an_answer_waits_for_no_later_request_and_what_it_had_looked_at_is_prepared_too() -> None:
    async def play() -> None:
        history = Counted()
        stage = Stage(history=history)
        stage.send(chat("Now: 12:00:01. " + RULES, "One?"))
        history.looks = 0
        texts = [chat(f"Now: 12:00:0{n}. " + RULES, "Two?") for n in range(2, 6)]
        opened = [stage.observer.open(stage.call(text)) for text in texts]

        stage.observer.conclude(opened[1], outcome(stage.provider.usage(2_000, 0)))
        assert history.looks == 2
        assert [one.looked_at for one in opened] == [True, True, False, False]
        assert not opened[0].seen

        await asyncio.sleep(0.1)
        assert all(one.seen for one in opened)

    asyncio.run(play())


def test_what_is_over_is_let_go_of_however_busy_the_loop_is() -> None:
    async def play() -> None:
        stage = Stage()
        usage = stage.provider.usage(2_000, 0)

        async def client() -> None:
            for _ in range(30):
                observation = stage.observer.open(stage.call(chat(RULES, "One?")))
                await asyncio.sleep(0)
                stage.observer.close(observation, outcome(usage))

        await asyncio.gather(*[client() for _ in range(8)])
        for _ in range(3):
            await asyncio.sleep(0)
        assert sum(type(found) is Observation for found in gc.get_objects()) < 30

    asyncio.run(play())


@pytest.mark.parametrize("forced", [False, True])
def test_an_end_is_known_to_whoever_is_looked_at_next_though_its_answer_is_still_being_sent(
    forced: bool,
) -> None:
    async def play() -> None:
        told: list[RequestRecord] = []
        stage = Stage(listeners=[told.append])
        usage = stage.provider.usage(2_000, 0)
        first = stage.observer.open(stage.call(chat(RULES, "One?")))
        ended = stage.observer.conclude(first, outcome(usage))
        assert not told
        assert stage.observer.is_open(ended.id)

        stage.clock.now += 5.0
        second = stage.observer.open(stage.call(chat(RULES, "Two?")))
        if not forced:
            await asyncio.sleep(0.05)
        late = stage.observer.close(second, outcome(usage))
        early = stage.observer.finish(ended)

        assert late.diagnosis.cause == "PC809"  # not PC608: the first had been answered
        assert [record.id for record in told] == [late.id, early.id]
        assert not stage.observer.is_open(early.id)

    asyncio.run(play())


def test_what_fails_behind_an_answer_costs_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.send(chat("Now: 12:00:01. " + RULES, "One?"))
    observation = stage.observer.open(stage.call(chat("Now: 12:00:02. " + RULES, "Two?")))
    ended = stage.observer.conclude(observation, outcome(stage.provider.usage(2_000, 0)))
    assert ended.diagnosis.cause == "PC101"

    monkeypatch.setattr(drafts, "explain_break", None)
    monkeypatch.setattr(ending, "lengths_told", None)
    record = stage.observer.finish(ended)

    assert record.id == ended.id
    assert "failed" in record.diagnosis.summary
    assert not stage.observer.is_open(record.id)


def test_a_request_of_no_known_shape_has_a_sight_too() -> None:
    async def play() -> None:
        stage = Stage()
        observation = stage.observer.open(stage.call({"model": "m"}))

        assert observation.template == "learned-unstructured"
        assert stage.observer.close(observation, outcome(Usage.unreported())).diagnosis.cause is None

    asyncio.run(play())


def test_many_threads_lose_nobody() -> None:
    stage = Stage()
    records = []

    def play(number: int) -> None:
        async def exchange() -> None:
            observation = stage.observer.open(stage.call(chat(RULES, f"Question {number}?")))
            await asyncio.sleep(0)
            records.append(stage.observer.close(observation, outcome(stage.provider.usage(2_000, 1_900))))

        asyncio.run(exchange())

    threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({record.id for record in records}) == 8
    assert sum(record.diagnosis.compared_with is None for record in records) == 1


def test_equal_texts_are_kept_once_and_marks_stay_with_their_request() -> None:
    stage = Stage()
    masker = stage.observer._masker
    marked = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    plain = [{"type": "text", "text": "".join(list(RULES))}]
    talk = [{"role": "user", "content": "Hello there, who is it?"}]
    known = read_prompt({"system": marked, "messages": talk}, masker)
    again = read_prompt({"system": [dict(marked[0], text="".join(list(RULES)))], "messages": talk}, masker)
    other = read_prompt({"system": plain, "messages": talk}, masker)

    assert again.segments[0].text is not known.segments[0].text
    shared = share_texts(again, known)
    assert shared == again
    assert shared.segments[0] is known.segments[0]
    assert share_texts(other, known).segments[0].breakpoint is None


def test_only_a_request_that_came_alone_is_taken_at_leisure() -> None:
    async def play() -> None:
        taken: list[bool] = []
        stage = Stage()
        call = stage.call(chat(RULES, "One?"))
        sight = stage.observer.open(call).sight
        arrivals = Arrivals(
            lambda one: one.see(sight), lambda _, *, at_leisure: taken.append(at_leisure), lambda _: None
        )
        for burst in (1, 3):
            for _ in range(burst):
                arrivals.add(Observation(call, arrivals.look_at))
            await asyncio.sleep(0.05)

        assert taken == [True, False, False, False]

    asyncio.run(play())
