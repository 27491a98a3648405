"""How requests and engines end: cancelled, refused, poisoned, closed or dead; and pages always come back."""

import math
import threading
import time
from dataclasses import replace
from queue import SimpleQueue
from random import Random

import pytest
import torch

from promptcache_engine import (
    Engine,
    EngineConfig,
    EngineStoppedError,
    Failed,
    Finished,
    GenerationError,
    GenerationEvent,
    QueueFullError,
    SamplingParams,
    TokenDelta,
)
from promptcache_engine.models import LoadedModel
from promptcache_engine.sampling import sample
from promptcache_engine.tokenizer import ByteTokenizer
from tests.engine.conftest import MakeEngine
from tests.engine.recorder import GREEDY, PROMPT, Recorder, assert_nothing_held, submit


def test_cancelling_frees_the_pages(make_engine: MakeEngine) -> None:
    engine = make_engine()
    recorders = [Recorder() for _ in range(3)]
    generations = [
        engine.submit([*PROMPT, i], SamplingParams(ignore_eos=True), on_event=r)
        for i, r in enumerate(recorders)
    ]
    while not all(len(recorder.events) > 3 for recorder in recorders):
        time.sleep(0.001)
    for generation in generations:
        generation.cancel()
    for recorder in recorders:
        end = recorder.wait()
        assert isinstance(end, Finished)
        assert (end.finish_reason, end.output_tokens) == ("cancelled", len(recorder.token_ids))
    assert_nothing_held(engine)
    generations[0].cancel()
    assert engine.generate([*PROMPT, 0], GREEDY).cached_tokens == len(PROMPT)


def test_leaving_a_stream_early_cancels_it(make_engine: MakeEngine) -> None:
    engine = make_engine()
    for event in engine.stream(PROMPT, SamplingParams(ignore_eos=True)):
        if isinstance(event, TokenDelta):
            break
    while engine.stats().cancelled == 0:
        time.sleep(0.001)
    assert_nothing_held(engine)


@pytest.mark.parametrize("error", [RuntimeError("loop is closed"), SystemExit(3), KeyboardInterrupt()])
def test_a_raising_callback_ends_its_own_request_only(make_engine: MakeEngine, error: BaseException) -> None:
    engine = make_engine(max_restarts=0)

    def raising(event: GenerationEvent) -> None:
        raise error

    engine.submit(PROMPT, SamplingParams(ignore_eos=True), on_event=raising)
    assert submit(engine, PROMPT[1:]).wait() == Finished("length", len(PROMPT) - 1, 0, 12)
    while engine.stats().cancelled == 0:
        time.sleep(0.001)
    assert_nothing_held(engine)


def test_a_full_queue_refuses(make_engine: MakeEngine) -> None:
    engine = make_engine(max_running=1, max_batch_tokens=8, max_waiting=2)
    endless = SamplingParams(ignore_eos=True, max_tokens=1500)
    running = Recorder()
    generation = engine.submit(PROMPT, endless, on_event=running)
    while not running.events:
        time.sleep(0.001)
    waiting = [submit(engine, PROMPT) for _ in range(2)]
    with pytest.raises(QueueFullError) as full:
        submit(engine, PROMPT)
    assert (full.value.waiting, full.value.limit) == (2, 2)
    generation.cancel()
    assert [type(recorder.wait()) for recorder in waiting] == [Finished, Finished]
    assert isinstance(submit(engine, PROMPT).wait(), Finished)


def test_reset_answers_truthfully(make_engine: MakeEngine) -> None:
    engine = make_engine()
    recorder = Recorder()
    generation = engine.submit(PROMPT, SamplingParams(ignore_eos=True), on_event=recorder)
    while not recorder.events:
        time.sleep(0.001)
    assert engine.reset_cache() is False
    generation.cancel()
    recorder.wait()
    assert engine.reset_cache() is True
    assert engine.stats().pages_cached == 0
    assert engine.generate(PROMPT, GREEDY).cached_tokens == 0


