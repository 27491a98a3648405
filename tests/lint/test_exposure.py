"""Which static text stands behind a hole, where only one option of a branch is rendered."""

from __future__ import annotations

from promptcache_lint.exposure import exposed_holes, words_but_for_labels
from promptcache_lint.places import Place
from promptcache_lint.prompts import Branch, Hole, Prompt, Segment, Text

HERE = Place("a.py", 1, 1, 1, 1)


def hole(name: str) -> Hole:
    return Hole(name, HERE)


def exposed(*parts):
    prompt = Prompt("p", HERE, (Segment("system", "system", parts),))
    return {found.hole.label: found for found in exposed_holes(prompt)}


def test_the_other_option_does_not_stand_behind():
    branch = Branch("x", HERE, ((hole("a"), Text("one", HERE)), (Text("three four five", HERE), hole("b"))))
    found = exposed(Text("Head. ", HERE), branch, Text("Tail.", HERE))
    assert (found["a"].behind, found["b"].behind) == (len("one") + len("Tail."), len("Tail."))
    assert (found["a"].before, found["b"].before) == (len("Head. "), len("Head. three four five"))


def test_labels_between_values_are_no_text_worth_caching():
    label = [Text("\nHome town: ", HERE), hole("town"), Text("\nDaily goal in steps: ", HERE), hole("goal")]
    branch = Branch("plan", HERE, ((Text("\nPlan of this month: ", HERE), hole("plan")), ()))
    tail = Text("\nBe brief and kind.", HERE)
    prompt = Prompt("p", HERE, (Segment("system", "system", (hole("name"), *label, branch, tail)),))
    first, *_, last = exposed_holes(prompt)
    assert first.words_behind == 14
    assert words_but_for_labels(prompt, first) == words_but_for_labels(prompt, last) == 4


def test_before_a_branch_the_longest_option_counts():
    branch = Branch("x", HERE, ((Text("short", HERE),), (Text("rather longer", HERE),)))
    assert exposed(hole("a"), branch)["a"].behind == len("rather longer")


def test_words_kept_end_at_the_next_text_of_the_turn():
    talk = Hole("talk", HERE, words="conversation")
    found = exposed(hole("when"), Text("Talk of today.", HERE), talk, Text("Now sum it all up.", HERE))
    assert (found["when"].words_kept, found["when"].words_behind) == (3, 8)
    assert found["talk"].words_kept == 5


def test_words_kept_are_all_words_without_such_a_text():
    found = exposed(hole("when"), Text("Be brief. ", HERE), hole("place"), Text("And kind.", HERE))
    assert found["when"].words_kept == found["when"].words_behind == 4
