"""Reasons in the providers' own words: which one, in which order, and how many tokens."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from promptcache_gateway.exchange import Question
from promptcache_gateway.observe.answered import Answered
from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.provider_reasons import anthropic_reason, openai_verdict
from promptcache_gateway.observe.provider_verdict import ProviderVerdict, our_answer
from promptcache_gateway.observe.row import Entry

RULES = "Answer briefly and cite the order. " * 30
TOOLS: list[Any] = [
    {"name": "a", "description": "d", "input_schema": {}},
    {"name": "b", "description": "d", "input_schema": {}},
]
USER, ANSWER = {"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "On its way."}
CLAUDE: dict[str, Any] = {"model": "m", "system": RULES, "tools": TOOLS, "messages": [USER]}
OPENAI: dict[str, Any] = {"model": "m", "instructions": RULES, "tools": TOOLS, "input": [USER]}

_MASKER = Masker()
_CLAUDE_REASON: TypeAdapter[Any] = TypeAdapter(anthropic.types.CacheMissReason)
_OPENAI_VERDICT: TypeAdapter[Any] = TypeAdapter(openai.types.responses.response.PromptCacheDiagnostics)


def entry(body: dict[str, Any], tokens: int | None = 400) -> Entry:
    return Entry("pcr_0", read_prompt(body, _MASKER), "m", "up", 0.0, 0.0, tokens, 0)


def claude(before: dict[str, Any], after: dict[str, Any]) -> Any:
    reason = anthropic_reason(entry(before), read_prompt(after, _MASKER))
    if reason is not None:
        _CLAUDE_REASON.validate_python(reason, strict=True)
    return reason


def told(before: dict[str, Any], after: dict[str, Any], cached: int | None = 0) -> Any:
    verdict = openai_verdict(entry(before), read_prompt(after, _MASKER), cached)
    _OPENAI_VERDICT.validate_python(verdict, strict=True)
    return verdict


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"messages": [USER, ANSWER, USER]}, None),
        ({"messages": [{**USER, "cache_control": {"type": "ephemeral"}}]}, None),
        ({"temperature": 0.5, "metadata": {"user_id": "u"}, "max_tokens": 9}, None),
        ({"diagnostics": {"previous_message_id": "msg_x"}}, None),
        ({"model": "n", "system": "S"}, "model_changed"),
        ({"speed": "fast"}, "model_changed"),
        ({"tools": TOOLS[::-1], "system": "S"}, "tools_changed"),
        ({"tools": TOOLS[:1]}, "tools_changed"),
        ({"tools": [*TOOLS, TOOLS[0]]}, "tools_changed"),
        ({"system": RULES + "!"}, "system_changed"),
        ({"system": None}, "system_changed"),
        ({"tool_choice": {"type": "any"}}, "unavailable"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "unavailable"),
        ({"tool_choice": {"type": "any"}, "system": "S"}, "system_changed"),
        ({"messages": [{"role": "user", "content": "Where is she?"}, ANSWER, USER]}, "messages_changed"),
    ],
)
def test_anthropics_reasons(change: dict[str, Any], expected: str | None) -> None:
    reason = claude(CLAUDE, {**CLAUDE, **change})
    assert (reason and reason["type"]) == expected


def test_missed_tokens_are_those_behind_the_difference() -> None:
    halves = [{"type": "text", "text": "x" * 3000}, {"type": "text", "text": "y" * 3000}]
    before = {"model": "m", "system": halves, "messages": [USER]}
    reason = claude(before, {**before, "system": [halves[0], {"type": "text", "text": "z" * 3000}]})
    assert 195 <= reason["cache_missed_input_tokens"] <= 210  # of 400: the second half and the question
    assert claude(before, {**before, "model": "n"})["cache_missed_input_tokens"] == 400


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"model": "n", "tools": []}, "model_changed"),
        ({"prompt_cache_key": "k", "tools": []}, "prompt_cache_key_changed"),
        ({"tools": TOOLS[::-1], "text": {"verbosity": "low"}}, "tools_changed"),
        ({"text": {"format": {"type": "json_object"}, "verbosity": "low"}}, "text_format_changed"),
        ({"reasoning": {"effort": "high"}, "text": {"verbosity": "low"}}, "reasoning_effort_changed"),
        ({"text": {"verbosity": "low"}, "instructions": "S"}, "verbosity_changed"),
        ({"input": [{"type": "compaction", "encrypted_content": "x"}, USER]}, "context_compacted"),
        ({"instructions": "S", "service_tier": "flex"}, "input_changed"),
        ({"service_tier": "flex"}, "service_tier_changed"),
    ],
)
def test_openais_reasons(change: dict[str, Any], expected: str) -> None:
    verdict = told(OPENAI, {**OPENAI, **change})
    assert (verdict["type"], verdict["reason"]) == ("cache_miss", expected)
    assert verdict["cache_missed_tokens"] + verdict["comparison_reusable_tokens"] == 400


@pytest.mark.parametrize("kind", ["anthropic", "engine"])
@pytest.mark.parametrize(
    "change",
    [
        {"service_tier": "priority"},
        {"text": {"verbosity": "low"}},
        {"prompt_cache_key": "k"},
        {"reasoning": {"effort": "high"}},
    ],
)
def test_a_setting_that_means_nothing_to_the_upstream_is_no_reason(change: dict[str, Any], kind: str) -> None:
    later = read_prompt({**OPENAI, **change}, _MASKER)
    assert openai_verdict(entry(OPENAI), later, 0, kind) == {"type": "unavailable"}
    assert openai_verdict(entry(OPENAI), later, 400, kind) == {"type": "cache_hit"}
    edited = read_prompt({**OPENAI, **change, "instructions": "S"}, _MASKER)
    assert openai_verdict(entry(OPENAI), edited, 0, kind)["reason"] == "input_changed"


@pytest.mark.parametrize("change", [{}, {"input": [USER, ANSWER, USER]}, {"service_tier": "auto"}])
def test_a_prompt_that_goes_on_is_a_hit_only_where_something_was_read(change: dict[str, Any]) -> None:
    body = {**OPENAI, **change}
    assert told(OPENAI, body, 400) == {"type": "cache_hit"}
    assert told(OPENAI, body, 128) == {"type": "cache_hit"}
    assert told(OPENAI, body, 0) == told(OPENAI, body, None) == {"type": "unavailable"}


def test_another_question_behind_the_same_instructions_is_a_hit_of_those() -> None:
    body = {**OPENAI, "input": [{"role": "user", "content": "Who are you?"}]}
    assert told(OPENAI, body, 128) == {"type": "cache_hit"}
    assert told(OPENAI, body, 0)["reason"] == "input_changed"


def test_what_is_not_known_is_not_made_up() -> None:
    prompt = read_prompt(CLAUDE, _MASKER)
    assert anthropic_reason(None, prompt) == {"type": "previous_message_not_found"}
    assert anthropic_reason(entry(CLAUDE), None) == {"type": "unavailable"}
    assert openai_verdict(None, prompt, 5) == {"type": "comparison_response_not_found"}
    assert openai_verdict(entry(OPENAI), None, 5) == {"type": "unavailable"}
    assert our_answer(Question("anthropic.messages", None), None, prompt, None) is None


_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
_BODIES = st.builds(
    lambda model, system, tools, talk: {
        "model": model,
        "system": system,
        "tools": tools,
        "messages": [{"role": role, "content": text} for role, text in talk],
    },
    st.sampled_from("mn"),
    _TEXT,
    st.lists(st.fixed_dictionaries({"name": _TEXT}), max_size=2),
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), _TEXT), min_size=1, max_size=4),
)


@given(_BODIES, _BODIES, st.none() | st.integers(0, 500))
def test_any_two_requests_get_an_object_the_clients_read(one: Any, other: Any, cached: int | None) -> None:
    for verdict in (claude(one, one), claude(one, {**one, "messages": [*one["messages"], USER]})):
        assert verdict is None
    claude(one, other)
    verdict = told(one, other, cached)
    if verdict["type"] == "cache_miss":
        assert min(verdict["cache_missed_tokens"], verdict["comparison_reusable_tokens"]) >= 0


def test_an_answer_is_found_by_its_id_for_its_tenant_as_long_as_history_holds_it() -> None:
    answered, kept = Answered(), entry(CLAUDE)
    kept.id = "pcr_12ab"
    answered.add("t", kept, "chatcmpl-9")
    assert answered.find("t", "chatcmpl-9") is answered.find("t", "resp_12ab") is kept
    assert answered.find("u", "chatcmpl-9") is None
    del kept
    assert answered.find("t", "chatcmpl-9") is None
    assert len(answered) == 0


@pytest.mark.parametrize(
    ("theirs", "agrees"),
    [
        ({"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 3}}, True),
        ({"cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 3}}, False),
        (None, False),
        ({"cache_miss_reason": None}, None),
        ({"cache_miss_reason": {"type": "unavailable"}}, None),
    ],
)
def test_agreement(theirs: Any, agrees: bool | None) -> None:
    ours = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 5}}
    verdict = ProviderVerdict("anthropic.messages", "msg_1", True, ours, theirs, answered=True)
    assert verdict.agrees is agrees
    assert ProviderVerdict("anthropic.messages", "msg_1", True, ours, theirs, answered=False).agrees is None
    assert ProviderVerdict("openai.responses", "resp_1", True, ours, None, answered=True).agrees is None
