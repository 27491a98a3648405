"""What stands beside another fault and is none: a question asked otherwise, a text in another shape."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.observe.scenes import Stage, chat, rules_text

RULES = rules_text(80)
TALK = [f"{rules_text(6, f'turn {number}')} So what of number {number}?" for number in range(12)]


def clocked(minute: int, *texts: str) -> dict[str, Any]:
    return chat(f"{RULES}\nTime: 2026-11-29T12:{minute:02}:07Z", *texts)


def test_a_branch_with_another_question_changed_no_history() -> None:
    stage = Stage()
    stage.send(clocked(1, *TALK[:4], "What about the invoice of the third order?"))
    found = stage.send(clocked(2, *TALK[:8], "And when does the mower come back?")).diagnosis
    assert found.cause == "PC101"
    assert "PC502" not in found.causes


def test_a_question_that_was_edited_before_going_on_did() -> None:
    stage = Stage()
    stage.send(clocked(1, *TALK[:4], TALK[4]))
    edited = TALK[4].replace("So what of", "So, tell me, what of")
    found = stage.send(clocked(2, *TALK[:4], edited, TALK[5], "And when does the mower come back?")).diagnosis
    assert {"PC101", "PC502"} <= set(found.causes)


def flipped(number: int, **parameters: Any) -> dict[str, Any]:
    """A history whose first message is a string once and a list then, as helpers that set marks leave it."""
    said: Any = TALK[0] if number else [{"type": "text", "text": TALK[0]}]
    talk = [{"role": "user", "content": said}, {"role": "assistant", "content": TALK[1]}]
    last = {"type": "text", "text": f"Question {number}?", "cache_control": {"type": "ephemeral"}}
    more = [{"role": "user", "content": TALK[2]}, {"role": "assistant", "content": TALK[3]}] * number
    system = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    messages = [*talk, *more, {"role": "user", "content": [last]}]
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "system": system,
        "messages": messages,
        **parameters,
    }


@pytest.mark.parametrize("parameters", [{}, {"tool_choice": {"type": "any"}}])
def test_a_shape_that_the_provider_reads_alike_blames_nobody(parameters: dict[str, Any]) -> None:
    stage = Stage()
    stage.send(flipped(0), dialect="anthropic.messages")
    found = stage.send(flipped(1, **parameters), dialect="anthropic.messages").diagnosis
    if parameters:
        assert "PC206" not in found.causes
    else:
        assert found.attribution in {"expected", "unknown"}
