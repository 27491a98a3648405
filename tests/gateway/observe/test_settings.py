"""What is remembered of a request's fields is all that a comparison asks for, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.settings import ASKING, KEPT_ELSEWHERE, parameters_of
from tests.gateway.observe.scenes import Stage, chat, rules_text


@pytest.mark.parametrize("name", sorted(KEPT_ELSEWHERE | ASKING | {"prompt_cache_key", "text", "betas"}))
def test_what_is_asked_for_is_remembered(name: str) -> None:
    assert parameters_of({"model": "m", name: "x", "messages": []}) == {"model": "m", name: "x"}


def test_what_nobody_asks_for_is_not() -> None:
    body = chat("Be kind.", "a", metadata={"a": 1}, user="u", x=[1], functions=[{"name": "f"}], tools=[])
    assert read_prompt(body, Masker()).parameters == {"model": "model-a"}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("reasoning_effort", "low", "high"),
        ("response_format", {"type": "x" * 90_000}, {"type": "x" * 89_999 + "y"}),
        ("service_tier", "flex", "priority"),
        ("chat_template_kwargs", {"enable_thinking": True}, {"enable_thinking": False}),
    ],
)
def test_a_changed_setting_is_the_cause_however_large_it_is(name: str, before: Any, after: Any) -> None:
    stage = Stage()
    talk = [
        rules_text(),
        "Where is my order, please?",
        "It is on its way to you.",
        "And when will it be here?",
    ]
    stage.send(chat(*talk[:2], **{name: before}, metadata={"n": "z"}))
    stage.provider.stored.clear()

    record = stage.send(chat(*talk, **{name: after}, metadata={"n": "zz"}))

    assert record.diagnosis.cause == "PC504"
