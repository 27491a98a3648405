"""An answer as a line of OpenAI's batch output, and such a line read again.

The body stands there as the server wrote it: only the ends of lines between its tokens become spaces, since
a line has none. What is no JSON object, a stream's events for one, stands there as a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.batch.request import decode_lenient

_PREFIX = "batch_req_"
_FINGERPRINT = re.compile(rf"{_PREFIX}([0-9a-f]{{32}})")
_BREAKS = bytes.maketrans(b"\r\n", b"  ")
_DONE = "[DONE]"
_ENDS = {
    "/completions": frozenset({_DONE}),
    "/messages": frozenset({"message_stop"}),
    "/responses": frozenset({"response.completed", "response.failed", "response.incomplete"}),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered.

    Attributes:
        status: the HTTP status.
        body: the whole body, decompressed.
        request_id: the server's name for the exchange, or None.
    """

    status: int
    body: bytes
    request_id: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it is the answer that was asked for."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer: a short stable ``code``, and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of an output file.

    Attributes:
        custom_id: whose answer it is.
        fingerprint: the 16 bytes of the request it answers, b"" where the line is not ours.
        succeeded: whether it is the answer that was asked for.
        usage: what it cost, `Usage.unreported` where it does not say.
        model: the model that answered, "" where it is not said.
    """

    custom_id: str
    fingerprint: bytes
    succeeded: bool
    usage: Usage
    model: str


def write_line(custom_id: str, fingerprint: bytes, outcome: Answer | Failure) -> bytes:
    """The output line of a request, its end included."""
    name = f"{_PREFIX}{fingerprint.hex()}"
    if isinstance(outcome, Failure):
        error = {"code": outcome.code, "message": outcome.message}
        response, failed = b"null", orjson.dumps(error)
    else:
        request_id = orjson.dumps(outcome.request_id)
        response, failed = (
            b'{"status_code":%d,"request_id":%s,"body":%s}'
            % (outcome.status, request_id, _embedded(outcome.body)),
            b"null",
        )
    return b'{"id":"%s","custom_id":%s,"response":%s,"error":%s}\n' % (
        name.encode(),
        _text(custom_id),
        response,
        failed,
    )


def read_line(line: bytes) -> Noted | None:
    """What an output line says; None where it is none."""
    try:
        value = decode_lenient(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not {"id", "custom_id", "response", "error"} <= value.keys():
        return None
    custom_id, response = value["custom_id"], value["response"]
    found = _FINGERPRINT.fullmatch(str(value["id"]))
    if not isinstance(custom_id, str) or not (response is None or isinstance(response, dict)):
        return None
    status = (response or {}).get("status_code")
    body = (response or {}).get("body")
    usage, model = counted(body)
    return Noted(
        custom_id,
        bytes.fromhex(found[1]) if found else b"",
        isinstance(status, int) and 200 <= status < 300 and value["error"] is None,
        usage,
        model,
    )


def counted(body: object) -> tuple[Usage, str]:
    """The usage and the model of a body: decoded, or the text of a stream's events."""
    try:
        if isinstance(body, str):
            return Usage.from_stream(body.splitlines()), ""
        if isinstance(body, Mapping):
            return Usage.from_response(body), _model(body)
    except (ValueError, TypeError, RecursionError):
        pass
    return Usage.unreported(), ""


def torn(path: str, body: bytes) -> str | None:
    """What is wrong with a stream's events, as a sentence; None where they are whole.

    A path whose streams end in a way that is not known here is judged by its error events alone.

    >>> torn("/v1/chat/completions", b"data: {}\\n\\ndata: [DONE]\\n\\n")
    >>> torn("/v1/messages", b'event: message_start\\ndata: {"type":"message_start"}\\n\\n')
    'The stream of the answer has no end.'
    """
    ends = next((ends for tail, ends in _ENDS.items() if path.rstrip("/").endswith(tail)), None)
    kinds = {_event_kind(line[5:].strip()) for line in body.splitlines() if line.startswith(b"data:")}
    if "error" in kinds:
        return "The stream of the answer holds an error."
    return "The stream of the answer has no end." if ends is not None and not ends & kinds else None


def _event_kind(data: bytes) -> str:
    if data == _DONE.encode():
        return _DONE
    try:
        value = decode_lenient(data)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    return "error" if value.get("error") else str(value.get("type"))


def _model(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    return model if isinstance(model, str) else ""


def _embedded(body: bytes) -> bytes:
    try:
        if isinstance(decode_lenient(body), dict):
            return body.strip().translate(_BREAKS)
    except (ValueError, RecursionError):
        pass
    return orjson.dumps(body.decode("utf-8", "replace"))


def _text(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except orjson.JSONEncodeError:  # a lone surrogate, as json.loads lets it through
        import json  # noqa: PLC0415 - hardly ever

        return json.dumps(text).encode()
