"""What another request keeps alive is due, whatever became of what the predecessor left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe.prompt import marked_segments
from tests.gateway.observe.marked_traffic import MARK, MarkedProvider
from tests.gateway.observe.scenes import Stage, outcome, rules_text

if TYPE_CHECKING:
    from promptcache_gateway.observe import Diagnosis

Body = dict[str, Any]
SYSTEM = rules_text()


def talk(name: str, count: int) -> list[Body]:
    roles = ("user", "assistant")
    return [
        {"role": roles[n % 2], "content": f"{name} {n}: " + f"this says {n * 7} things of {name}. " * 40}
        for n in range(count)
    ]


def body(*messages: Body, model: str = "gpt-4.1", **more: Any) -> Body:
    return {"model": model, "messages": [{"role": "system", "content": SYSTEM}, *messages], **more}


def last(*steps: tuple[float, Body], forgets: bool) -> Diagnosis:
    """The diagnosis of the last request; ``forgets``: nothing was left of anything by then."""
    stage = Stage()
    for number, (after_s, sent) in enumerate(steps, 1):
        if forgets and number == len(steps):
            stage.provider.stored.clear()
        found = stage.send(sent, after_s=after_s)
    return found.diagnosis


def expired(*, forgets: bool, **more: Any) -> Diagnosis:
    return last(
        (5, body(*talk("A", 3))),
        (600, body(*talk("B", 1))),
        (5, body(*talk("A", 5), **more)),
        forgets=forgets,
    )


def test_an_expired_history_behind_instructions_that_were_read_has_expired() -> None:
    found = expired(forgets=False)
    assert (found.causes, found.attribution) == (("PC802",), "expected")


def test_instructions_that_others_keep_alive_have_not_expired() -> None:
    found = expired(forgets=True)
    assert set(found.causes) == {"PC802", "PC809"}
    assert sum(found.losses.values()) == found.lost_tokens
    assert found.losses["PC809"] == found.expected_cached_tokens


def test_what_would_have_been_read_of_a_fork_is_the_upstreams() -> None:
    """All but the last two messages were sent a moment ago."""
    fork = [*talk("A", 4), {"role": "user", "content": "Something else: what is a stamp?"}]
    found = last((5, body(*talk("A", 5))), (600, body(*fork)), (5, body(*talk("A", 7))), forgets=True)
    assert (found.cause, found.attribution) == ("PC809", "upstream")
    assert found.losses["PC809"] > found.losses["PC802"]


def test_a_switched_model_is_charged_with_what_only_the_other_one_had() -> None:
    steps = ((5.0, body(*talk("A", 9))), (5.0, body(*talk("B", 1), model="gpt-4o")))
    after = (5.0, body(*talk("A", 11), model="gpt-4o"))
    read, unread = (last(*steps, after, forgets=forgets) for forgets in (False, True))
    assert read.losses == {"PC503": read.lost_tokens}
    assert set(unread.losses) == {"PC503", "PC809"}
    assert unread.losses["PC503"] == unread.lost_tokens - unread.losses["PC809"]  # type: ignore[operator]


def test_an_edit_is_charged_with_what_stands_behind_it() -> None:
    """What stands in front of it was due, and nobody changed that."""
    before, after = talk("A", 9), talk("A", 11)
    after[6] = {**after[6], "content": f"Edited. {after[6]['content']}"}
    read, unread = (last((5, body(*before)), (5, body(*after)), forgets=forgets) for forgets in (False, True))
    assert (read.causes, read.attribution) == (("PC502",), "caller")
    assert (unread.causes, unread.attribution) == (("PC809", "PC502"), "upstream")
    assert unread.losses["PC809"] == unread.expected_cached_tokens
    assert sum(unread.losses.values()) == unread.lost_tokens
    assert "(PC502, " in unread.summary


def test_an_early_edit_that_cost_most_comes_first() -> None:
    before, after = talk("A", 9), talk("A", 11)
    after[2] = {**after[2], "content": f"Edited. {after[2]['content']}"}
    found = last((5, body(*before)), (5, body(*after)), forgets=True)
    assert (found.causes, found.attribution) == (("PC502", "PC809"), "caller")
    assert found.losses["PC502"] > found.losses["PC809"]


def test_another_cache_key_finds_nothing_of_the_others() -> None:
    found = expired(forgets=True, prompt_cache_key="mine")
    assert "PC809" not in found.causes


@pytest.mark.parametrize("late", [False, True])
def test_marks_that_are_heard_of_late_keep_a_prefix_alive_all_the_same(late: bool) -> None:
    """A peer tells what it put into a request as it is answered: this one may have been compared by then."""
    stage = Stage(MarkedProvider())

    def asked(*texts: str) -> Any:
        messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
        system = [{"type": "text", "text": SYSTEM * 2}]
        return {"model": "claude-sonnet-4-5", "max_tokens": 5, "system": system, "messages": messages}

    def opened(sent: Body) -> Any:
        stage.clock.now += 5.0
        return stage.observer.open(stage.call(sent, dialect="anthropic.messages", path="/v1/messages"))

    first = asked("One?")
    first["system"][0] |= MARK
    stage.send(first, dialect="anthropic.messages")
    stage.clock.now += 600.0
    other = opened(asked("Quite another question?"))
    entry = other.sight.entry
    entry.answered_at = stage.clock.now
    mine = opened(asked("One?", "An answer.", "Two?"))
    segments = [replace(mine.sight.prompt.segments[0], breakpoint=MARK["cache_control"])]
    segments += mine.sight.prompt.segments[1:]
    mine.revise(replace(mine.sight.prompt, segments=tuple(segments), marks=marked_segments(segments)))
    if late:
        stage.observer.prepare(mine, whatever_is_read=True)
    known = entry.prompt
    segments = [replace(known.segments[0], breakpoint=MARK["cache_control"]), *known.segments[1:]]
    entry.prompt = replace(known, segments=tuple(segments), marks=marked_segments(segments))
    counts = {"input_tokens": 4_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    usage = Usage.from_response({"usage": {**counts, "output_tokens": 1}})
    found = stage.observer.close(mine, outcome(usage)).diagnosis
    assert (found.cause, found.attribution) == ("PC809", "upstream")
