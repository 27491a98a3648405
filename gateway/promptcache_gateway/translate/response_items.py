"""The items of a response's output and their parts, as OpenAI's Responses API writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


NO_ARGUMENTS = "{}"
"""The arguments of a call that came without: a response's are always JSON."""


def message_item(name: str, content: list[dict[str, Any]], status: str = "completed") -> dict[str, Any]:
    """An output item that holds text."""
    return {"id": name, "type": "message", "role": "assistant", "status": status, "content": content}


def text_part(text: str) -> dict[str, Any]:
    """A part of a message item."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def refusal_part(text: str) -> dict[str, Any]:
    """A part of a message item that holds what is said instead of an answer."""
    return {"type": "refusal", "refusal": text}


def thought_item(name: str, content: list[dict[str, Any]], status: str = "completed") -> dict[str, Any]:
    """An output item that holds what the model thought, as it said it: unsealed."""
    return {"id": name, "type": "reasoning", "summary": [], "status": status, "content": content}


def thought_part(text: str) -> dict[str, Any]:
    """A part of a reasoning item."""
    return {"type": "reasoning_text", "text": text}


def call_item(name: str, call_id: object, function: object) -> dict[str, Any]:
    """An output item that calls a function, before its arguments."""
    return {
        "id": name,
        "type": "function_call",
        "call_id": call_id or name,
        "name": function or "",
        "arguments": "",
        "status": "in_progress",
    }


@dataclass(frozen=True, slots=True)
class Said:
    """How one kind of text is called in events, and made.

    Attributes:
        type: the type of its item.
        prefix: what the id of its item begins with.
        event: what its events are called.
        item: makes the item from its id, parts and status.
        part: makes the part from its text.
        field: what the part calls its text.
        more: further fields of its events.
    """

    type: str
    prefix: str
    event: str
    item: Callable[[str, list[dict[str, Any]], str], dict[str, Any]]
    part: Callable[[str], dict[str, Any]]
    field: str
    more: Mapping[str, Any]


SAID = {
    "output_text": Said(
        "message", "msg", "response.output_text", message_item, text_part, "text", {"logprobs": []}
    ),
    "refusal": Said("message", "msg", "response.refusal", message_item, refusal_part, "refusal", {}),
    "reasoning_text": Said(
        "reasoning", "rs", "response.reasoning_text", thought_item, thought_part, "text", {}
    ),
}
"""By the type of the part."""
