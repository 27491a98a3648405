"""A request that was read as far as anyone promises is a hit at once: the long way says the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.observe import verdict
from promptcache_gateway.observe.masking import Masker
from tests.gateway.observe.edited_traffic import EDITS, Edit, edited, first
from tests.gateway.observe.scenes import (
    Provider,
    Stage,
    chat,
    engine_provider,
    facts,
    outcome,
    render,
    rules_text,
)

MODELS = st.sampled_from(["model-a", "gpt-4o", "claude-sonnet-4-5", "deepseek-chat"])
KINDS = st.sampled_from(["openai", "vllm", "sglang"])
READ = st.lists(st.integers(0, 16), min_size=7, max_size=7)
"""Of each prompt so many sixteenths are read, less or more than a real cache would."""


@given(MODELS, KINDS, EDITS, READ, st.booleans())
@settings(max_examples=250)
def test_the_short_way_says_what_the_long_way_says(
    model: str, kind: str, edits: list[Edit], read: list[int], honest: bool
) -> None:
    stage = Stage(Provider(kind=kind, granularity=None))
    body, masker = first(model), Masker()
    for edit, sixteenths in zip([("again", 0, ""), *edits], [0, *read], strict=False):
        stage.clock.now += 5.0
        body = edited(body, edit)
        observation = stage.observer.open(stage.call(body))
        usage = stage.provider.serve(body, stage.clock.now)
        if not honest:
            total = usage.total_input or 0
            usage = stage.provider.usage(total, total * sixteenths // 16)
        evidence = observation.evidence(masker)

        assert verdict.diagnose(evidence, usage, None) == verdict.weigh(evidence, usage, None).whole()
        stage.observer.close(observation, outcome(usage))


@given(
    EDITS,
    st.lists(st.tuples(st.integers(0, 16), st.integers(0, 16), st.integers(0, 16)), min_size=8, max_size=8),
    st.sampled_from(["evicted", "isolated", "granularity", "window"]),
)
@settings(max_examples=100)
def test_the_engines_facts_say_what_they_weigh(
    edits: list[Edit], shares: list[tuple[int, int, int]], lost: str
) -> None:
    stage = Stage(engine_provider())
    body, masker = first("tiny"), Masker()
    for edit, (known, read, told) in zip([("again", 0, ""), *edits], shares, strict=False):
        stage.clock.now += 5.0
        body = edited(body, edit)
        observation = stage.observer.open(stage.call(body))
        total = len(render(body)) // 4
        shared = total * known // 16
        cached = shared * read // 16
        why = {lost: (shared - cached) * told // 16}
        engine = facts(total, cached, diverged_at=shared or None, **why)
        evidence = observation.evidence(masker)

        assert verdict.diagnose(evidence, None, engine) == verdict.weigh(evidence, None, engine).whole()
        stage.observer.close(observation, outcome(stage.provider.usage(total, cached), engine=engine))


@pytest.mark.parametrize("question", ["And then?", "And then? " * 200])
def test_a_conversation_that_goes_on_is_measured_by_no_kind_of_text(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where so much was read that the whole prompt promises no more, nor where its places are known."""
    stage = Stage()
    stage.send(chat(rules_text(90), "Where is my parcel?"))
    monkeypatch.setattr(verdict, "weigh", None)

    record = stage.send(chat(rules_text(90), "Where is my parcel?", "On its way.", question))

    assert record.diagnosis.hit is True
    assert record.diagnosis.lost_tokens == 0
