"""Requests that were refused: PC603 where the breakpoints are why, else nothing is said."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from promptcache.usage import Usage
from tests.gateway.observe.marked_traffic import MARK, MarkedProvider, message, talk
from tests.gateway.observe.scenes import Provider, Stage, outcome
from tests.gateway.observe.traffic import Author

if TYPE_CHECKING:
    from promptcache_gateway.observe import RequestRecord


def five_marks() -> dict[str, Any]:
    body = talk(Author(1), 4)
    for at in range(4):
        body["messages"][at]["content"][0].update(MARK)
    return body


def ended(body: dict[str, Any], status: int, provider: Provider | None = None) -> RequestRecord:
    stage = Stage(provider if provider is not None else MarkedProvider())
    observation = stage.observer.open(stage.call(body, dialect="anthropic.messages"))
    return stage.observer.close(observation, outcome(Usage(), status=status))


def test_too_many_breakpoints_are_named_at_the_one_that_is_too_many() -> None:
    record = ended(five_marks(), 400)
    diagnosis = record.diagnosis

    assert (diagnosis.cause, diagnosis.causes, diagnosis.attribution) == ("PC603", ("PC603",), "caller")
    assert diagnosis.path == "messages[3].content[0]"
    assert diagnosis.hit is None  # nothing was looked up, so nothing was missed
    assert diagnosis.lost_tokens is None
    assert "5 breakpoints" in diagnosis.summary
    assert record.failed


def test_a_long_lifetime_behind_a_short_one_is_named() -> None:
    body = talk(Author(2), 1)
    body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}

    assert ended(body, 400).diagnosis.cause == "PC603"


@pytest.mark.parametrize("status", [401, 404, 429, 500, 529])
def test_other_refusals_are_not_the_breakpoints(status: int) -> None:
    assert ended(five_marks(), status).diagnosis.cause is None


def test_breakpoints_that_are_fine_are_not_blamed() -> None:
    assert ended(talk(Author(3), 2), 400).diagnosis.cause is None


def test_nor_where_nobody_reads_them() -> None:
    body = {**five_marks(), "model": "model-a"}
    assert ended(body, 400, Provider()).diagnosis.cause is None


def test_what_has_no_known_shape_is_not_judged() -> None:
    body = copy.deepcopy(five_marks())
    body["messages"] = [message("user", "hi"), 7]
    assert ended(body, 400).diagnosis.cause is None
