"""Faults of memory, model, worker and time: who is at fault fails clearly, others go on, nothing leaks."""

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from promptcache_engine import (
    ConfigError,
    DeadlineError,
    EmptyPromptError,
    EngineStoppedError,
    Failed,
    Finished,
    GenerationError,
    SamplingParams,
)
from promptcache_engine.core import LOST_IN_A_ROW
from promptcache_engine.cores import usable_cores
from promptcache_engine.models import LoadedModel
from promptcache_engine.tokenizer import ByteTokenizer
from tests.engine.conftest import MakeEngine
from tests.engine.recorder import GREEDY, PROMPT, Recorder, assert_nothing_held, submit

ENDLESS = SamplingParams(ignore_eos=True, max_tokens=1500)


class Limited:
    """The tiny model on a machine without memory for more than ``limit`` tokens a step."""

    def __init__(self, model: object, limit: int, error: Exception) -> None:
        self._model = model
        self.limit = limit
        self._error = error
        self.refused = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def forward(self, batch, pool):  # type: ignore[no-untyped-def]
        if len(batch.token_ids) > self.limit:
            self.refused += 1
            raise self._error
        return self._model.forward(batch, pool)  # type: ignore[attr-defined]


MEMORY_ERRORS = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried"),
]


@pytest.mark.parametrize("error", MEMORY_ERRORS, ids=["python", "cuda", "cpu"])
@pytest.mark.parametrize("limit", [1, 7])
def test_a_step_too_large_for_the_memory_is_computed_in_parts(
    tiny: LoadedModel, make_engine: MakeEngine, error: Exception, limit: int
) -> None:
    model = Limited(tiny.model, limit, error)
    engine = make_engine(loaded=replace(tiny, model=model))
    expected = [list(make_engine().generate([*PROMPT, i], GREEDY).token_ids) for i in range(3)]
    recorders = [submit(engine, [*PROMPT, i]) for i in range(3)]
    assert all(isinstance(recorder.wait(), Finished) for recorder in recorders)
    assert [recorder.token_ids for recorder in recorders] == expected
    assert model.refused > 0
    assert engine.stats().prefix_hits > 0
    assert_nothing_held(engine)


def test_without_memory_for_a_single_token_requests_fail_and_the_engine_recovers(
    tiny: LoadedModel, make_engine: MakeEngine
) -> None:
    model = Limited(tiny.model, 0, MemoryError())
    engine = make_engine(loaded=replace(tiny, model=model))
    with pytest.raises(GenerationError, match=r"MemoryError.*max_batch_tokens"):
        engine.generate(PROMPT, GREEDY)
    model.limit = 1000
    assert engine.generate(PROMPT, GREEDY).finish_reason == "length"
    assert_nothing_held(engine)


