"""Several answers to one prompt, and several requests with one prefix: computed once, answered each."""

from queue import SimpleQueue

import pytest

from promptcache_engine import (
    Admitted,
    ConfigError,
    Engine,
    Failed,
    Finished,
    GenerationEvent,
    QueueFullError,
    SamplingParams,
)
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import tiny_model
from tests.engine.conftest import MakeEngine
from tests.engine.recorder import GREEDY, PROMPT, Recorder, assert_nothing_held, submit

DRAWN = SamplingParams(temperature=1.0, seed=5, max_tokens=10, ignore_eos=True)


@pytest.mark.parametrize("page_size", [1, 16, 256])
@pytest.mark.parametrize("use_cache", [True, False])
def test_the_prompt_is_computed_once(make_engine: MakeEngine, page_size: int, use_cache: bool) -> None:
    engine = make_engine(page_size=page_size)
    answers = engine.generate_choices(PROMPT, DRAWN, choices=4, use_cache=use_cache)
    assert len({answer.token_ids for answer in answers}) == 4
    assert {(answer.prompt_tokens, answer.cached_tokens) for answer in answers} == {(len(PROMPT), 0)}
    stats = engine.stats()
    assert stats.prefill_tokens == len(PROMPT) + 3  # each fork computes the last token again
    assert (stats.prefix_queries, stats.prefix_hits) == (len(PROMPT) * use_cache, 0)
    assert (stats.pages_cached > 0) == use_cache
    assert_nothing_held(engine)


def test_the_first_choice_is_the_answer_alone_and_seeds_repeat_all(make_engine: MakeEngine) -> None:
    alone = make_engine().generate(PROMPT, DRAWN)
    first = make_engine().generate_choices(PROMPT, DRAWN, choices=3)
    again = make_engine(max_running=1, max_batch_tokens=8).generate_choices(PROMPT, DRAWN, choices=3)
    assert first[0].token_ids == alone.token_ids
    assert [answer.token_ids for answer in first] == [answer.token_ids for answer in again]
    greedy = make_engine().generate_choices(PROMPT, GREEDY, choices=3)
    assert {answer.token_ids for answer in greedy} == {make_engine().generate(PROMPT, GREEDY).token_ids}


def test_a_warm_prompt_reports_its_hit_for_all_choices(make_engine: MakeEngine) -> None:
    engine = make_engine()
    engine.generate(PROMPT, GREEDY)
    answers = engine.generate_choices(PROMPT, GREEDY, choices=3)
    assert {answer.cached_tokens for answer in answers} == {len(PROMPT) - 1}


def test_choices_in_a_pool_that_does_not_hold_them_all(make_engine: MakeEngine) -> None:
    engine = make_engine(kv_cache_tokens=96, page_size=4, max_context=80)
    params = SamplingParams(temperature=0, max_tokens=20, ignore_eos=True)
    answers = engine.generate_choices(PROMPT, params, choices=8)
    assert {answer.token_ids for answer in answers} == {make_engine().generate(PROMPT, params).token_ids}
    assert engine.stats().preemptions > 0
    assert_nothing_held(engine)


def test_choices_are_no_preempted_sequences_in_the_statistics(make_engine: MakeEngine) -> None:
    engine = make_engine()
    engine.generate_choices([9] * 200, GREEDY, choices=4)
    stats = engine.stats()
    assert (stats.prefix_queries, stats.prefix_hits) == (200, 0)
    assert (stats.preempted_queries, stats.preempted_hits, stats.preemptions) == (0, 0, 0)


def test_choices_end_one_by_one_and_count_as_one_request(make_engine: MakeEngine) -> None:
    engine = make_engine(max_waiting=1, max_running=2, max_batch_tokens=8)
    events: SimpleQueue[tuple[int, GenerationEvent]] = SimpleQueue()
    generations = engine.submit_choices(
        PROMPT,
        SamplingParams(max_tokens=1500, ignore_eos=True),
        choices=5,
        on_event=lambda choice, event: events.put((choice, event)),
    )
    while not isinstance(events.get()[1], Admitted):
        pass
    others = [submit(engine, PROMPT) for _ in range(2)]  # three requests have room, and five choices are one
    with pytest.raises(QueueFullError):
        submit(engine, PROMPT)
    for generation in generations:
        generation.cancel()
    ended = set()
    while len(ended) < 5:
        choice, event = events.get()
        if isinstance(event, Finished):
            assert event.finish_reason == "cancelled"
            ended.add(choice)
    assert [type(other.wait()) for other in others] == [Finished, Finished]
    assert_nothing_held(engine)


