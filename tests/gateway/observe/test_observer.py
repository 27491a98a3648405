"""The observer as a whole: first requests, hits, misses, opt-outs, failures; no blame without evidence."""

from __future__ import annotations

import pytest

from promptcache.usage import Usage
from promptcache_gateway.observe import Observer
from tests.gateway.observe.scenes import (
    Provider,
    Stage,
    chat,
    engine_provider,
    facts,
    outcome,
    rules_text,
    texts_in,
)

RULES = rules_text()


def test_the_first_request_blames_nobody() -> None:
    record = Stage().send(chat(RULES, "Where is my order?"))

    assert record.diagnosis.cause == "PC801"
    assert record.diagnosis.attribution == "expected"
    assert record.diagnosis.lost_tokens == 0
    assert record.diagnosis.path is None
    assert record.diagnosis.compared_with is None


def test_another_question_is_a_hit() -> None:
    stage = Stage()
    stage.send(chat(RULES, "Where is my order?"))

    record = stage.send(chat(RULES, "May I return it?"))

    assert record.diagnosis.cause is None
    assert record.diagnosis.hit is True
    assert record.diagnosis.lost_tokens == 0
    assert record.cached_tokens is not None
    assert record.cached_tokens > 1_500


def test_a_clock_in_the_system_prompt_is_named_with_its_place_and_price_in_tokens() -> None:
    stage = Stage()
    first = stage.send(chat("Time: 2026-11-29T12:00:01Z\n" + RULES, "Where is my order?"))

    record = stage.send(chat("Time: 2026-11-29T12:00:42Z\n" + RULES, "Where is my order?"))

    diagnosis = record.diagnosis
    assert record.template == first.template
    assert diagnosis.cause == "PC101"
    assert diagnosis.attribution == "caller"
    assert diagnosis.path == "messages[0]"
    assert diagnosis.char_offset == len("Time: 2026-11-29T12:00:")
    assert diagnosis.compared_with == first.id
    assert diagnosis.hit is False
    system_tokens = len(RULES) // 4
    assert diagnosis.lost_tokens == pytest.approx(system_tokens, abs=128)
    assert diagnosis.losses == {"PC101": diagnosis.lost_tokens}
    assert diagnosis.estimated
    assert diagnosis.remedy
    assert diagnosis.before is not None
    assert "12:00:01" in diagnosis.before
    assert diagnosis.after is not None
    assert "12:00:42" in diagnosis.after


def test_the_engine_gives_the_token_offset_exactly() -> None:
    stage = Stage(engine_provider())
    stage.send_to_engine(chat("Time: 12:00:01\n" + RULES, "Hi"), facts(1_700, 0, diverged_at=0))

    record = stage.send_to_engine(chat("Time: 12:00:42\n" + RULES, "Hi"), facts(1_700, 11, diverged_at=11))

    assert record.diagnosis.cause == "PC101"
    assert record.diagnosis.token_offset == 11
    assert record.diagnosis.estimated  # what equal clocks would have given is read off the bytes
    assert record.diagnosis.lost_tokens == pytest.approx(1_680, abs=15)
    assert record.diagnosis.lost_usd is None


def test_three_prompts_without_a_system_prompt() -> None:
    """The second shares its first words, the third nothing; neither is its caller's fault."""
    stage = Stage(engine_provider())
    opening = 31  # what the model's own chat template puts in front

    first = stage.send_to_engine(
        chat(None, "Summarize this incident report in one paragraph."), facts(45, 0, diverged_at=0)
    )
    second = stage.send_to_engine(
        chat(None, "Summarize this incident report in three bullet points."),
        facts(46, opening + 6, diverged_at=opening + 6),
    )
    third = stage.send_to_engine(
        chat(None, "Write a one-paragraph summary of this incident report."),
        facts(47, opening, diverged_at=opening),
    )

    assert first.diagnosis.cause == "PC801"
    assert second.diagnosis.cause is None
    assert second.diagnosis.hit is True
    assert second.diagnosis.lost_tokens == 0
    assert third.diagnosis.cause == "PC801"
    assert third.diagnosis.attribution == "expected"
    assert third.diagnosis.lost_tokens == 0
    assert third.diagnosis.path is None
    assert "Nothing" in third.diagnosis.summary
    assert "shared" in third.diagnosis.summary


