"""A chat completion's answer as an object of OpenAI's Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.translate.chat_forms import plain
from promptcache_gateway.translate.counts import responses_usage
from promptcache_gateway.translate.message_answers import thought_of
from promptcache_gateway.translate.response_items import (
    NO_ARGUMENTS,
    SAID,
    call_item,
    message_item,
    text_part,
    thought_item,
    thought_part,
)
from promptcache_gateway.translate.seals import sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_gateway.exchange import Call

    Keep = Callable[[Mapping[str, Any]], bool]
    """Keeps a whole response; False where it is not kept."""

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
# What the answer repeats of the request, with what the API says where the caller said nothing.
_REPEATED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None},
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}


def response_frame(call: Call, name: str) -> dict[str, Any]:
    """The response of a call before there is any output."""
    said = call.payload
    repeated = {
        field: said[field] if said.get(field) is not None else default for field, default in _REPEATED.items()
    }
    goes_on = call.continuation
    return {
        "id": name,
        "object": "response",
        "created_at": int(call.received_at),
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": call.model,
        "output": [],
        "previous_response_id": None if goes_on is None else goes_on.previous,
        "store": goes_on is not None and goes_on.stores,
        **repeated,
        "usage": None,
    }


def to_response(
    answer: Mapping[str, Any],
    frame: Mapping[str, Any],
    keep: Keep | None = None,
    *,
    signed: bool = False,
    usage: Usage | None = None,
) -> dict[str, Any]:
    """A whole answer.

    Args:
        answer: the chat completion.
        frame: the call's `response_frame`.
        keep: keeps the answer.
        signed: what was thought has signatures, which the response takes along.
        usage: what it used, as its upstream means it; else what it says itself.
    """
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    said = choice.get("message")
    message = plain(said) if isinstance(said, dict) else {}
    suffix = str(frame["id"]).removeprefix("resp_")
    output: list[dict[str, Any]] = []
    blocks = message.get("thinking_blocks") if signed else None
    if (thought := thought_of(message)) or blocks:
        seal = {"encrypted_content": sealed(blocks)} if blocks else {}
        output.append({**thought_item(f"rs_{suffix}", [thought_part(thought)]), **seal})
    parts = [SAID[kind].part(text) for kind, text in said_in(message)]
    if parts or not message.get("tool_calls"):
        output.append(message_item(f"msg_{suffix}", parts or [text_part("")]))
    output += _calls(message, suffix, choice.get("finish_reason"))
    model = answer.get("model") or frame["model"]
    ended = finished({**frame, "model": model}, output, choice.get("finish_reason"))
    ended |= {name: ids for name, ids in token_ids(answer, choice) if ids is not None}
    return kept({**ended, "usage": responses_usage(usage or Usage.from_response(answer))}, keep)


def _calls(message: Mapping[str, Any], suffix: str, reason: object) -> list[dict[str, Any]]:
    """The items of a message's calls; one that was cut off before its arguments has none."""
    items = []
    calls = message.get("tool_calls") or []
    for number, call in enumerate(calls):
        function = call.get("function") or {}
        cut = number == len(calls) - 1 and last_status(reason) == "incomplete"
        arguments = function.get("arguments") or ("" if cut else NO_ARGUMENTS)
        item = call_item(f"fc_{suffix}_{number}", call.get("id"), function.get("name"))
        items.append({**item, "arguments": arguments, "status": "completed"})
    return items


def said_in(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a chat's message, or a piece of one, says, and what it says instead, each with its part's type."""
    told = (("output_text", message.get("content")), ("refusal", message.get("refusal")))
    return [(kind, text) for kind, text in told if isinstance(text, str) and text]


def token_ids(
    answer: Mapping[str, Any], choice: Mapping[str, Any]
) -> tuple[tuple[str, list[int] | None], ...]:
    """The ids of prompt and answer by name, where the upstream gives them; of an answer, or of one chunk."""
    return ("prompt_token_ids", answer.get("prompt_token_ids")), ("token_ids", choice.get("token_ids"))


def finished(frame: Mapping[str, Any], output: list[dict[str, Any]], reason: object) -> dict[str, Any]:
    """The response once its output is there; ``reason`` is the chat completion's finish reason."""
    missing = _INCOMPLETE.get(str(reason))
    if output and missing is not None:
        output = [*output[:-1], {**output[-1], "status": last_status(reason)}]
    return {
        **frame,
        "status": "completed" if missing is None else "incomplete",
        "incomplete_details": None if missing is None else {"reason": missing},
        "output": output,
    }


def last_status(reason: object) -> str:
    """The status of a response's last item, which is what was being written when it ended."""
    return "incomplete" if str(reason) in _INCOMPLETE else "completed"


def kept(response: dict[str, Any], keep: Keep | None) -> dict[str, Any]:
    """The response once it is kept where it should be; ``store`` says whether it is."""
    stored = keep is not None and response["store"] and keep(response)
    return response if stored == response["store"] else {**response, "store": stored}
