"""The engine on a tiny model: outputs, events, errors, and pages that all come back."""

import math
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue
from random import Random

import pytest
import torch

from promptcache_engine import (
    Admitted,
    Completion,
    ConfigError,
    ContextLengthError,
    EmptyPromptError,
    Engine,
    EngineConfig,
    EngineStoppedError,
    Failed,
    Finished,
    GenerationError,
    GenerationEvent,
    InvalidTokenError,
    QueueFullError,
    SamplingParams,
    TokenDelta,
)
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import tiny_model
from tests.engine.conftest import MakeEngine

GREEDY = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)
PROMPT = list(b"The quick brown fox jumps over the lazy dog, then rests.")


class Recorder:
    """Collects one request's events and waits for its end."""

    def __init__(self) -> None:
        self.events: list[GenerationEvent] = []
        self.ended = threading.Event()

    def __call__(self, event: GenerationEvent) -> None:
        self.events.append(event)
        if isinstance(event, Finished | Failed):
            self.ended.set()

    def wait(self) -> GenerationEvent:
        assert self.ended.wait(30)
        return self.events[-1]

    @property
    def token_ids(self) -> list[int]:
        return [token for event in self.events if isinstance(event, TokenDelta) for token in event.token_ids]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TokenDelta))


def submit(
    engine: Engine, tokens: Sequence[int], params: SamplingParams = GREEDY, **options: object
) -> Recorder:
    recorder = Recorder()
    engine.submit(tokens, params, on_event=recorder, **options)
    return recorder


def assert_nothing_held(engine: Engine) -> None:
    stats = engine.stats()
    assert (stats.running, stats.waiting, stats.pages_held) == (0, 0, 0)
    assert stats.pages_free + stats.pages_cached == stats.pages_total