def test_a_conversation_that_grows_is_a_hit_each_time() -> None:
    stage = Stage()
    turns = ["Where is it?", "On its way.", "Since when?", "Since Monday.", "Thank you!", "Welcome.", "Bye"]

    for length in (1, 3, 5, 7):
        record = stage.send(chat(RULES, *turns[:length]))

    assert [record.diagnosis.cause for record in stage.records] == ["PC801", None, None, None]
    assert record.diagnosis.hit is True


def test_parallel_conversations_retries_and_forks_draw_no_blame() -> None:
    stage = Stage()
    one = ["First question?", "First answer, at length and with care.", "And then?"]
    two = ["Second question!", "Second answer, quite another one, too.", "Why?"]

    stage.send(chat(RULES, one[0]))
    for body in (
        chat(RULES, two[0]),
        chat(RULES, *one),
        chat(RULES, *two),
        chat(RULES, *two),  # a retry
        chat(RULES, *one[:2], "Or rather: when?"),  # a fork
        chat(RULES, *one, "More of an answer to that.", "Go on"),
    ):
        assert stage.send(body).diagnosis.cause is None


def test_a_new_conversation_is_not_an_edited_one() -> None:
    """A history this gateway never saw begin, behind instructions it knows."""
    stage = Stage()
    stage.send(chat(RULES, "A question of one kind", "An answer of one kind", "Good"))

    record = stage.send(chat(RULES, "Something else altogether", "And what was said to it", "Fine"))

    assert record.diagnosis.cause is None
    assert record.diagnosis.hit is True


def test_an_edited_message_is_named() -> None:
    stage = Stage()
    answer = "Your order left our depot on Monday and is with the carrier now. " * 20
    stage.send(chat(RULES, "Where is my order?", answer, "Thanks, and the other one?"))

    record = stage.send(chat(RULES, "Where is my order #12?", answer, "Thanks, and the other one?", "x", "y"))

    assert record.diagnosis.cause == "PC502"
    assert record.diagnosis.path == "messages[1]"
    assert record.diagnosis.attribution == "caller"


def test_opting_out_of_the_cache_is_not_a_miss() -> None:
    stage = Stage()
    stage.send(chat(RULES, "One"))

    record = stage.send(chat("Time: 12:00:05\n" + RULES, "Two"), use_cache=False)

    assert record.diagnosis.cause is None
    assert record.diagnosis.attribution == "expected"
    follower = stage.send(chat("Time: 12:00:09\n" + RULES, "Two"))
    assert follower.diagnosis.compared_with == stage.records[0].id  # the one that was kept


def test_an_upstream_that_does_not_report_is_unknown_not_zero() -> None:
    stage = Stage(Provider(reports=False))
    stage.send(chat(RULES, "One"))

    record = stage.send(chat(RULES, "Two"))

    assert record.diagnosis.cause == "PC810"
    assert record.diagnosis.attribution == "unknown"
    assert record.diagnosis.lost_tokens is None
    assert record.cached_tokens is None
    assert not record.reported


def test_a_broken_prefix_is_named_even_where_the_upstream_does_not_report() -> None:
    stage = Stage(Provider(reports=False))
    stage.send(chat("Time: 12:00:05\n" + RULES, "One"))

    record = stage.send(chat("Time: 12:00:09\n" + RULES, "One"))

    assert record.diagnosis.cause == "PC101"
    assert record.diagnosis.causes[-1] == "PC810"
    assert record.diagnosis.lost_tokens is None


def test_a_prompt_below_the_minimum_is_not_the_callers_fault() -> None:
    stage = Stage()
    stage.send(chat("Be brief and be kind.", "One", model="gpt-5.6"))

    record = stage.send(chat("Be brief and be kind.", "Two", model="gpt-5.6"))

    assert record.diagnosis.cause == "PC604"
    assert record.diagnosis.attribution == "expected"
    assert record.diagnosis.lost_tokens == 0


def test_a_short_prompt_at_an_unknown_upstream_is_unknown() -> None:
    stage = Stage()
    stage.send(chat("Be brief and be kind.", "One"))

    record = stage.send(chat("Be brief and be kind.", "Two"))

    assert record.diagnosis.cause is None
    assert record.diagnosis.hit is None
    assert record.diagnosis.attribution == "unknown"


