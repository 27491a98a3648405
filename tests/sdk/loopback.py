"""A provider on loopback, for real clients: keeps every request, and answers in its API's form."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ARGUMENTS = '{"z": 1.0, "a": "é"}'


class Provider(ThreadingHTTPServer):
    """Answers with one call of the tool ``f`` while none was answered, then with a text.

    ``seen`` are path, headers and raw body of each request; ``gate``, when set, is waited for after the first
    event of a stream; ``fail`` is how many requests are refused first.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.gate: threading.Event | None = None
        self.fail = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.seen]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append((self.path, {k.lower(): v for k, v in self.headers.items()}, raw))
        body = json.loads(raw)
        if self.server.fail:
            self.server.fail -= 1
            self._whole({"error": {"message": "no", "type": "server_error"}}, status=400)
            return
        whole, events = _ANSWERS[self.path](body)
        if body.get("stream"):
            self._events(events)
        else:
            self._whole(whole)

    def _whole(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: list[Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for number, event in enumerate(events):
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
            if number == 0 and self.server.gate is not None:
                self.server.gate.wait(10)
        if "choices" in events[0]:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


def _chat(body: Any) -> tuple[Any, list[Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}}
    message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [call]}
    if any(one["role"] == "tool" for one in body["messages"]):
        message = {"role": "assistant", "content": "Done.\n"}
    base = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"]}
    whole = {**base, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": message["content"]}]
    if message.get("tool_calls"):
        deltas += [
            {"tool_calls": [{"index": 0, **call, "function": {"name": "f", "arguments": ""}}]},
            *({"tool_calls": [{"index": 0, "function": {"arguments": one}}]} for one in ARGUMENTS),
        ]
    base["object"] = "chat.completion.chunk"
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return whole, [*chunks, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def _messages(body: Any) -> tuple[Any, list[Any]]:
    block: dict[str, Any] = {"type": "tool_use", "id": "c1", "name": "f", "input": json.loads(ARGUMENTS)}
    if any(part["type"] == "tool_result" for one in body["messages"] for part in one["content"]):
        block = {"type": "text", "text": "Done.\n"}
    whole = {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [block],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": ARGUMENTS}
    return whole, [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]


def _responses(body: Any) -> tuple[Any, list[Any]]:
    item: dict[str, Any] = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f"}
    item |= {"arguments": ARGUMENTS, "status": "completed"}
    if any(one.get("type") == "function_call_output" for one in body["input"]):
        text = {"type": "output_text", "text": "Done.\n", "annotations": []}
        item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    whole = {
        "id": "resp",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": body["model"],
        "output": [item],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    return whole, [
        {"type": "response.created", "sequence_number": 0, "response": {**whole, "output": []}},
        {"type": "response.output_item.done", "sequence_number": 1, "output_index": 0, "item": item},
        {"type": "response.completed", "sequence_number": 2, "response": whole},
    ]


_ANSWERS: dict[str, Callable[[Any], tuple[Any, list[Any]]]] = {
    "/v1/chat/completions": _chat,
    "/v1/messages": _messages,
    "/v1/responses": _responses,
}


@contextmanager
def provider() -> Iterator[Provider]:
    """Run a provider while the context lasts."""
    server = Provider()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