def test_importing_the_package_loads_no_torch() -> None:
    code = (
        "import sys, promptcache_engine, promptcache_engine.scheduler;"
        "promptcache_engine.EngineConfig(); promptcache_engine.SamplingParams();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there() -> None:
    import promptcache_engine

    assert all(getattr(promptcache_engine, name) for name in promptcache_engine.__all__)
    assert sorted(promptcache_engine.__all__) == promptcache_engine.__all__ == dir(promptcache_engine)
    with pytest.raises(AttributeError, match="no attribute 'Motor'"):
        promptcache_engine.Motor  # noqa: B018


@pytest.mark.parametrize("page_size", [1, 4, 16, 128])
def test_cold_warm_and_four_repeats_are_equal(make_engine: MakeEngine, page_size: int) -> None:
    expected = make_engine(enable_prefix_caching=False).generate(PROMPT, GREEDY)
    assert expected.cached_tokens == 0
    engine = make_engine(page_size=page_size)
    answers = [engine.generate(PROMPT, GREEDY) for _ in range(6)]
    assert {answer.token_ids for answer in answers} == {expected.token_ids}
    assert {answer.text for answer in answers} == {expected.text}
    assert [answer.cached_tokens for answer in answers] == [0] + [len(PROMPT) - 1] * 5
    assert_nothing_held(engine)


def test_the_answer_is_the_models_own(make_engine: MakeEngine, tiny: LoadedModel) -> None:
    """Against a loop with neither cache, chunks nor batch."""
    from promptcache_engine.models import ForwardBatch, KVPool, SequenceSlice

    tokens = list(PROMPT)
    for _ in range(8):
        count = len(tokens)
        slots = torch.arange(count)
        pool = KVPool(tiny.config, count, torch.float32, "cpu")
        batch = ForwardBatch(
            torch.tensor(tokens), slots, slots, [SequenceSlice(0, count, slots)], torch.tensor([count - 1])
        )
        tokens.append(int(tiny.model.forward(batch, pool).argmax()))
    engine = make_engine(max_batch_tokens=16, max_running=4)
    assert list(engine.generate(PROMPT, GREEDY).token_ids[:8]) == tokens[len(PROMPT) :]


def test_a_later_turn_reuses_the_answer(make_engine: MakeEngine) -> None:
    engine = make_engine()
    first = engine.generate(PROMPT, GREEDY)
    turn = [*PROMPT, *first.token_ids, *b" And then?"]
    second = engine.generate(turn, GREEDY)
    # The last token of an answer was sampled, never computed.
    assert second.cached_tokens == len(PROMPT) + len(first.token_ids) - 1
    assert second.token_ids == make_engine(enable_prefix_caching=False).generate(turn, GREEDY).token_ids


def test_events_come_in_order(make_engine: MakeEngine) -> None:
    engine = make_engine()
    for cached in (0, len(PROMPT) - 1):
        recorder = submit(engine, PROMPT)
        assert recorder.wait() == Finished("length", len(PROMPT), cached, 12)
        admitted, *deltas, _ = recorder.events
        assert isinstance(admitted, Admitted)
        assert (admitted.prompt_tokens, admitted.cached_tokens) == (len(PROMPT), cached)
        assert admitted.reason.reused == cached
        assert all(isinstance(delta, TokenDelta) for delta in deltas)
        assert len(recorder.token_ids) == 12


def test_namespaces_share_nothing(make_engine: MakeEngine) -> None:
    engine = make_engine()
    hits = [engine.generate(PROMPT, GREEDY, namespace=name).cached_tokens for name in ("a", "b", "a", "")]
    assert hits == [0, 0, len(PROMPT) - 1, 0]


def test_an_opted_out_request_neither_reads_nor_writes(make_engine: MakeEngine) -> None:
    engine = make_engine()
    out = engine.generate(PROMPT, GREEDY, use_cache=False)
    assert engine.stats().pages_cached == 0
    cold = engine.generate(PROMPT, GREEDY)
    assert (out.cached_tokens, cold.cached_tokens) == (0, 0)
    again = engine.generate(PROMPT, GREEDY, use_cache=False)
    assert (again.cached_tokens, again.token_ids) == (0, cold.token_ids)


def test_without_prefix_caching_nothing_is_kept(make_engine: MakeEngine) -> None:
    engine = make_engine(enable_prefix_caching=False)
    assert [engine.generate(PROMPT, GREEDY).cached_tokens for _ in range(2)] == [0, 0]
    assert engine.stats().pages_free == engine.stats().pages_total


def test_requests_at_once_are_answered_like_one_by_one(make_engine: MakeEngine) -> None:
    prompts = [PROMPT[: 10 + 7 * i] + list(b"xyz" * i) for i in range(7)]
    alone = make_engine(enable_prefix_caching=False)
    expected = [list(alone.generate(prompt, GREEDY).token_ids) for prompt in prompts]
    engine = make_engine(max_batch_tokens=24, max_running=4)
    recorders = [submit(engine, prompt) for prompt in prompts]
    for recorder in recorders:
        recorder.wait()
    assert [recorder.token_ids for recorder in recorders] == expected
    assert engine.stats().steps < sum(12 for _ in prompts)  # they did share steps
    assert_nothing_held(engine)


def test_a_burst_with_one_cold_prefix_computes_it_once(make_engine: MakeEngine) -> None:
    engine = make_engine(max_batch_tokens=64)
    shared = [i % 251 for i in range(1000)]
    blocker = submit(engine, list(b"wait for the burst"))
    recorders = [submit(engine, [*shared, 10 + i]) for i in range(8)]
    for recorder in [blocker, *recorders]:
        recorder.wait()
    assert engine.stats().prefill_tokens <= 18 + len(shared) + 8 * 16  # each computes its last, partial page
    cached = [
        event.cached_tokens for event in (r.events[-1] for r in recorders) if isinstance(event, Finished)
    ]
    assert cached[0] == 0
    assert min(cached[1:]) >= len(shared) - 16


def test_a_seed_gives_the_same_answer_alone_and_in_a_batch(make_engine: MakeEngine) -> None:
    params = SamplingParams(temperature=1.2, top_p=0.95, seed=5, max_tokens=16, ignore_eos=True)
    engine = make_engine()
    alone = engine.generate(PROMPT, params)
    noise = SamplingParams(temperature=1.5, max_tokens=30, ignore_eos=True)
    others = [submit(engine, [*PROMPT[:20], i], noise) for i in range(5)]
    batched = submit(engine, PROMPT, params)
    for recorder in [*others, batched]:
        recorder.wait()
    assert batched.token_ids == list(alone.token_ids)
    assert engine.generate(PROMPT, SamplingParams(seed=6, max_tokens=16, ignore_eos=True)) != alone


def test_an_answer_ends_at_the_stop_string_across_tokens(make_engine: MakeEngine) -> None:
    engine = make_engine()
    full = engine.generate(PROMPT, GREEDY).text
    stop = full[4:7]
    recorder = submit(
        engine, PROMPT, SamplingParams(temperature=0, max_tokens=12, stop=stop, ignore_eos=True)
    )
    end = recorder.wait()
    assert isinstance(end, Finished)
    assert end.finish_reason == "stop"
    assert recorder.text == full[: full.index(stop)]
    assert end.output_tokens == len(recorder.token_ids)


def test_an_answer_ends_at_the_end_token(tiny: LoadedModel, make_engine: MakeEngine) -> None:
    engine = make_engine()
    params = SamplingParams(temperature=0, max_tokens=30, ignore_eos=True)
    ids = list(engine.generate(PROMPT, params).token_ids)
    (end_token,) = tiny.tokenizer.eos_token_ids
    model = tiny.model

    class Ending:
        """The tiny model, but its sixth answer token is the end token."""

        def __getattr__(self, name: str) -> object:
            return getattr(model, name)

        def forward(self, batch, pool):  # type: ignore[no-untyped-def]
            logits = model.forward(batch, pool).clone()
            if int(batch.positions[-1]) == len(PROMPT) + 4:
                logits[:, end_token] = 1e9
            return logits

    from dataclasses import replace

    ending = make_engine(loaded=replace(tiny, model=Ending()))
    answer = ending.generate(PROMPT, SamplingParams(temperature=0, max_tokens=30))
    assert answer.finish_reason == "stop"
    assert list(answer.token_ids) == [*ids[:5], end_token]
    assert answer.text == tiny.tokenizer.decode(ids[:5])
    ignoring = ending.generate(PROMPT, params)
    assert (ignoring.finish_reason, len(ignoring.token_ids)) == ("length", 30)


def test_no_answer_is_asked_for(make_engine: MakeEngine) -> None:
    engine = make_engine()
    warm = engine.generate(PROMPT, SamplingParams(max_tokens=0))
    assert warm == Completion("", (), len(PROMPT), 0, "length")
    assert engine.generate(PROMPT, GREEDY).cached_tokens == len(PROMPT) - 1


def test_without_max_tokens_an_answer_goes_to_the_end_of_the_context(make_engine: MakeEngine) -> None:
    engine = make_engine(max_context=80)
    answer = engine.generate(PROMPT, SamplingParams(temperature=0, ignore_eos=True))
    assert (answer.finish_reason, len(answer.token_ids)) == ("length", 80 - len(PROMPT))
    assert engine.info.context_length == 80


def test_the_whole_pool_can_be_one_sequence(make_engine: MakeEngine) -> None:
    engine = make_engine(kv_cache_tokens=64, page_size=16)
    engine.generate(PROMPT, GREEDY)
    answer = engine.generate(PROMPT, SamplingParams(temperature=0, ignore_eos=True))
    assert len(answer.token_ids) == 64 - len(PROMPT)
    assert_nothing_held(engine)


def test_sequences_that_outgrow_the_pool_take_turns(make_engine: MakeEngine) -> None:
    params = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)
    prompts = [[*PROMPT[:20], i] for i in range(4)]
    alone = make_engine(enable_prefix_caching=False)
    expected = [list(alone.generate(prompt, params).token_ids) for prompt in prompts]
    engine = make_engine(kv_cache_tokens=96, page_size=4)
    recorders = [submit(engine, prompt, params) for prompt in prompts]
    for recorder in recorders:
        recorder.wait()
    assert [recorder.token_ids for recorder in recorders] == expected
    stats = engine.stats()
    assert stats.preemptions > 0
    assert stats.preempted_queries > 0
    assert stats.prefix_queries == sum(map(len, prompts))
    assert [sum(isinstance(e, Admitted) for e in r.events) for r in recorders] == [1] * 4
    assert_nothing_held(engine)


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


