"""Penalties, biases and cuts against their formulas; what a whole engine makes of them, cold and warm."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine import ConfigError, EngineConfig, SamplingParams
from promptcache_engine.config import MAX_PENALTY
from promptcache_engine.engine import Engine
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.sampling import sample
from promptcache_engine.shaping import Shaper

PROMPT = list(b"The opening hours of the library are as follows, and they are the same all year: ")


def shaped(params: SamplingParams, logits: list[float], prompt: list[int], answer: list[int]) -> list[float]:
    row = torch.tensor(logits)
    Shaper(params, len(prompt), (0,), None).shape(row, [*prompt, *answer])
    return row.tolist()


def test_penalties_follow_their_formulas() -> None:
    params = SamplingParams(repetition_penalty=2.0, frequency_penalty=0.5, presence_penalty=0.25)
    got = shaped(params, [4.0, -4.0, 4.0, -4.0, 1.0], prompt=[0, 1], answer=[2, 2, 3])
    assert got == [2.0, -8.0, 2.0 - 2 * 0.5 - 0.25, -8.0 - 0.5 - 0.25, 1.0]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_values_leave_every_logit_finite(sign: int) -> None:
    edge = sign * MAX_PENALTY
    params = SamplingParams(
        repetition_penalty=MAX_PENALTY**sign,
        frequency_penalty=edge,
        presence_penalty=edge,
        logit_bias={0: edge, 1: -edge},
    )
    got = shaped(params, [4e3, -4e3, 4e3, 0.0], prompt=[0, 1], answer=[2] * 5000)
    assert all(map(math.isfinite, got))


def test_frequency_and_presence_leave_the_prompt_alone() -> None:
    params = SamplingParams(frequency_penalty=1.0, presence_penalty=1.0)
    assert shaped(params, [1.0, 1.0], prompt=[0, 0], answer=[1]) == [1.0, -1.0]


def test_biases_are_added_and_end_tokens_wait() -> None:
    params = SamplingParams(logit_bias={1: 3.0, 2: -100.0}, min_tokens=2)
    assert shaped(params, [5.0, 0.0, 0.0], prompt=[1], answer=[1]) == [-math.inf, 3.0, -100.0]
    assert shaped(params, [5.0, 0.0, 0.0], prompt=[1], answer=[1, 1])[0] == 5.0


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), max_size=12), st.integers(0, 5), st.floats(0.5, 2), st.floats(-2, 2))
def test_tokens_that_come_one_by_one_count_as_if_all_at_once(
    answer: list[int], prompt_token: int, repetition: float, frequency: float
) -> None:
    params = SamplingParams(repetition_penalty=repetition, frequency_penalty=frequency)
    stepwise = Shaper(params, 1, (), None)
    logits = torch.linspace(-1, 1, 6)
    for count in range(len(answer) + 1):
        row = logits.clone()
        stepwise.shape(row, [prompt_token, *answer[:count]])
    at_once = logits.clone()
    Shaper(params, 1, (), None).shape(at_once, [prompt_token, *answer])
    assert torch.equal(row, at_once)


@pytest.mark.parametrize(
    ("params", "possible"),
    [
        (SamplingParams(min_p=0.3), {0, 1, 2}),
        (SamplingParams(min_p=0.6), {0}),
        (SamplingParams(min_p=1.0), {0}),
        (SamplingParams(min_p=0.3, top_k=2), {0, 1}),
        (SamplingParams(min_p=0.1, top_p=0.6), {0, 1}),
        (SamplingParams(min_p=0.3, temperature=10.0), {0, 1, 2, 3, 4}),
    ],
    ids=str,
)
def test_min_p_cuts_by_the_likeliest(params: SamplingParams, possible: set[int]) -> None:
    logits = torch.tensor([[math.log(p) for p in (0.5, 0.25, 0.15, 0.07, 0.03)]])
    drawn = {sample(logits, [params], [key])[0] for key in range(300)}
    assert drawn == possible


@pytest.mark.parametrize(
    "field",
    [
        {"min_p": -0.1},
        {"min_p": 1.1},
        {"repetition_penalty": 0},
        {"frequency_penalty": math.nan},
        {"presence_penalty": "much"},
        {"logit_bias": {-1: 1.0}},
        {"logit_bias": {1: math.inf}},
        {"logprobs": 21},
        {"min_tokens": -1},
    ],
    ids=str,
)
def test_what_cannot_be_is_named(field: dict) -> None:
    with pytest.raises(ConfigError) as caught:
        SamplingParams(**field)
    assert caught.value.field == next(iter(field))


def test_a_biased_token_outside_the_vocabulary_is_refused(make_engine) -> None:
    with pytest.raises(ConfigError, match="logit_bias"):
        make_engine().generate([1, 2], SamplingParams(logit_bias={10_000: 1.0}))


def test_biases_can_force_and_forbid(make_engine) -> None:
    engine = make_engine()
    forced = engine.generate(PROMPT, SamplingParams(logit_bias={ord("x"): 100.0}, max_tokens=5, seed=1))
    assert forced.text == "xxxxx"
    free = engine.generate(PROMPT, SamplingParams(temperature=0, max_tokens=1, ignore_eos=True))
    other = engine.generate(
        PROMPT, SamplingParams(temperature=0, max_tokens=1, logit_bias={free.token_ids[0]: -100.0})
    )
    assert other.token_ids != free.token_ids


def test_a_presence_penalty_ends_repetition(make_engine) -> None:
    tokens = (
        make_engine()
        .generate(
            PROMPT, SamplingParams(temperature=0, presence_penalty=1000.0, max_tokens=40, ignore_eos=True)
        )
        .token_ids
    )
    assert len(set(tokens)) == len(tokens) == 40


def test_logprobs_are_the_models_own(make_engine) -> None:
    engine = make_engine()
    plain = engine.generate(PROMPT, SamplingParams(temperature=0, max_tokens=6, logprobs=3, ignore_eos=True))
    assert [each.token_id for each in plain.logprobs] == list(plain.token_ids)
    for each in plain.logprobs:
        assert len(each.top) == 3
        assert each.top[0] == (each.token_id, each.logprob), "greedy takes the likeliest"
        assert sorted((value for _, value in each.top), reverse=True) == [value for _, value in each.top]
        assert sum(math.exp(value) for _, value in each.top) <= 1 + 1e-5
    biased = engine.generate(
        PROMPT,
        SamplingParams(temperature=0.2, max_tokens=1, logprobs=0, logit_bias={ord("#"): 1000.0}),
    )
    assert biased.text == "#"
    assert biased.logprobs[0].logprob < -1e-3, "the bias made it certain, the model did not"
    assert biased.logprobs[0].top == ()


def test_logprobs_stop_where_the_text_stops(make_engine) -> None:
    engine = make_engine()
    ascii_only = dict.fromkeys(range(128, 259), -1000.0)
    params = {"temperature": 1.0, "seed": 5, "max_tokens": 30, "logprobs": 0, "logit_bias": ascii_only}
    whole = engine.generate(PROMPT, SamplingParams(**params))
    stop = whole.text[10:13]
    stopped = engine.generate(PROMPT, SamplingParams(**params, stop=stop))
    text = whole.text[: whole.text.index(stop)]
    assert stopped.text == text
    assert stopped.finish_reason == "stop"
    inside = b"".join(engine.tokenizer.token_bytes(each.token_id) for each in stopped.logprobs)
    assert inside.decode() == text
    assert len(stopped.logprobs) < len(stopped.token_ids)


def test_a_stop_token_ends_and_is_not_text(make_engine) -> None:
    engine = make_engine()
    whole = engine.generate(PROMPT, SamplingParams(temperature=0, max_tokens=8, ignore_eos=True))
    token = whole.token_ids[3]
    first = whole.token_ids.index(token)
    stopped = engine.generate(
        PROMPT, SamplingParams(temperature=0, max_tokens=8, ignore_eos=True, stop_token_ids=[token])
    )
    assert stopped.token_ids == whole.token_ids[: first + 1]
    assert stopped.finish_reason == "stop"


SHAPES = [
    {"temperature": 1.2, "top_p": 0.9, "min_p": 0.02, "seed": 3},
    {"temperature": 0, "repetition_penalty": 1.3},
    {"temperature": 0.8, "frequency_penalty": 0.7, "presence_penalty": 0.4, "seed": 9, "logprobs": 4},
    {"temperature": 1.0, "logit_bias": {65: 4.0, 97: -9.0}, "seed": 11, "min_tokens": 20},
]


def test_shaped_answers_are_equal_warm_and_cold_alone_and_together() -> None:
    exact = tiny_model(seed=1, deterministic=True)
    config = EngineConfig(model="tiny", kv_cache_tokens=4096, deterministic=True, max_batch_tokens=64)
    made = [SamplingParams(max_tokens=24, ignore_eos=True, **shape) for shape in SHAPES]
    with Engine.from_loaded(exact, config) as engine:
        cold = [engine.generate(PROMPT, params, use_cache=False) for params in made]
        assert [answer.cached_tokens for answer in cold] == [0] * len(made)
        engine.generate(PROMPT, SamplingParams(max_tokens=1))
        warm = [engine.generate(PROMPT, params) for params in made]
        assert {answer.cached_tokens for answer in warm} == {len(PROMPT) - 1}
        streams = [engine.stream(PROMPT, params) for params in made]
        first = [next(stream) for stream in streams]
        together = [
            [token for event in stream if hasattr(event, "token_ids") for token in event.token_ids]
            for stream in streams
        ]
        assert len(first) == len(made)
    for one, other, batched in zip(cold, warm, together, strict=True):
        assert (one.text, one.token_ids, one.logprobs) == (other.text, other.token_ids, other.logprobs)
        assert list(one.token_ids) == batched
    assert len({answer.text for answer in cold}) == len(made)
