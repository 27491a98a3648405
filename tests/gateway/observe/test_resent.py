"""What a request ended with, written otherwise in the next one: found with its place, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.resent import is_resent
from tests.gateway.observe.marked_traffic import play
from tests.gateway.observe.resent_traffic import LEFT_OUT, RESENT_FAULTS, RESENT_SCENES
from tests.gateway.observe.scenes import chat
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.gateway.observe.marked_traffic import Scene

SEEDS = range(9_000, 9_006)


@pytest.mark.parametrize("make", RESENT_FAULTS, ids=lambda make: make.__name__)
def test_what_was_changed_a_turn_later_is_found(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        scene = make(Author(seed, stamped=seed % 2 == 1))
        found = play(scene)
        assert set(found.causes) == scene.codes, (seed, found)
        changed = len(scene.bodies[-2]["messages"]) - 1
        at = {"user": changed - 1, "tool": changed}[scene.bodies[-2]["messages"][-1]["role"]]
        assert found.path is not None
        assert found.path.startswith(f"messages[{at}]"), (seed, found)
        assert found.attribution == "caller"
        assert found.lost_tokens, (seed, found)
        assert found.losses == {found.cause: found.lost_tokens}
        assert found.remedy


@pytest.mark.parametrize("make", LEFT_OUT, ids=lambda make: make.__name__)
def test_what_went_along_with_a_question_and_is_left_out_is_found_each_turn(
    make: Callable[[Author], Scene],
) -> None:
    scene = make(Author(9_001))
    for length in range(2, len(scene.bodies) + 1):
        found = play(replace(scene, bodies=scene.bodies[:length]))
        assert set(found.causes) <= scene.codes, (length, found)
        assert found.causes or length == 2, found  # of two requests the shared part is hardly known
        at = len(scene.bodies[length - 2]["messages"]) - 1
        places = {f"messages[{at}]", f"messages[{at}].content[0]", f"messages[{at}].content[1]"}
        if found.cause:
            assert found.attribution == "caller"
            assert (found.lost_tokens or 0) > 0
            assert found.path in places | {f"messages[{at - 1}]"}
            assert found.remedy


@pytest.mark.parametrize("make", RESENT_SCENES, ids=lambda make: make.__name__)
def test_what_only_looks_like_it_draws_no_blame(make: Callable[[Author], Scene]) -> None:
    for seed in SEEDS:
        found = play(make(Author(seed, stamped=seed % 2 == 1)))
        assert found.attribution == "expected", (seed, found)
        assert not found.lost_tokens, (seed, found)


def resent(earlier: list[str], later: list[str]) -> bool:
    masker = Masker()
    one, other = (read_prompt(chat("Be kind.", *texts), masker) for texts in (earlier, later))
    at = next(
        place
        for place, (before, after) in enumerate(zip(one.segments, other.segments, strict=False))
        if before.text != after.text
    )
    return is_resent(one, other, at, masker)


ANSWER = "The parcel left the depot. It is due on Monday, and needs no signature at all."


def test_an_answer_counts_as_the_same_only_where_nearly_all_of_it_is() -> None:
    asked = ["Where is it?", ANSWER, "And then?"]
    more = ["We shall see.", "Well?"]
    assert resent(asked, ["Where is it?", ANSWER.replace(". ", ".\n"), "And then?", *more])
    assert resent(asked, ["Where is it?", ANSWER.replace("needs", "takes"), "And then?", *more])
    assert not resent(asked, ["Where is it?", f"{ANSWER[:40]} and one more.", "And then?", *more])
    assert not resent(asked, ["Where is it?", ANSWER.replace("needs", "takes"), "And what then?", *more])


def test_without_an_answer_behind_it_another_text_is_a_new_turn() -> None:
    asked = ["Where is it?", ANSWER, "And then?"]
    assert not resent(asked, ["Where is it?", ANSWER.replace("needs", "takes"), "And then?"])


def test_a_question_asked_otherwise_is_no_edit_of_it() -> None:
    question = "Where is the parcel that I sent to Oslo on Friday?"
    more = [ANSWER, "And then?"]
    assert not resent([question], [question.replace("Friday", "Sunday"), *more])
    assert resent([question], [question.replace(" ", "  ", 2), *more])


def test_parts_that_are_one_text_now_are_the_same() -> None:
    masker = Masker()
    parts = [{"type": "text", "text": text} for text in (ANSWER[:26], ANSWER[26:])]
    earlier = {"model": "m", "messages": [{"role": "user", "content": parts}]}
    joined = read_prompt(chat(None, ANSWER, "Thank you.", "And then?"), masker)
    other = read_prompt(chat(None, ANSWER[::-1], "Thank you.", "And then?"), masker)
    assert is_resent(read_prompt(earlier, masker), joined, 0, masker)
    assert not is_resent(read_prompt(earlier, masker), other, 0, masker)
