"""A chat completion's answer as an object of OpenAI's Responses API, whole or event by event."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.error_shapes import error_event
from promptcache_gateway.translate.chat_forms import begins_another, plain
from promptcache_gateway.translate.counts import responses_usage
from promptcache_gateway.translate.events import named_event
from promptcache_gateway.translate.joined import Joined
from promptcache_gateway.translate.message_answers import thought_of
from promptcache_gateway.translate.response_items import (
    SAID,
    call_item,
    message_item,
    text_part,
    thought_item,
    thought_part,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.exchange import Call

    Keep = Callable[[Mapping[str, Any]], bool]
    """Keeps a whole response; False where it is not kept."""

_ITEM, _ID = 200, 8
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
    answer: Mapping[str, Any], frame: Mapping[str, Any], keep: Keep | None = None
) -> dict[str, Any]:
    """A whole answer; ``frame`` is the call's `response_frame`, ``keep`` keeps the answer."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    said = choice.get("message")
    message = plain(said) if isinstance(said, dict) else {}
    suffix = str(frame["id"]).removeprefix("resp_")
    output: list[dict[str, Any]] = []
    if thought := thought_of(message):
        output.append(thought_item(f"rs_{suffix}", [thought_part(thought)]))
    parts = [SAID[kind].part(text) for kind, text in _said(message)]
    if parts or not message.get("tool_calls"):
        output.append(message_item(f"msg_{suffix}", parts or [text_part("")]))
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or {}
        item = call_item(f"fc_{suffix}_{number}", call.get("id"), function.get("name"))
        output.append({**item, "arguments": function.get("arguments") or "", "status": "completed"})
    model = answer.get("model") or frame["model"]
    ended = finished({**frame, "model": model}, output, choice.get("finish_reason"))
    ended |= {name: ids for name, ids in token_ids(answer, choice) if ids is not None}
    return kept({**ended, "usage": responses_usage(Usage.from_response(answer))}, keep)


def _said(message: Mapping[str, Any]) -> list[tuple[str, str]]:
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


