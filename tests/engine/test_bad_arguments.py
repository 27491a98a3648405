"""Arguments that make no sense are refused where they are given: nobody else's request or page is touched."""

import math
from typing import Any

import pytest

from promptcache_engine import (
    ConfigError,
    EmptyPromptError,
    Engine,
    EngineError,
    InvalidTokenError,
    SamplingParams,
)
from promptcache_engine.cache import CacheConfigError, Hints, InvalidTokensError
from tests.engine.conftest import MakeEngine
from tests.engine.recorder import GREEDY, PROMPT, Recorder, assert_nothing_held, submit


class Text:
    """Looks like nothing the engine knows."""


BAD_OPTIONS: list[tuple[str, Any]] = [
    ("namespace", None),
    ("namespace", 5),
    ("namespace", ["a"]),
    ("hints", "x"),
    ("hints", {"turn": 1}),
    ("timeout", "5"),
    ("timeout", True),
    ("timeout", -math.inf),
    ("priority", "first"),
    ("priority", None),
    ("params", 5),
    ("params", {"temperature": 0}),
]


@pytest.fixture
def busy(make_engine: MakeEngine) -> Any:
    """An engine that computes an answer, and what it is told; the answer must outlive every bad request."""
    engine, recorder = make_engine(max_restarts=0), Recorder()
    generation = engine.submit([1] * 50, SamplingParams(ignore_eos=True, max_tokens=1500), on_event=recorder)
    yield engine
    assert engine.healthy
    generation.cancel()
    recorder.wait()
    assert engine.generate([*PROMPT], GREEDY).finish_reason == "length"
    assert engine.last_failure is None
    assert_nothing_held(engine)


def test_a_bad_option_is_refused_and_stops_nobody(busy: Engine) -> None:
    for field, value in BAD_OPTIONS:
        options = {"params": GREEDY} | {field: value}
        with pytest.raises(ConfigError) as caught:
            busy.submit(PROMPT, on_event=Recorder(), **options)
        assert caught.value.field == field
        with pytest.raises(ConfigError):
            busy.submit_choices(PROMPT, choices=2, on_event=lambda *_: None, **options)
    with pytest.raises(ConfigError, match="namespace"):
        busy.generate(PROMPT, GREEDY, namespace=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", [None, 5, b"abc", [1.5], ["a"], [None], [[1]], [Text()], {"a": 1}])
def test_what_is_no_prompt_is_refused_without_a_word_of_it(busy: Engine, tokens: Any) -> None:
    with pytest.raises(ConfigError, match="tokens") as caught:
        busy.submit(tokens, GREEDY, on_event=Recorder())
    assert caught.value.field == "tokens"
    with pytest.raises(ConfigError):
        busy.cached_prefixes([(tokens, "")])
    with pytest.raises(EmptyPromptError):
        busy.submit((), GREEDY, on_event=Recorder())


@pytest.mark.parametrize(
    ("prompts", "error"),
    [
        ([([-1], "")], InvalidTokenError),
        ([([1, 10**9], "")], InvalidTokenError),
        ([([2**40], "")], InvalidTokenError),
        ([("abc", "")], ConfigError),
        ([([1], [])], ConfigError),
        ([([1], None)], ConfigError),
        ([5], ConfigError),
        ([([1], "", 3)], ConfigError),
        (5, ConfigError),
        ("ab", ConfigError),
    ],
)
def test_asking_about_what_is_no_prompt_concerns_the_asker_only(
    busy: Engine, prompts: Any, error: type[EngineError]
) -> None:
    with pytest.raises(error):
        busy.cached_prefixes([([2, 1], ""), *prompts] if isinstance(prompts, list) else prompts)
    assert busy.cached_prefixes([([2, 1], ""), ([], "")]) == [0, 0]


def test_a_command_refused_for_its_input_is_told_to_who_asked_only(busy: Engine) -> None:
    with pytest.raises(InvalidTokensError):
        busy._worker.cached_prefixes([([-1], "")])


@pytest.mark.parametrize("timeout", [10**400, math.inf, 1e300])
def test_time_without_end_is_no_error(make_engine: MakeEngine, timeout: float) -> None:
    assert submit(make_engine(), PROMPT, timeout=timeout).wait().finish_reason == "length"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("template", 5),
        ("template", None),
        ("turn", 0),
        ("turn", "1"),
        ("turn", True),
        ("priority", "high"),
        ("priority", 1.5),
        ("keep_seconds", -1),
        ("keep_seconds", math.nan),
        ("keep_seconds", "60"),
        ("keep_seconds", 10**400),
    ],
)
def test_hints_check_themselves(field: str, value: Any) -> None:
    with pytest.raises(CacheConfigError) as caught:
        Hints(**{field: value})
    assert caught.value.field == field