def test_a_broken_short_prompt_is_named_unless_it_is_too_short_to_be_cached_at_all() -> None:
    for model, code in (("some-model", "PC101"), ("gpt-5.6", "PC604")):
        stage = Stage()
        bodies = [chat(f"Time: 12:00:0{n}. {rules_text(15)}", "One", model=model) for n in (1, 2)]
        stage.send(bodies[0])
        observation = stage.observer.open(stage.call(bodies[1]))
        previewed = stage.observer.preview(observation, None)
        record = stage.observer.close(observation, outcome(stage.provider.serve(bodies[1], stage.clock.now)))

        assert record.diagnosis.cause == code
        assert previewed.cause == (code if code == "PC101" else None)


def test_what_time_took_anyway_is_not_the_callers_fault() -> None:
    stage = Stage()
    stage.send(chat("Time: 12:00:01\n" + RULES, "One"))

    record = stage.send(chat("Time: 12:00:02\n" + RULES, "One"), after_s=400.0)

    assert record.diagnosis.cause == "PC802"
    assert record.diagnosis.causes[1] == "PC101"
    assert record.diagnosis.attribution == "expected"
    assert record.diagnosis.path is None  # time has no place in the prompt; the clock has
    assert record.diagnosis.places[1].path == "messages[0]"


def test_an_upstream_without_a_cache_says_so() -> None:
    stage = Stage(engine_provider())
    stage.provider.caching = False  # type: ignore[attr-defined]
    stage.send_to_engine(chat(RULES, "One"), facts(1_700, 0))

    record = stage.send_to_engine(chat(RULES, "Two"), facts(1_700, 0))

    assert record.diagnosis.cause == "PC811"
    assert record.diagnosis.attribution == "upstream"


def test_a_prefix_shorter_than_a_page_is_said_to_be() -> None:
    stage = Stage(Provider(name="engine", kind="engine", granularity=16, minimum=0))
    stage.send_to_engine(chat("Be brief.", "One"), facts(18, 0, diverged_at=0))

    record = stage.send_to_engine(chat("Be brief.", "Two"), facts(18, 0, diverged_at=15, granularity=15))

    assert record.diagnosis.cause == "PC807"
    assert record.diagnosis.attribution == "expected"
    assert "15" in record.diagnosis.summary


def test_another_model_with_a_clock_is_a_first_and_not_a_switch() -> None:
    stage = Stage()
    stage.send(chat("Time: 12:00:01\n" + RULES, "One", model="model-a"))

    record = stage.send(chat("Time: 12:00:02\n" + RULES, "Something new", model="model-b"))

    assert record.diagnosis.cause == "PC801"
    assert record.diagnosis.attribution == "expected"


def test_an_identical_prefix_that_was_not_read_is_the_upstreams_doing() -> None:
    stage = Stage()
    stage.send(chat(RULES, "One"))
    stage.provider.stored.clear()

    record = stage.send(chat(RULES, "Two"))

    assert record.diagnosis.cause == "PC809"
    assert record.diagnosis.attribution == "upstream"
    assert record.diagnosis.lost_tokens == record.diagnosis.expected_cached_tokens
    assert record.diagnosis.lost_tokens > 1_024


def test_an_entry_that_outlived_its_lifetime_has_expired() -> None:
    stage = Stage()
    stage.send(chat(RULES, "One"))
    stage.send(chat(RULES, "Two"), after_s=280.0)

    record = stage.send(chat(RULES, "Three"), after_s=310.0)

    assert record.diagnosis.cause == "PC802"
    assert record.diagnosis.attribution == "expected"


def test_reads_keep_an_entry_alive() -> None:
    stage = Stage()
    for question in ("One", "Two", "Three", "Four"):
        record = stage.send(chat(RULES, question), after_s=280.0)

    assert record.diagnosis.hit is True


def test_a_switched_model_is_named_within_a_conversation_only() -> None:
    stage = Stage()
    stage.send(chat(RULES, "One", model="model-a"))

    other = stage.send(chat(RULES, "A first question to the other", model="model-b"))
    switched = stage.send(chat(RULES, "One", "Answered.", "Two", model="model-c"))

    assert other.diagnosis.attribution == "expected"
    assert other.diagnosis.cause == "PC801"
    assert switched.diagnosis.cause == "PC503"
    assert switched.diagnosis.attribution == "caller"


