"""A conversation that is summed up under other instructions is found; what only resembles that is not."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache_gateway.observe.history import History
from tests.gateway.observe.scenes import Stage
from tests.gateway.observe.traffic import Author, section_that_comes_and_goes

SUM_UP = {"role": "system", "content": "You sum up conversations. Summarize what follows, keep numbers."}
ASKED = {"role": "user", "content": "Summarize now."}


def summed_up(author: Author, body: dict[str, Any], **known: Any) -> dict[str, Any]:
    """The conversation with its answer, handed to a template that sums it up."""
    answer = {"role": "assistant", "content": author.answer()}
    return {"model": body["model"], "messages": [SUM_UP, *body["messages"][1:], answer, ASKED]} | known


@pytest.mark.parametrize("seed", range(4))
def test_the_whole_history_is_lost_and_the_request_it_was_in_is_named(seed: int) -> None:
    author, stage = Author(seed), Stage()
    body = author.conversation(8)
    stage.send(body)
    body = author.continued(body)
    latest = stage.send(body)
    record = stage.send(summed_up(author, body))

    diagnosis = record.diagnosis
    assert (diagnosis.cause, diagnosis.causes, diagnosis.attribution) == ("PC506", ("PC506",), "caller")
    assert diagnosis.path == "messages[0]"
    assert diagnosis.lost_tokens
    assert record.prompt_tokens is not None
    assert diagnosis.lost_tokens <= record.prompt_tokens
    assert diagnosis.compared_with == latest.id
    assert record.template != latest.template


def test_not_where_another_model_is_asked_or_another_tenant_talked() -> None:
    for known, sent in (({"model": "model-b"}, {}), ({}, {"tenant": "another"})):
        author, stage = Author(3), Stage()
        body = author.conversation(8)
        stage.send(body)
        diagnosis = stage.send(summed_up(author, body, **known), **sent).diagnosis

        assert (diagnosis.cause, diagnosis.attribution) == ("PC801", "expected")


def test_not_where_the_conversation_goes_to_another_prompt_that_sums_nothing_up() -> None:
    author, stage = Author(4), Stage()
    body = author.conversation(8, tools=False)
    stage.send(body)
    later = summed_up(author, body)
    later["messages"][0] = {"role": "system", "content": "You tell how content a customer is."}
    later["messages"][-1] = {"role": "user", "content": "How content?"}
    diagnosis = stage.send(later).diagnosis

    assert (diagnosis.cause, diagnosis.lost_tokens) == ("PC801", 0)


def test_an_answer_to_a_compaction_continues_as_that_templates_own() -> None:
    author, stage = Author(5), Stage()
    body = author.conversation(30)
    stage.send(body)
    later = summed_up(author, body)
    stage.send(later)
    again = stage.send(later)
    assert (again.diagnosis.hit, again.diagnosis.cause) == (True, None)


def test_a_summary_for_every_turn_goes_on_from_the_one_before() -> None:
    author, stage = Author(9), Stage()
    body = author.conversation(12, tools=False)
    stage.send(body)
    first = stage.send(summed_up(author, body))
    assert first.diagnosis.cause == "PC506"
    for _ in range(4):
        body = author.continued(body)
        stage.send(body)
        record = stage.send(summed_up(author, body))
        assert record.template == first.template
        assert (record.diagnosis.hit, record.diagnosis.cause, record.diagnosis.lost_tokens) == (True, None, 0)


def test_a_template_with_long_instructions_of_its_own_reads_those() -> None:
    author, stage = Author(10), Stage()
    own = {**SUM_UP, "content": f"Summarize the conversation for the record.\n{author.instructions(90)}"}
    for number in range(3):
        body = author.conversation(8, tools=False)
        stage.send(body)
        later = summed_up(author, body)
        record = stage.send({**later, "messages": [own, *later["messages"][1:]]})
        if number:
            assert record.cached_tokens
            assert (record.diagnosis.hit, record.diagnosis.cause) == (True, None)


def test_gone_on_from_a_summary_is_no_miss_and_says_so() -> None:
    author, stage = Author(6), Stage()
    body = author.conversation(6)
    stage.send(body)
    said = "This session is being continued from a previous conversation. " + author.answer()
    talk = [{"role": "user", "content": said}, {"role": "assistant", "content": "Ok."}, ASKED]
    diagnosis = stage.send({**body, "messages": [body["messages"][0], *talk]}).diagnosis

    assert (diagnosis.hit, diagnosis.cause, diagnosis.lost_tokens) == (True, None, 0)
    assert "goes on from a summary" in diagnosis.summary


def test_an_ordinary_conversation_beside_a_longer_one_goes_on_from_nothing() -> None:
    author, stage = Author(7), Stage()
    body = author.conversation(6)
    stage.send(body)
    diagnosis = stage.send(author.asking({**body, "messages": body["messages"][:2]})).diagnosis

    assert diagnosis.hit
    assert "summary" not in diagnosis.summary


def test_other_families_are_asked_only_for_a_history_that_is_unknown_here() -> None:
    stage = Stage(history=History())
    author = Author(8)
    body = author.conversation(6)
    stage.send(body)
    stage.send(summed_up(author, body))
    observation = stage.observer.open(stage.call(author.continued(body)))

    assert observation.sight.match is not None
    assert observation.sight.match.elsewhere is None


def test_a_rule_about_summaries_put_into_the_instructions_sums_nothing_up() -> None:
    pair = section_that_comes_and_goes(Author(623))
    stage = Stage()
    assert "summarize" in pair.later["messages"][0]["content"][:4_000]
    for body in pair.earlier:
        stage.send(body)
    diagnosis = stage.send(pair.later).diagnosis

    assert (diagnosis.cause, diagnosis.path) == (pair.code, pair.path) == ("PC404", "messages[0]")