class ResponseEvents:
    """Translates a chat completion's chunks into a response's events.

    Attributes:
        held: characters that were gathered for the last event, each item a few more.
    """

    def __init__(self, frame: Mapping[str, Any], keep: Keep | None = None) -> None:
        """``frame`` is the call's `response_frame`; ``keep`` keeps the whole answer."""
        self._frame = dict(frame)
        self._keep = keep
        self._suffix = str(frame["id"]).removeprefix("resp_")
        self._number = 0
        self._started = False
        self._output: list[dict[str, Any]] = []
        self._open_at = -1  # the place of the item of text or thought that has not ended
        self._calls: dict[int, int] = {}
        self._reason: object = None
        self._ids: dict[str, list[int]] = {}
        self._pieces: defaultdict[int, Joined] = defaultdict(
            Joined
        )  # of text or arguments, by the item's place
        self.held = 0

    def take(self, event: dict[str, Any]) -> bytes:
        """The events for one chunk."""
        out = [] if self._started else [self._start(event)]
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            for name, ids in token_ids(event, choice):
                if ids is not None:
                    self._ids.setdefault(name, []).extend(ids)
                    self.held += _ID * len(ids)
            delta = plain(choice.get("delta") or {})
            if thought := thought_of(delta):
                out.append(self._piece("reasoning_text", thought))
            out.extend(self._piece(kind, text) for kind, text in _said(delta))
            out.extend(self._call(call) for call in delta.get("tool_calls") or ())
            if choice.get("finish_reason") is not None:
                self._reason = choice["finish_reason"]
        return b"".join(out)

    def end(self, usage: Usage) -> bytes:
        """Open items closed, and the whole response once more with its usage."""
        out = [] if self._started else [self._start({})]
        status = last_status(self._reason)
        if all(item["type"] == "reasoning" for item in self._output):
            out.append(self._ready("output_text"))  # an answer without words is one, as it is told whole
        out.append(self._close_open(status))
        last = len(self._output) - 1
        out.extend(
            self._close_call(place, status if place == last else "completed")
            for place in sorted(self._calls.values())
        )
        response = finished(self._frame, self._output, self._reason) | self._ids
        response = kept({**response, "usage": responses_usage(usage)}, self._keep)
        out.append(self._event(f"response.{response['status']}", response=response))
        return b"".join(out)

    def fail(self, error: ApiError) -> bytes:
        """The error event of the Responses API."""
        return error_event(error, "openai.responses")

    def _event(self, kind: str, **fields: Any) -> bytes:
        payload = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return named_event(payload)

    def _start(self, event: Mapping[str, Any]) -> bytes:
        self._started = True
        self._frame["model"] = event.get("model") or self._frame["model"]
        return self._event("response.created", response=self._frame) + self._event(
            "response.in_progress", response=self._frame
        )

    def _piece(self, kind: str, text: str) -> bytes:
        """A piece of what is said or thought; what else was open ends."""
        out, said = self._ready(kind), SAID[kind]
        self._gather(self._open_at, text)
        return out + self._event(f"{said.event}.delta", **self._place(self._open_at), delta=text, **said.more)

    def _ready(self, kind: str) -> bytes:
        """Open a part of this kind where none is; what is said instead of an answer stands beside it."""
        said, out = SAID[kind], b""
        if self._open_at >= 0:
            item = self._output[self._open_at]
            if item["content"][-1]["type"] == kind:
                return b""
            out = self._close_part(self._open_at) if item["type"] == said.type else self._close_open()
        if self._open_at < 0:
            at = self._open_at = len(self._output)
            item = said.item(f"{said.prefix}_{self._suffix}_{at}", [], "in_progress")
            out += self._event("response.output_item.added", output_index=at, item=item)
            self._output.append(item)
            self.held += _ITEM
        part = said.part("")
        self._output[self._open_at]["content"].append(part)
        return out + self._event("response.content_part.added", **self._place(self._open_at), part=part)

    def _close_open(self, status: str = "completed") -> bytes:
        """End the item of text or thought that is open."""
        if self._open_at < 0:
            return b""
        at, self._open_at = self._open_at, -1
        out, item = self._close_part(at), self._output[at]
        item["status"] = status
        return out + self._event("response.output_item.done", output_index=at, item=item)

    def _close_part(self, at: int) -> bytes:
        """End the last part of an item."""
        part, place = self._output[at]["content"][-1], self._place(at)
        said = SAID[part["type"]]
        part[said.field] = self._gathered(at)
        return self._event(
            f"{said.event}.done", **place, **{said.field: part[said.field]}, **said.more
        ) + self._event("response.content_part.done", **place, part=part)

    def _gather(self, at: int, text: str) -> None:
        self._pieces[at].add(text)
        self.held += len(text)

    def _gathered(self, at: int) -> str:
        return self._pieces.pop(at, Joined()).text()

    def _place(self, at: int) -> dict[str, Any]:
        """Where the last part of an item is."""
        item = self._output[at]
        return {"item_id": item["id"], "output_index": at, "content_index": len(item["content"]) - 1}

    def _call(self, call: Mapping[str, Any]) -> bytes:
        number = call.get("index", 0)
        function = call.get("function") or {}
        out = b""
        before = self._calls.get(number)
        name = function.get("name")
        if before is None or begins_another(call.get("id"), name, self._output[before]["call_id"]):
            out = self._close_open()
            if before is not None:
                out += self._close_call(before, "completed")
            at = self._calls[number] = len(self._output)
            item = call_item(f"fc_{self._suffix}_{at}", call.get("id"), name)
            self._output.append(item)
            self.held += _ITEM
            out += self._event("response.output_item.added", output_index=at, item=item)
        arguments = function.get("arguments")
        if isinstance(arguments, str) and arguments:
            at = self._calls[number]
            self._gather(at, arguments)
            out += self._event(
                "response.function_call_arguments.delta",
                item_id=self._output[at]["id"],
                output_index=at,
                delta=arguments,
            )
        return out

    def _close_call(self, at: int, status: str) -> bytes:
        item = self._output[at]
        item["status"] = status
        item["arguments"] = self._gathered(at)
        return self._event(
            "response.function_call_arguments.done",
            item_id=item["id"],
            output_index=at,
            name=item["name"],
            arguments=item["arguments"],
        ) + self._event("response.output_item.done", output_index=at, item=item)
