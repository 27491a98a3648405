"""The engine on a tiny model: outputs, events, errors, and pages that all come back."""

import subprocess
import sys
from dataclasses import replace

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
    Finished,
    InvalidTokenError,
    SamplingParams,
    TokenDelta,
)
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.tokenizer import ByteTokenizer
from tests.engine.conftest import MakeEngine
from tests.engine.recorder import GREEDY, PROMPT, assert_nothing_held, submit


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
    with pytest.raises(ConfigError, match="tokens"):
        engine.generate([1.5])  # type: ignore[list-item]
    with pytest.raises(ContextLengthError) as long:
        engine.generate([1] * 64)
    assert (long.value.prompt_tokens, long.value.limit) == (64, 64)
    assert len(engine.generate([1] * 63, GREEDY).token_ids) == 1
    assert engine.generate([1] * 64, SamplingParams(max_tokens=0)).finish_reason == "length"


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


def test_a_plain_prompt_begins_as_the_model_wants(tiny: LoadedModel, make_engine: MakeEngine) -> None:
    class Beginning(ByteTokenizer):
        bos_token_id = 256
        adds_bos = True

    assert make_engine().encode_prompt("hi") == list(b"hi")
    engine = make_engine(loaded=replace(tiny, tokenizer=Beginning()))
    assert engine.encode_prompt("hi") == [256, *b"hi"]
    assert engine.encode_prompt("<|endoftext|>hi") == [256, *b"hi"]
    assert engine.generate("hi", GREEDY).prompt_tokens == 3