def test_a_copy_that_fails_concerns_its_sequence(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine()
    expected = engine.generate(PROMPT, GREEDY)
    runner = engine._worker._core._runner

    def no_room(copies: object) -> None:
        if list(copies):  # type: ignore[call-overload]
            raise MemoryError

    monkeypatch.setattr(runner, "copy_pages", no_room)
    with pytest.raises(GenerationError, match="MemoryError"):
        engine.generate(PROMPT, GREEDY)
    monkeypatch.undo()
    assert engine.generate(PROMPT, GREEDY).token_ids == expected.token_ids
    assert_nothing_held(engine)


class Broken(Limited):
    """Computes nothing but NaN once ``limit`` is 0."""

    def forward(self, batch, pool):  # type: ignore[no-untyped-def]
        logits = self._model.forward(batch, pool)  # type: ignore[attr-defined]
        return logits if self.limit else torch.full_like(logits, math.nan)


@pytest.mark.parametrize("kind", [Limited, Broken], ids=["raises", "not finite"])
def test_a_model_that_computes_nothing_any_more_stops_the_engine_with_a_reason(
    tiny: LoadedModel, make_engine: MakeEngine, kind: type[Limited]
) -> None:
    model = kind(tiny.model, 0, RuntimeError("device lost"))
    engine = make_engine(loaded=replace(tiny, model=model), max_restarts=1)
    for restarts in (0, 1):
        until(lambda restarts=restarts: engine.healthy and engine.stats().restarts == restarts)
        ends = [submit(engine, [*PROMPT, i]).wait() for i in range(LOST_IN_A_ROW)]
        assert all(isinstance(end, Failed) for end in ends)
    until(lambda: not engine.healthy)
    assert engine.stats().restarts == 1
    assert "the model computes nothing any more" in str(engine.stopped_because)
    assert engine.last_failure == engine.stopped_because
    with pytest.raises(EngineStoppedError, match="computes nothing"):
        engine.generate(PROMPT)
    model.limit = 1000
    engine.start()
    assert engine.generate(PROMPT, GREEDY).finish_reason == "length"


def test_poison_sent_again_and_again_stops_nobody(tiny: LoadedModel, make_engine: MakeEngine) -> None:
    """Losses in a row whose cause is the requests: the model still computes a token by itself."""
    engine = make_engine(loaded=replace(tiny, model=Limited(tiny.model, 20, RuntimeError("a kernel failed"))))
    ends = [submit(engine, [*PROMPT, i]).wait() for i in range(30)]
    assert all(isinstance(end, Failed) for end in ends)
    assert engine.healthy
    assert engine.stats().restarts == 0
    assert engine.generate(PROMPT[:8], GREEDY).finish_reason == "length"


def test_a_dead_worker_is_replaced_but_not_for_ever(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(max_restarts=2)
    threads = set()
    for deaths in (1, 2, 3):
        engine.generate(PROMPT, GREEDY)
        threads.add(engine._worker._thread)
        monkeypatch.setattr(engine._worker._core._scheduler, "plan", raise_system_exit)
        end = submit(engine, PROMPT).wait()
        assert isinstance(end, Failed)
        assert isinstance(end.error, EngineStoppedError)
        until(lambda deaths=deaths: engine.healthy == (deaths < 3) and not all_alive(threads))
    assert engine.stats().restarts == 2
    assert "SystemExit" in str(engine.last_failure)
    engine.start()
    assert engine.generate(PROMPT, GREEDY).cached_tokens == 0
    until(lambda: not any(thread.is_alive() for thread in threads))


def test_closing_while_a_worker_dies_leaves_it_closed(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        engine = make_engine()
        monkeypatch.setattr(engine._worker._core._scheduler, "plan", raise_system_exit)
        submit(engine, PROMPT)
        engine.close()
        worker = engine._worker
        engine.close()
        assert not engine.healthy
        assert not worker._thread.is_alive()


def test_time_that_is_over_ends_a_request_waiting_or_running(make_engine: MakeEngine) -> None:
    engine = make_engine(max_running=1, max_batch_tokens=16)
    other = Recorder()
    generation = engine.submit(PROMPT, ENDLESS, on_event=other)
    until(lambda: other.events)
    waiting = submit(engine, PROMPT[1:], timeout=0.05)
    end = waiting.wait()
    assert isinstance(end, Failed)
    assert isinstance(end.error, DeadlineError)
    assert end.error.output_tokens == 0
    generation.cancel()
    other.wait()
    running = submit(engine, PROMPT, ENDLESS, timeout=0.2)
    end = running.wait()
    assert isinstance(end, Failed)
    assert isinstance(end.error, DeadlineError)
    assert end.error.output_tokens == len(running.token_ids) > 0
    assert submit(engine, PROMPT, timeout=60).wait() == Finished("length", len(PROMPT), len(PROMPT) - 1, 12)
    assert_nothing_held(engine)


@pytest.mark.parametrize(("field", "value"), [("timeout", 0), ("timeout", math.nan), ("priority", 1.5)])
def test_requests_without_sense_are_refused(make_engine: MakeEngine, field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        submit(make_engine(), PROMPT, **{field: value})


def test_a_tokenizer_that_produces_nothing(tiny: LoadedModel, make_engine: MakeEngine) -> None:
    class Silent(ByteTokenizer):
        def token_bytes(self, token_id: int) -> bytes:
            return b""

        def encode(self, text: str) -> list[int]:
            return []

    engine = make_engine(loaded=replace(tiny, tokenizer=Silent()))
    with pytest.raises(EmptyPromptError):
        engine.generate("something", GREEDY)
    answer = engine.generate(PROMPT, GREEDY)
    assert (answer.text, len(answer.token_ids), answer.finish_reason) == ("", 12, "length")
    assert engine.generate(PROMPT, GREEDY).token_ids == answer.token_ids
    assert_nothing_held(engine)


def test_a_prompt_one_below_the_contexts_limit(make_engine: MakeEngine) -> None:
    engine = make_engine(max_context=64, page_size=16, kv_cache_tokens=64)
    prompt = [i % 250 for i in range(63)]
    answers = [engine.generate(prompt, SamplingParams(temperature=0, ignore_eos=True)) for _ in range(3)]
    assert {(len(answer.token_ids), answer.finish_reason) for answer in answers} == {(1, "length")}
    assert len({answer.token_ids for answer in answers}) == 1
    assert answers[-1].cached_tokens == 62
    assert_nothing_held(engine)


def test_cores_are_counted_within_the_containers_share(tmp_path: Path) -> None:
    cpus, cgroup = tmp_path / "cpus", tmp_path / "cgroup"
    cgroup.mkdir()
    everything = usable_cores(cpus, cgroup)
    assert everything is not None
    for quota, expected in (("max 100000", everything), ("100000 100000", 1), ("50000 100000", 1)):
        (cgroup / "cpu.max").write_text(quota)
        assert usable_cores(cpus, cgroup) == expected


def raise_system_exit() -> None:
    raise SystemExit(3)


def all_alive(threads: set) -> bool:  # type: ignore[type-arg]
    return all(thread.is_alive() for thread in threads)


def until(condition, seconds: float = 20) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)
