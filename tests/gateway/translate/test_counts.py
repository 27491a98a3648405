"""What was thought is told in each API's convention, as the upstream told it, and made up nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from promptcache.usage import Usage
from promptcache_gateway.translate.counts import anthropic_usage, openai_usage, responses_usage

CHAT = {"prompt_tokens": 9, "completion_tokens": 7}
MESSAGE = {"input_tokens": 9, "output_tokens": 7}


@pytest.mark.parametrize(
    ("raw", "thought"),
    [
        (CHAT | {"completion_tokens_details": {"reasoning_tokens": 3}}, 3),
        (CHAT | {"completion_tokens_details": {"reasoning_tokens": 0}}, 0),
        (CHAT | {"completion_tokens_details": {"reasoning_tokens": None}, "reasoning_tokens": 2}, 2),
        (MESSAGE | {"output_tokens_details": {"thinking_tokens": 4}}, 4),
        (CHAT, None),
        (CHAT | {"completion_tokens_details": None}, None),
        (CHAT | {"completion_tokens_details": {"reasoning_tokens": True}}, None),
        (CHAT | {"completion_tokens_details": [{"reasoning_tokens": 1}], "reasoning_tokens": -1}, None),
        (MESSAGE, None),
    ],
)
def test_thought_tokens(raw: dict[str, Any], thought: int | None) -> None:
    usage = Usage.from_response({"usage": raw})
    again = Usage.from_response({"usage": openai_usage(usage)})  # as a response over a message takes it
    for known in (usage, again):
        assert anthropic_usage(known).get("output_tokens_details", {}).get("thinking_tokens") == thought
        assert openai_usage(known).get("completion_tokens_details", {}).get("reasoning_tokens") == thought
        assert responses_usage(known)["output_tokens_details"] == {"reasoning_tokens": thought or 0}
        assert known.output == 7
