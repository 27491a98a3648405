"""A cache key is of the template and tenant: not of a session, not cut off, and not of everybody."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache import Conversation, cache_key
from promptcache.cache_keys import session_key
from promptcache.errors import ConversationError
from promptcache.providers import KEY_REQUESTS_PER_MINUTE

CASES = Path(__file__).parents[1] / "cases"


def load(case: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lines = (CASES / case / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    expected = json.loads((CASES / case / "expected.json").read_text(encoding="utf-8"))["expected"]
    return [json.loads(line) for line in lines], expected


def key_of(chat: Conversation, **parameters: Any) -> str | None:
    key: str | None = chat.to_openai("gpt-5", **parameters).get("prompt_cache_key")
    return key


def said(text: str, **options: Any) -> Conversation:
    chat = Conversation("Be kind.", **options)
    chat.user(text)
    return chat


def test_b074_sessions_have_keys_of_their_own_and_a_plain_user_has_none() -> None:
    requests, expected = load("B074")
    keys = [session_key(request) for request in requests]
    for one, other in expected["keys_distinct"]:
        assert keys[one] != keys[other]
    assert (keys[2] is not None) == expected["third_has_key"]
    for odd in ({}, {"metadata": None}, {"metadata": {"user_id": "{"}}, {"metadata": {"user_id": "[1]"}}):
        assert session_key(odd) is None


def test_b076_conversations_of_one_template_share_a_key() -> None:
    requests, expected = load("B076")
    keys = [key_of(said(request["conv"], template=request["template"])) for request in requests]
    assert len({keys[index] for index in expected["upstream_key_equal_for"]}) == 1


def test_a_key_stays_while_a_conversation_grows_and_is_trimmed() -> None:
    chat = said("first", template="support", requests_per_minute=10 * KEY_REQUESTS_PER_MINUTE)
    key = key_of(chat)
    for turn in range(20):
        chat.assistant("yes")
        chat.user(f"{turn} " * 100)
    chat.trim(to_tokens=100, at_tokens=200)
    assert key_of(chat) == key_of(chat.fork()) == key
    assert chat.to_responses("gpt-5")["prompt_cache_key"] == key


def test_a_rate_spreads_conversations_over_as_many_keys_as_needed() -> None:
    rate = 3 * KEY_REQUESTS_PER_MINUTE
    keys = [key_of(said(f"{i}", template="t", requests_per_minute=rate)) for i in range(200)]
    assert len(set(keys)) == 3
    assert min(keys.count(key) for key in set(keys)) > 40
    assert len({key_of(said(f"{i}", template="t", requests_per_minute=rate / 3)) for i in range(50)}) == 1


def test_only_where_the_provider_knows_it_and_the_callers_comes_first() -> None:
    chat = said("x", template="t", tenant="acme")
    assert "prompt_cache_key" not in chat.to_openai("some-model")
    assert "prompt_cache_key" not in chat.to_openai("qwen3")
    assert key_of(said("x")) is None
    assert key_of(chat, prompt_cache_key="mine") == "mine"
    assert "acme" not in str(key_of(chat))
    assert key_of(chat) != key_of(said("x", template="t", tenant="other")) != key_of(said("x", template="t"))


names = st.text(max_size=80)


@given(names, names, names, names)
def test_names_are_never_mixed_up_or_cut_off(one: str, tenant: str, other: str, another: str) -> None:
    if (one, tenant) != (other, another):
        assert cache_key(one, tenant=tenant) != cache_key(other, tenant=another)
    assert len(cache_key(one, tenant=tenant)) == 27


def test_a_template_and_a_tenant_are_kept_apart_whatever_they_hold() -> None:
    assert cache_key("a\0b", tenant="c") != cache_key("a", tenant="b\0c")
    assert cache_key("a\0", tenant="b") != cache_key("a", tenant="\0b")


@pytest.mark.parametrize("rate", [math.nan, math.inf, -math.inf, -1, "15", True])
def test_a_rate_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(ConversationError, match="is no rate of requests a minute"):
        cache_key("support", requests_per_minute=rate)