@pytest.mark.parametrize(
    ("known", "code", "attribution"),
    [
        ({"evicted": 900}, "PC803", "upstream"),
        ({"isolated": 900}, "PC808", "expected"),
        ({"granularity": 900}, "PC807", "expected"),
    ],
)
def test_the_engines_own_reasons_come_first(known: dict[str, int], code: str, attribution: str) -> None:
    stage = Stage(engine_provider())
    stage.send_to_engine(chat(RULES, "One"), facts(1_000, 0, diverged_at=0))

    record = stage.send_to_engine(chat(RULES, "Two"), facts(1_000, 50, diverged_at=950, **known))

    assert record.diagnosis.cause == code
    assert record.diagnosis.attribution == attribution
    assert record.diagnosis.expected_cached_tokens == 950
    assert record.diagnosis.lost_tokens == 900


@pytest.mark.parametrize(
    "changed", ["Now 12:00:01. " + RULES, "Something quite different, never sent. " * 40]
)
def test_what_is_cached_for_others_is_no_reuse_of_a_tenants_own(changed: str) -> None:
    """Where the tenant itself did not send the same before, no count may tell that another one did."""
    stage = Stage(engine_provider())
    stage.send_to_engine(chat("Now 12:00:00. " + RULES, "One"), facts(1_000, 0, diverged_at=0))

    record = stage.send_to_engine(chat(changed, "One"), facts(1_000, 16, diverged_at=916, isolated=900))

    assert "PC808" not in record.diagnosis.causes
    assert record.diagnosis.expected_cached_tokens == 16


def test_a_cache_that_was_emptied_is_no_mystery() -> None:
    stage = Stage(engine_provider())
    stage.send_to_engine(chat(RULES, "One"), facts(1_000, 0, diverged_at=0))
    stage.clock.now += 1.0
    stage.observer.cache_was_emptied("engine")

    record = stage.send_to_engine(chat(RULES, "Two"), facts(1_000, 0, diverged_at=0))

    assert record.diagnosis.cause == "PC803"
    assert "emptied" in record.diagnosis.summary


def test_a_follower_of_an_unanswered_leader_is_told_so() -> None:
    stage = Stage()
    leader = stage.observer.open(stage.call(chat(RULES, "One")))
    stage.clock.now += 0.1

    follower = stage.observer.open(stage.call(chat(RULES, "Two")))
    record = stage.observer.close(follower, outcome(stage.provider.usage(2_000, 0)))
    stage.observer.close(leader, outcome(stage.provider.usage(2_000, 0)))

    assert record.diagnosis.cause == "PC608"
    assert record.diagnosis.attribution == "caller"


def test_a_failed_request_is_no_predecessor() -> None:
    stage = Stage()
    first = stage.send(chat("Time: 12:00:01\n" + RULES, "One"))
    observation = stage.observer.open(stage.call(chat("Time: 12:00:02\n" + RULES, "One")))
    failed = stage.observer.close(observation, outcome(Usage.unreported(), status=502))

    record = stage.send(chat("Time: 12:00:02\n" + RULES, "One"))

    assert failed.diagnosis.cause is None
    assert failed.diagnosis.attribution == "unknown"
    assert record.diagnosis.cause == "PC101"
    assert record.diagnosis.compared_with == first.id


def test_tenants_do_not_see_each_other() -> None:
    stage = Stage()
    stage.send(chat("Time: 12:00:01\n" + RULES, "One"), tenant="a")

    record = stage.send(chat("Time: 12:00:02\n" + RULES, "One"), tenant="b")

    assert record.diagnosis.cause == "PC801"
    assert record.diagnosis.compared_with is None


def test_a_named_template_with_another_prompt_under_it_blames_nobody() -> None:
    stage = Stage()
    stage.send(chat(RULES, "One"), template="shared")

    record = stage.send(
        chat("You write haiku about rivers, and nothing else. " * 120, "Two"), template="shared"
    )

    assert record.template == "shared"
    assert not record.learned
    assert record.diagnosis.cause == "PC801"
    assert record.diagnosis.attribution == "expected"


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m"},
        {"model": "m", "messages": "no"},
        {"model": "m", "messages": [1, None]},
        {"model": "m", "messages": [{"role": 3}]},
        {"model": "m", "messages": []},
        {"model": "m", "messages": [{"role": "user", "content": "\ud800 lone surrogate"}]},
        {"model": "m", "prompt": {"not": "a prompt"}},
    ],
)
def test_what_cannot_be_read_is_recorded_all_the_same(body: dict[str, object]) -> None:
    stage = Stage()
    observation = stage.observer.open(stage.call(body))
    stage.observer.preview(observation, None)

    record = stage.observer.close(observation, outcome(Usage.unreported(), status=400))

    assert record.status == 400
    assert record.diagnosis.cause is None
    assert not stage.observer.is_open(record.id)


