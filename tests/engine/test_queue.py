"""How many requests an engine takes: those it can run, and those that may wait beyond them."""

from queue import SimpleQueue

import pytest

from promptcache_engine import Finished, Generation, GenerationEvent, QueueFullError, SamplingParams
from tests.engine.conftest import MakeEngine
from tests.engine.recorder import GREEDY, PROMPT, Recorder, assert_nothing_held, submit


@pytest.mark.parametrize(("running", "waiting"), [(16, 2), (1, 1), (3, 5)])
def test_a_burst_finds_room_for_those_that_can_run_and_those_that_may_wait(
    make_engine: MakeEngine, running: int, waiting: int
) -> None:
    engine = make_engine(max_running=running, max_waiting=waiting)
    endless = SamplingParams(ignore_eos=True, max_tokens=3900)
    generations: list[Generation] = []
    recorders: list[Recorder] = []
    refused: list[tuple[int, int, int]] = []
    for i in range(3 * (running + waiting)):
        recorder = Recorder()
        try:
            generations.append(engine.submit([i], endless, on_event=recorder))
        except QueueFullError as full:
            refused.append((i, full.waiting, full.limit))
        else:
            recorders.append(recorder)
    assert len(generations) == running + waiting
    assert refused == [(i, waiting, waiting) for i in range(running + waiting, 3 * (running + waiting))]
    generations[0].cancel()
    recorders[0].wait()
    generations.append(engine.submit([7], endless, on_event=(last := Recorder())))
    with pytest.raises(QueueFullError):
        engine.submit([8], endless, on_event=Recorder())
    for generation in generations:
        generation.cancel()
    for recorder in [*recorders, last]:
        recorder.wait()
    assert_nothing_held(engine)


def test_a_request_follows_another_from_its_last_event(make_engine: MakeEngine) -> None:
    engine = make_engine(max_running=1, max_waiting=1)
    follow_ups: SimpleQueue[Recorder] = SimpleQueue()

    def on_event(event: GenerationEvent) -> None:
        if isinstance(event, Finished):
            follow_ups.put(submit(engine, PROMPT))

    engine.submit(PROMPT, GREEDY, on_event=on_event)
    second = submit(engine, PROMPT)
    assert isinstance(follow_ups.get(timeout=30).wait(), Finished)
    assert isinstance(second.wait(), Finished)
