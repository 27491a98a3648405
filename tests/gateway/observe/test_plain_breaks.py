"""A break that no count changes is said at once: the long way says the same, whatever was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache.usage import Usage
from promptcache_gateway.observe import verdict
from promptcache_gateway.observe.masking import Masker
from tests.gateway.observe.scenes import Provider, Stage, chat, engine_provider, facts, outcome, rules_text
from tests.gateway.observe.traffic import FAULTS, Author, Pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.evidence import Evidence

PROVIDERS = st.sampled_from(["openai", "vllm", "unknown", "engine"])
TALK = ["Where is my order?", "It is on its way.", "And when is it here?"]
_SAID = ("cause", "path", "char_offset", "lost_tokens", "remedy", "attribution")


def evidence_of(pair: Pair, kind: str, total: int, share: float) -> Evidence:
    """The last request of a pair; of the earlier ones a share was counted to have so many tokens."""
    stage = Stage(engine_provider() if kind == "engine" else Provider(kind=kind, granularity=None))
    for at, body in enumerate(pair.earlier):
        stage.clock.now += 5.0
        observation = stage.observer.open(stage.call(body))
        if at < share * len(pair.earlier):
            stage.observer.close(observation, outcome(stage.provider.usage(total, 0)))
    stage.clock.now += pair.after_s
    return stage.observer.open(stage.call(pair.later)).evidence(Masker())


@given(
    st.sampled_from(FAULTS),
    st.integers(0, 9),
    PROVIDERS,
    st.integers(300, 6_000),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)
@settings(max_examples=250, deadline=None)
def test_the_short_way_says_what_the_long_way_says(
    make: Callable[[Author], Pair],
    seed: int,
    kind: str,
    total: int,
    share: float,
    read: float,
    diverged: float,
) -> None:
    evidence = evidence_of(make(Author(seed)), kind, total, share)
    usage: Usage | None = Usage(total_input=total, cache_read=int(total * read), reported=True)
    engine: EngineFacts | None = None
    if kind == "engine":
        at = int(total * diverged)
        usage, engine = None, facts(total, int(at * read), diverged_at=at, evicted=at - int(at * read))
    told, whole = verdict.draft(evidence, usage, engine), verdict.weigh(evidence, usage, engine).whole()

    assert told.whole() == whole
    for name in _SAID:
        assert getattr(told, name) == getattr(whole, name)


@pytest.mark.parametrize(("read", "cause"), [(0, "PC101"), (900, "PC101"), (1_999, None)])
def test_a_clock_is_not_weighed(read: int, cause: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.send(chat(f"Now: 12:00:01. {rules_text()}", *TALK))
    monkeypatch.setattr(verdict, "weigh", None)
    observation = stage.observer.open(stage.call(chat(f"Now: 12:00:42. {rules_text()}", *TALK)))
    told = stage.observer.close(observation, outcome(stage.provider.usage(2_000, read))).diagnosis

    assert told.cause == cause, "where nearly all was read, it continues another that is not known"
    assert told.summary


def test_what_was_counted_since_the_answer_does_not_change_the_record() -> None:
    """The rest is counted when the answer is out; its predecessor may have ended by then."""
    stage = Stage()
    first = stage.observer.open(stage.call(chat(f"Now: 12:00:01. {rules_text()}", *TALK)))
    second = stage.observer.open(stage.call(chat(f"Now: 12:00:42. {rules_text()}", *TALK, "Thank you!")))
    ended = stage.observer.conclude(second, outcome(stage.provider.usage(2_345, 0)))
    stage.observer.close(first, outcome(stage.provider.usage(1_800, 0)))
    lost = ended.diagnosis.lost_tokens

    told = stage.observer.finish(ended).diagnosis
    assert told.lost_tokens == lost
    assert sum(told.losses.values()) == lost