def test_a_listener_that_fails_does_not_silence_the_others(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def failing(record: object) -> None:
        raise RuntimeError("secret text of a prompt")

    stage = Stage(listeners=[failing, lambda record: heard.append(record.id)])
    record = stage.send(chat("secret text of a prompt", "Hi"))

    assert heard == [record.id]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_the_record_is_the_documented_json() -> None:
    stage = Stage()
    stage.send(chat("Time: 12:00:01\n" + RULES, "One"))
    record = stage.send(chat("Time: 12:00:02\n" + RULES, "One")).to_dict()

    wanted = {"id", "time", "template", "tenant", "upstream", "model", "usage", "ttft_ms", "diagnosis"}
    usage = {
        "prompt_tokens",
        "cached_tokens",
        "cache_write_tokens",
        "uncached_tokens",
        "output_tokens",
        "reported",
    }
    diagnosis = {
        "cause",
        "causes",
        "path",
        "char_offset",
        "token_offset",
        "expected_cached_tokens",
        "lost_tokens",
        "lost_usd",
        "before",
        "after",
        "compared_with",
        "remedy",
        "attribution",
    }
    assert wanted <= record.keys()
    assert usage == record["usage"].keys()
    assert diagnosis <= record["diagnosis"].keys()


def test_excerpts_can_be_left_out() -> None:
    stage = Stage()
    stage.send(chat("Time: 12:00:01\n" + RULES, "One"))
    record = stage.send(chat("Time: 12:00:02\n" + RULES, "One"))

    assert "12:00:02" in str(record.to_dict())
    assert "12:00:02" not in str(record.to_dict(excerpts=False))


def test_money_is_priced_where_prices_are_known() -> None:
    from promptcache_gateway.observe.money import Money

    prices = {"input": 2.0, "output": 8.0, "cache_read": 0.5}
    stage = Stage(money=Money(lambda model: prices if model == "model-a" else None))
    stage.send(chat("Time: 12:00:01\n" + RULES, "One"))

    missed = stage.send(chat("Time: 12:00:02\n" + RULES, "One"))
    hit = stage.send(chat("Time: 12:00:02\n" + RULES, "One"))
    unpriced = stage.send(chat("Time: 12:00:02\n" + RULES, "One", model="model-b"))

    assert missed.diagnosis.lost_usd == pytest.approx(missed.diagnosis.lost_tokens * 1.5e-6)
    assert missed.saved_usd == pytest.approx(0.0)
    assert hit.saved_usd == pytest.approx(hit.cached_tokens * 1.5e-6)
    assert unpriced.saved_usd is None
    assert unpriced.diagnosis.lost_usd is None


def test_an_observer_without_upstreams_still_observes() -> None:
    stage = Stage()
    stage.observer = Observer(clock=stage.clock)
    stage.send(chat(RULES, "One"))

    assert stage.send(chat(RULES, "Two")).diagnosis.hit is True


def test_no_text_of_a_forgotten_tenant_is_left_in_memory() -> None:
    stage = Stage()
    secret = "Never tell it is 12:31 in Kirkwall. "
    for number in range(3):
        stage.send(
            chat(secret + RULES, f"Is it Kirkwall? {number}", f"Kirkwall {number}", "And then?"), tenant="a"
        )
        stage.send(chat(secret + RULES, f"Is it Kirkwall? {number}"), tenant="a")
        stage.send(chat(RULES, f"Where is it? {number}"), tenant="b")
    stage.records.clear()
    assert any("Kirkwall" in text for text in texts_in(stage.observer))

    stage.observer.forget("a")

    assert not [text for text in texts_in(stage.observer) if "Kirkwall" in text]
    assert stage.send(chat(RULES, "Is it here?"), tenant="b").diagnosis.hit is True
    assert stage.send(chat(secret + RULES, "Kirkwall?"), tenant="a").diagnosis.compared_with is None