def test_a_raising_callback_ends_its_own_request_only(make_engine: MakeEngine) -> None:
    engine = make_engine()

    def raising(event: GenerationEvent) -> None:
        raise RuntimeError("loop is closed")

    engine.submit(PROMPT, SamplingParams(ignore_eos=True), on_event=raising)
    assert submit(engine, PROMPT[1:]).wait() == Finished("length", len(PROMPT) - 1, 0, 12)
    while engine.stats().cancelled == 0:
        time.sleep(0.001)
    assert_nothing_held(engine)


def test_bad_prompts_are_refused_before_they_are_queued(make_engine: MakeEngine) -> None:
    engine = make_engine(max_context=64)
    with pytest.raises(EmptyPromptError):
        engine.generate([])
    with pytest.raises(EmptyPromptError):
        engine.generate("")
    with pytest.raises(InvalidTokenError) as invalid:
        engine.generate([1, 2, 999])
    assert (invalid.value.token, invalid.value.position) == (999, 2)
    with pytest.raises(InvalidTokenError):
        engine.generate([-1])
    with pytest.raises(TypeError):
        engine.generate([1.5])  # type: ignore[list-item]
    with pytest.raises(ContextLengthError) as long:
        engine.generate([1] * 64)
    assert (long.value.prompt_tokens, long.value.limit) == (64, 64)
    assert len(engine.generate([1] * 63, GREEDY).token_ids) == 1
    assert engine.generate([1] * 64, SamplingParams(max_tokens=0)).finish_reason == "length"


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
    from dataclasses import replace

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