def test_what_is_cached_is_told_without_using_it(make_engine: MakeEngine) -> None:
    engine = make_engine()
    asked = [(PROMPT, ""), (PROMPT, "another tenant"), ([*PROMPT[:5], 1, 2], "")]
    assert engine.cached_prefixes(asked) == [0, 0, 0]
    engine.generate(PROMPT, GREEDY)
    before = engine.stats()
    assert engine.cached_prefixes(asked) == [len(PROMPT), 0, 5]
    assert engine.stats() == before
    engine.close()
    with pytest.raises(EngineStoppedError):
        engine.cached_prefixes(asked)


class Faulty:
    """The tiny model, with something wrong for prompts that contain a certain token."""

    def __init__(self, model: object, fault: str, trigger: int) -> None:
        self._model = model
        self._fault = fault
        self._trigger = trigger

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def forward(self, batch, pool):  # type: ignore[no-untyped-def]
        logits = self._model.forward(batch, pool).clone()  # type: ignore[attr-defined]
        if self._fault == "raise" and self._trigger in batch.token_ids.tolist():
            raise RuntimeError("a kernel failed")
        if self._fault == "nan":
            for row, place in enumerate(batch.logit_rows.tolist()):
                if int(batch.token_ids[place]) == self._trigger:
                    logits[row] = math.nan
        return logits


@pytest.mark.parametrize("fault", ["raise", "nan"])
def test_a_poisoned_request_fails_alone(tiny: LoadedModel, make_engine: MakeEngine, fault: str) -> None:
    engine = make_engine(loaded=replace(tiny, model=Faulty(tiny.model, fault, trigger=7)))
    params = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)
    clean = make_engine(enable_prefix_caching=False)
    recorders = {i: submit(engine, [*PROMPT, i], params) for i in (5, 6, 7, 8)}
    for last, recorder in recorders.items():
        end = recorder.wait()
        if last == 7:
            assert isinstance(end, Failed)
            assert isinstance(end.error, GenerationError)
        else:
            assert recorder.token_ids == list(clean.generate([*PROMPT, last], params).token_ids)
    assert engine.healthy
    assert engine.stats().failed == 1
    assert_nothing_held(engine)
    with pytest.raises(GenerationError, match="a kernel failed" if fault == "raise" else "not finite"):
        engine.generate([*PROMPT, 7], params)


