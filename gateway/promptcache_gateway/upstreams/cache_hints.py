"""What the gateway knows of a call that helps the engine to decide which cached pages to keep.

Plain values: putting them into the engine's own words is `local`'s. They are advice and change no answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptcache_gateway.exchange import Call


def hints_of(call: Call) -> dict[str, Any]:
    """Return the template's name, the turn of the conversation, and whether a tool's result led to it.

    ``turn`` counts the model's answers so far and this one; it is None for a bare prompt, where the cache
    finds out by itself. ``after_tool_call``: the turn before ended in a tool call, so that it is a machine
    that goes on, and soon.
    """
    messages = _messages(call.payload)
    turn = 1 + sum(_role(message) == "assistant" for message in messages) if messages else None
    after_tool_call = bool(messages) and _is_tool_result(messages[-1])
    return {"template": call.template or "", "turn": turn, "after_tool_call": after_tool_call}


def _messages(payload: Mapping[str, Any]) -> Sequence[Any]:
    messages = payload.get("messages")
    return messages if isinstance(messages, list) else ()


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _is_tool_result(message: Any) -> bool:
    """A message of OpenAI's tool role, or one of Anthropic's that carries a tool's result."""
    if _role(message) in {"tool", "function"}:
        return True
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else ()
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)