def test_a_dead_worker_says_so_and_can_be_replaced(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(max_running=1, max_batch_tokens=16)
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


def test_chats_are_rendered_by_the_models_template_or_anothers(
    tiny: LoadedModel, make_engine: MakeEngine, tmp_path
) -> None:  # type: ignore[no-untyped-def]
    messages = [{"role": "user", "content": "hi"}]
    assert make_engine().render_chat(messages) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    other = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
    assert make_engine(chat_template=other).render_chat(messages) == "[hi]"
    file = tmp_path / "other.jinja"
    file.write_text(other)
    assert make_engine(chat_template=str(file)).render_chat(messages) == "[hi]"
    with pytest.raises(ConfigError) as missing:
        make_engine(chat_template=str(tmp_path / "none.jinja"))
    assert missing.value.field == "chat_template"


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_context", 4096), ("kv_cache_tokens", 10**15), ("deterministic", True), ("page_size", 10**14)],
)
def test_what_does_not_fit_the_model_or_machine_is_refused(
    tiny: LoadedModel, field: str, value: object
) -> None:
    with pytest.raises(ConfigError) as caught:
        Engine.from_loaded(tiny, EngineConfig(**{field: value}))
    assert caught.value.field == field


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        Engine(EngineConfig(device="abacus"))
    assert caught.value.field == "device"


def test_the_pool_holds_four_contexts_unless_told_otherwise() -> None:
    engine = Engine.from_loaded(tiny_model(context_length=100), EngineConfig(page_size=16))
    assert (engine.info.num_pages, engine.info.context_length, engine.info.page_size) == (25, 100, 16)
    assert engine.stats().pages_free == engine.stats().pages_total == 25


def test_deterministic_answers_are_equal_to_the_bit_cold_and_warm(make_engine: MakeEngine) -> None:
    loaded = tiny_model(deterministic=True)
    engine = make_engine(loaded=loaded, deterministic=True, max_batch_tokens=20)
    params = SamplingParams(seed=3, max_tokens=20, ignore_eos=True)
    cold, *warm = (engine.generate(PROMPT, params) for _ in range(4))
    assert {answer.token_ids for answer in warm} == {cold.token_ids}
    assert {answer.cached_tokens for answer in warm} == {len(PROMPT) - 1}


def test_a_failing_command_is_told_to_who_asked(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine()

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