def test_a_request_that_cannot_be_sampled_fails_alone(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def picky(logits: torch.Tensor, params: list[SamplingParams], keys: list[int]) -> list[int | None]:
        if any(each.seed == 13 for each in params):
            raise RuntimeError("unlucky seed\nand a long trace")
        return sample(logits, params, keys)

    monkeypatch.setattr("promptcache_engine.choosing.sample", picky)
    engine = make_engine()
    params = [SamplingParams(seed=seed, max_tokens=8, ignore_eos=True) for seed in (12, 13, 14)]
    alone = make_engine(enable_prefix_caching=False)
    expected = [list(alone.generate(PROMPT, params[i]).token_ids) for i in (0, 2)]
    first, unlucky, last = (submit(engine, PROMPT, each) for each in params)
    end = unlucky.wait()
    assert isinstance(end, Failed)
    assert end.error.problem == "generation failed: RuntimeError: unlucky seed"
    for recorder in (first, last):
        recorder.wait()
    assert [first.token_ids, last.token_ids] == expected
    assert_nothing_held(engine)


def test_a_token_without_text_fails_its_request_alone(tiny: LoadedModel, make_engine: MakeEngine) -> None:
    class Broken(ByteTokenizer):
        def token_bytes(self, token_id: int) -> bytes:
            raise LookupError(f"no bytes for {token_id}")

    engine = make_engine(loaded=replace(tiny, tokenizer=Broken()))
    with pytest.raises(GenerationError, match="LookupError: no bytes for"):
        engine.generate(PROMPT, GREEDY)
    assert engine.healthy
    assert_nothing_held(engine)


def test_a_dead_worker_says_so_and_can_be_replaced(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(max_running=1, max_batch_tokens=16, max_restarts=0)
    assert engine.healthy
    recorders = [submit(engine, PROMPT, SamplingParams(ignore_eos=True)) for _ in range(3)]
    while not recorders[0].events:
        time.sleep(0.001)

    def broken() -> None:
        raise KeyError("page 7")

    monkeypatch.setattr(engine._worker._core._scheduler, "plan", broken)
    for recorder in recorders:
        end = recorder.wait()
        assert isinstance(end, Failed)
        assert isinstance(end.error, EngineStoppedError)
        assert "KeyError" in str(end.error)
    assert not engine.healthy
    assert "KeyError" in str(engine.stopped_because)
    with pytest.raises(EngineStoppedError, match="KeyError"):
        submit(engine, PROMPT)
    with pytest.raises(EngineStoppedError):
        engine.reset_cache()
    engine.start()
    assert engine.healthy
    assert engine.stopped_because is None
    assert engine.generate(PROMPT, GREEDY).cached_tokens == 0


def test_closing_fails_what_is_pending(tiny: LoadedModel) -> None:
    engine = Engine.from_loaded(tiny, EngineConfig(kv_cache_tokens=4096, max_running=1))
    with pytest.raises(EngineStoppedError, match="not started"):
        engine.generate(PROMPT)
    with pytest.raises(EngineStoppedError, match="not started"):
        engine.reset_cache()
    with engine:
        recorders = [submit(engine, PROMPT, SamplingParams(ignore_eos=True)) for _ in range(3)]
    ends = [recorder.wait() for recorder in recorders]
    assert all(isinstance(end, Failed) and isinstance(end.error, EngineStoppedError) for end in ends)
    assert not engine.healthy
    engine.close()
    with pytest.raises(EngineStoppedError, match="closed"):
        submit(engine, PROMPT)
    with engine:
        assert engine.generate(PROMPT, GREEDY).finish_reason == "length"


def test_a_callback_may_use_the_engine(make_engine: MakeEngine) -> None:
    engine = make_engine()
    answers: SimpleQueue[object] = SimpleQueue()

    def on_event(event: GenerationEvent) -> None:
        if isinstance(event, Finished):
            answers.put(engine.reset_cache())
            answers.put(submit(engine, PROMPT))

    engine.submit(PROMPT, GREEDY, on_event=on_event)
    assert answers.get(timeout=30) is True
    follow_up = answers.get(timeout=30)
    assert isinstance(follow_up, Recorder)
    assert follow_up.wait() == Finished("length", len(PROMPT), 0, 12)


def test_a_failing_command_is_told_to_who_asked(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(max_restarts=0)

    def broken() -> bool:
        raise KeyError("page 7")

    monkeypatch.setattr(engine._worker._core, "reset_cache", broken)
    with pytest.raises(KeyError):
        engine.reset_cache()
    while engine.healthy:
        time.sleep(0.001)
    assert "page 7" in str(engine.stopped_because)


def test_many_threads_submit_and_cancel_and_nothing_leaks(make_engine: MakeEngine) -> None:
    engine = make_engine(kv_cache_tokens=256, page_size=4, max_batch_tokens=32, max_running=5)
    alone = make_engine(enable_prefix_caching=False)
    prompts = [[*PROMPT[: 8 + 4 * i], i] for i in range(10)]
    expected = [list(alone.generate(prompt, GREEDY).token_ids) for prompt in prompts]
    wrong: list[object] = []

    def client(seed: int) -> None:
        random = Random(seed)
        for _ in range(12):
            which = random.randrange(len(prompts))
            recorder = Recorder()
            generation = engine.submit(prompts[which], GREEDY, on_event=recorder)
            if random.random() < 0.4:
                time.sleep(random.random() * 0.02)
                generation.cancel()
            end = recorder.wait()
            got = recorder.token_ids
            if not isinstance(end, Finished) or got != expected[which][: len(got)]:
                wrong.append((end, got))
            elif end.finish_reason != "cancelled" and len(got) != 12:
                wrong.append(end)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    stats = engine.stats()
    assert stats.finished + stats.cancelled == 6 * 12
    assert stats.cancelled > 0
    assert stats.prefix_hits > 0
    assert_nothing_held(engine)
    engine._worker.close()
    engine._worker._core._scheduler._cache.check()
