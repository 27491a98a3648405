"""A chat completion's chunks as the events of OpenAI's Responses API."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from promptcache_gateway.translate.chat_forms import begins_another, plain
from promptcache_gateway.translate.counts import responses_usage
from promptcache_gateway.translate.events import named_event
from promptcache_gateway.translate.joined import Joined
from promptcache_gateway.translate.message_answers import thought_of
from promptcache_gateway.translate.response_answers import finished, kept, last_status, said_in, token_ids
from promptcache_gateway.translate.response_items import NO_ARGUMENTS, SAID, call_item
from promptcache_gateway.translate.seals import sealed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache.usage import Usage
    from promptcache_gateway.errors import ApiError
    from promptcache_gateway.translate.response_answers import Keep

_ITEM, _ID = 200, 8


class ResponseEvents:
    """Translates a chat completion's chunks into a response's events.

    Attributes:
        held: characters that were gathered for the last event, each item a few more.
    """

    def __init__(self, frame: Mapping[str, Any], keep: Keep | None = None, *, signed: bool = False) -> None:
        """The arguments are those of `to_response`."""
        self._frame = dict(frame)
        self._keep = keep
        self._signed = signed
        self._seals: dict[int, list[Any]] = {}  # the blocks of what was thought, by the item's place
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
            if self._signed and (blocks := delta.get("thinking_blocks")):
                out.append(self._seal(blocks))
            out.extend(self._piece(kind, text) for kind, text in said_in(delta))
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
        return self._event("error", code=error.code, message=error.message, param=error.param)

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

    def _seal(self, blocks: list[dict[str, Any]]) -> bytes:
        """Keep what was thought as it is signed, for the item that tells it."""
        out = self._ready("reasoning_text")
        self._seals.setdefault(self._open_at, []).extend(blocks)
        self.held += sum(len(text) for block in blocks for text in block.values() if isinstance(text, str))
        return out

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
        if at in self._seals:
            item["encrypted_content"] = sealed(self._seals.pop(at))
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
        at = self._calls[number]
        self._output[at]["name"] = self._output[at]["name"] or name or ""
        arguments = function.get("arguments")
        if isinstance(arguments, str) and arguments:
            out += self._arguments(at, arguments)
        return out

    def _arguments(self, at: int, text: str) -> bytes:
        self._gather(at, text)
        place = {"item_id": self._output[at]["id"], "output_index": at}
        return self._event("response.function_call_arguments.delta", **place, delta=text)

    def _close_call(self, at: int, status: str) -> bytes:
        item = self._output[at]
        item["status"] = status
        out = b"" if self._pieces[at] or status == "incomplete" else self._arguments(at, NO_ARGUMENTS)
        item["arguments"] = self._gathered(at)
        return (
            out
            + self._event(
                "response.function_call_arguments.done",
                item_id=item["id"],
                output_index=at,
                name=item["name"],
                arguments=item["arguments"],
            )
            + self._event("response.output_item.done", output_index=at, item=item)
        )
