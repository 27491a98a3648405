"""Answers of models, as the providers' SDKs deliver them."""

from __future__ import annotations

from typing import Any

ARGUMENTS = '{"path": "src/app.py", "n": 1.0, "edits": [{"new": "\\u00e9 8081", "old": "8080"}]}'


def openai_completion(content: str | None = "Right away.", *calls: tuple[str, str, str]) -> Any:
    from openai.types.chat import ChatCompletion

    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None, "annotations": []}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ]
    return ChatCompletion.model_validate(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}],
        }
    )


def anthropic_message(*blocks: dict[str, Any]) -> Any:
    from anthropic.types import Message

    return Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": list(blocks),
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
    )


def responses_output(*items: dict[str, Any]) -> Any:
    from openai.types.responses import Response

    return Response.model_validate(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1.0,
            "model": "m",
            "output": list(items),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    )
