"""A text or a list of that one text: at Anthropic neither causes anything, nor hides what does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.exchange import Question
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.provider_verdict import our_answer
from promptcache_gateway.observe.row import Entry
from tests.gateway.observe.marked_traffic import Scene, play
from tests.gateway.observe.shaped_traffic import (
    SHAPED_FAULTS,
    SHAPED_SCENES,
    a_history_that_is_never_marked,
    a_mark_that_moves,
    a_mark_that_was_left_out,
    a_short_history_without_a_mark,
    an_answer_that_is_begun,
    instructions_in_both_forms,
    results_in_both_forms,
)
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(8_000, 8_006)


@pytest.mark.parametrize("make", SHAPED_SCENES, ids=lambda make: make.__name__)
def test_no_shape_draws_blame(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        found = play(make(Author(seed)))
        assert (found.cause, found.hit, found.lost_tokens) == (None, True, 0), (seed, found)
        assert found.attribution == "expected", (seed, found)


@pytest.mark.parametrize("make", SHAPED_FAULTS, ids=lambda make: make.__name__)
def test_a_loss_is_known_by_what_caused_it(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed))
        found = play(scene)
        assert set(found.causes) == scene.codes, (seed, found)
        assert found.losses == {found.cause: found.lost_tokens}, (seed, found)


@pytest.mark.parametrize("make", [a_mark_that_moves, an_answer_that_is_begun, results_in_both_forms])
def test_a_loss_of_the_upstreams_is_blamed_on_it(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        made = make(Author(seed))
        found = play(Scene(made.bodies, provider=made.provider, forgotten=True))
        assert (found.cause, found.attribution) == ("PC809", "upstream"), (seed, found)


@pytest.mark.parametrize("make", [a_mark_that_moves, results_in_both_forms, instructions_in_both_forms])
@pytest.mark.parametrize("cached", [None, 5_000])
def test_the_providers_own_words_name_no_shape_either(
    make: Callable[[Author], Scene], cached: int | None
) -> None:
    question = Question("anthropic.messages", "msg_1", by_caller=True)
    for seed in SEEDS:
        *_, first, later = (read_prompt(body, Masker()) for body in make(Author(seed)).bodies)
        entry = Entry("pcr_0", first, "claude-sonnet-4-5", "up", 0.0, 0.0, 3_000, 0)
        assert our_answer(question, entry, later, cached) is None, seed


def test_what_was_read_whole_is_no_miss_in_the_providers_words() -> None:
    first, later = (
        read_prompt({"model": "claude-sonnet-4-5", "system": rules, "messages": []}, Masker())
        for rules in ("Be kind.", "Be brief.")
    )
    entry = Entry("pcr_0", first, "claude-sonnet-4-5", "up", 0.0, 0.0, 3_000, 0)
    question = Question("anthropic.messages", "msg_1", by_caller=True)
    assert our_answer(question, entry, later, 3_000) is None
    told = our_answer(question, entry, later, 0)
    assert told is not None
    assert told["cache_miss_reason"]["type"] == "system_changed"


def test_history_behind_the_last_mark_is_named_from_where_it_is_as_much_as_the_cache_takes() -> None:
    author = Author(8_100)
    little, much = a_short_history_without_a_mark(author), a_history_that_is_never_marked(author)

    assert play(little).summary == (
        "All that is marked was read; the history behind system[0] carries no breakpoint."
    )
    found = play(much)
    assert found.lost_tokens is not None
    assert found.lost_tokens >= 1_024
    behind = f"the {found.lost_tokens} tokens of history behind it are paid anew."
    assert found.summary == f"The breakpoints end at system[0]; {behind}"
    assert (found.cause, found.attribution) == ("PC602", "caller")


def test_a_mark_that_was_left_out_is_named_with_the_one_that_is_left() -> None:
    summary = play(a_mark_that_was_left_out(Author(8_200))).summary

    assert summary is not None
    assert "carried a breakpoint and does not any more; the last one now stands at system[0]." in summary


def test_elsewhere_a_shape_is_a_difference() -> None:
    bodies = results_in_both_forms(Author(8_300)).bodies
    first, later = (read_prompt({**body, "model": "model-a"}, Masker()) for body in bodies)
    assert first.exact[-2] not in later.exact

    first, later = (read_prompt(body, Masker()) for body in bodies)
    assert first.exact[-1] in later.exact