@pytest.mark.parametrize("choices", [0, -1, 129, True, 1.5])
def test_a_number_of_choices_without_sense(make_engine: MakeEngine, choices: object) -> None:
    with pytest.raises(ConfigError, match="choices"):
        make_engine().generate_choices(PROMPT, GREEDY, choices=choices)  # type: ignore[arg-type]


PREFIX = [i * 37 % 251 for i in range(2000)]


class Fragile:
    """The tiny model, which cannot compute one certain token."""

    def __init__(self, model: object, poison: int) -> None:
        self._model = model
        self._poison = poison

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def forward(self, batch, pool):  # type: ignore[no-untyped-def]
        if self._poison in batch.token_ids.tolist():
            raise RuntimeError("a kernel failed")
        return self._model.forward(batch, pool)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def roomy() -> LoadedModel:
    return tiny_model(seed=0, context_length=4096)


def eight_at_once(engine: Engine, first_tail: list[int]) -> tuple[list[Recorder], list[object]]:
    recorders = [Recorder() for _ in range(8)]
    tails = [first_tail, *([i] for i in range(1, 8))]
    generations = [
        engine.submit([*PREFIX, *tail], GREEDY, on_event=recorder)
        for tail, recorder in zip(tails, recorders, strict=True)
    ]
    return recorders, generations


@pytest.mark.parametrize("page_size", [1, 16, 128, 256, 2048])
def test_eight_equal_prefixes_at_once_are_computed_once(
    roomy: LoadedModel, make_engine: MakeEngine, page_size: int
) -> None:
    engine = make_engine(loaded=roomy, kv_cache_tokens=32_768, page_size=page_size, max_batch_tokens=256)
    recorders, _ = eight_at_once(engine, [0])
    ends = [recorder.wait() for recorder in recorders]
    assert sorted(end.cached_tokens for end in ends) == [0, *[2000] * 7]
    stats = engine.stats()
    assert (stats.prefill_tokens, stats.prefix_hits) == (2001 + 7, 7 * 2000)
    alone = make_engine(loaded=roomy, enable_prefix_caching=False)
    for i in (0, 5):
        assert recorders[i].token_ids == list(alone.generate([*PREFIX, i], GREEDY).token_ids)
    assert_nothing_held(engine)


@pytest.mark.parametrize("page_size", [16, 2048])
@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_the_leader_is_lost_on_the_way(
    roomy: LoadedModel, make_engine: MakeEngine, how: str, page_size: int
) -> None:
    loaded = roomy
    if how == "failed":
        loaded = LoadedModel(**{**fields_of(roomy), "model": Fragile(roomy.model, poison=255)})
    engine = make_engine(
        loaded=loaded,
        kv_cache_tokens=32_768,
        page_size=page_size,
        max_batch_tokens=128,
        scheduling_policy="fcfs",
    )
    recorders, generations = eight_at_once(engine, [255])
    if how == "cancelled":
        while not recorders[0].events:
            pass
        generations[0].cancel()  # type: ignore[attr-defined]
    ends = [recorder.wait() for recorder in recorders]
    assert isinstance(ends[0], Failed if how == "failed" else Finished)
    assert all(isinstance(end, Finished) and end.finish_reason == "length" for end in ends[1:])
    # What a cancelled leader computed is kept; what a failed one did is not to be trusted.
    once = 2001 + 7 * 17
    assert engine.stats().prefill_tokens <= (2 if how == "failed" else 1) * once
    expected = make_engine(loaded=roomy, kv_cache_tokens=4096).generate([*PREFIX, 3], GREEDY)
    assert recorders[3].token_ids == list(expected.token_ids)
    assert_nothing_held(engine)


def fields_of(loaded: LoadedModel) -> dict[str, object]:
    return {name: getattr(loaded, name) for name in loaded.__dataclass_fields__}
