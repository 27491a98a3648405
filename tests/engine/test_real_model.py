"""The engine on the default model: warm equals cold, at once equals one by one, and text is text."""

import pytest

from promptcache_engine import Engine, SamplingParams
from tests.engine.recorder import Recorder, assert_nothing_held

pytestmark = pytest.mark.model

SYSTEM = (
    "You are the assistant of a small library. Answer in one short sentence. The library opens at nine in "
    "the morning and closes at six in the evening, on Sundays it stays closed. Books can be kept for four "
    "weeks."
)
QUESTIONS = ("When do you open?", "Are you open on Sundays?", "How long can I keep a book?")
GREEDY = SamplingParams(temperature=0, max_tokens=16)


def chat(engine: Engine, question: str) -> list[int]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    return engine.tokenizer.encode(engine.render_chat(messages))


def test_cold_warm_and_four_repeats_are_equal(real_engine: Engine) -> None:
    prompt = chat(real_engine, QUESTIONS[0])
    expected = real_engine.generate(prompt, GREEDY, use_cache=False)
    answers = [real_engine.generate(prompt, GREEDY) for _ in range(6)]
    assert [answer.cached_tokens for answer in answers] == [0] + [len(prompt) - 1] * 5
    assert {answer.token_ids for answer in answers} == {expected.token_ids}
    assert expected.text.isprintable()
    assert len(expected.text.split()) > 3


def test_requests_at_once_are_answered_like_one_by_one(real_engine: Engine) -> None:
    prompts = [chat(real_engine, question) for question in QUESTIONS]
    expected = [list(real_engine.generate(prompt, GREEDY, use_cache=False).token_ids) for prompt in prompts]
    recorders = [Recorder() for _ in prompts]
    for prompt, recorder in zip(prompts, recorders, strict=True):
        real_engine.submit(prompt, GREEDY, on_event=recorder)
    ends = [recorder.wait() for recorder in recorders]
    assert [recorder.token_ids for recorder in recorders] == expected
    shared = next(i for i, (a, b) in enumerate(zip(prompts[0], prompts[1], strict=False)) if a != b)
    assert min(end.cached_tokens for end in ends[1:]) >= shared - real_engine.info.page_size
    assert_nothing_held(real_engine)


def test_an_answer_ends_at_the_models_end_token_and_streams_whole_characters(real_engine: Engine) -> None:
    messages = [{"role": "user", "content": "Reply with the single word: naïve"}]
    prompt = real_engine.tokenizer.encode(real_engine.render_chat(messages))
    recorder = Recorder()
    real_engine.submit(prompt, SamplingParams(temperature=0, max_tokens=64), on_event=recorder)
    end = recorder.wait()
    assert end.finish_reason == "stop"
    assert recorder.token_ids[-1] in real_engine.tokenizer.eos_token_ids
    assert recorder.text == real_engine.tokenizer.decode(recorder.token_ids)
    assert "�" not in recorder.text
