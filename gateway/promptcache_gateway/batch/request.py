"""One line of a batch: OpenAI's batch form, or a bare request body. The body's bytes are kept as they are.

Which requests a file holds, and where, is `index`'s business.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.batch.errors import InputError
from promptcache_gateway.diagnose.exchange import is_request
from promptcache_gateway.upstreams.splice import member_value

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATH = re.compile(r"/(?!/)[A-Za-z0-9._~/-]{1,200}")
_FORM = ("custom_id", "method", "url")
_OWN_TO_ANTHROPIC = ("system", "anthropic_version", "thinking", "stop_sequences")


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A request of a batch.

    Attributes:
        custom_id: its caller's name for it; ``line-N`` where the line has none.
        path: where it is posted, ``/v1/chat/completions``.
        body: the bytes that are sent.
        payload: the same, decoded.
    """

    custom_id: str
    path: str
    body: bytes
    payload: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model it names, "" where it names none."""
        return str(self.payload.get("model") or "")

    @property
    def streams(self) -> bool:
        """Whether its answer comes as events."""
        return self.payload.get("stream") is True

    def fingerprint(self) -> bytes:
        """16 bytes that differ where name, path or body do."""
        label = f"{self.custom_id}\0{self.path}\0".encode("utf-8", "surrogatepass")
        return blake2b(label + self.body, digest_size=16).digest()


def read_request(line: bytes, number: int, place: str, endpoint: str | None = None) -> BatchRequest:
    """The request on a line.

    Args:
        line: its bytes, without the end of the line.
        number: its number from 1.
        place: the file's name, for messages.
        endpoint: where bare bodies go; None: what their members tell.

    Raises:
        InputError: it holds none.
    """
    value = _decode(line, number, place)
    if not isinstance(value, dict):
        raise InputError(place, "is no JSON object.", line=number)
    if isinstance(value.get("body"), dict) and any(name in value for name in _FORM):
        body: Mapping[str, Any] = value["body"]
        path = value.get("url") or endpoint or path_of(body)
        found = BatchRequest(_id(value, number, place), _checked(path, number, place), b"", body)
        if str(value.get("method") or "POST").upper() != "POST":
            raise InputError(place, f"the method is {value['method']!r}, not POST.", line=number)
        return BatchRequest(found.custom_id, found.path, member_value(line, "body"), body)
    if not is_request(value):
        raise InputError(
            place,
            "holds neither a batch request nor a request body.",
            line=number,
            remedy="Write {custom_id, method, url, body}, or a body with messages, input or prompt.",
        )
    return BatchRequest(f"line-{number}", endpoint or path_of(value), line, value)


def path_of(body: Mapping[str, Any]) -> str:
    """Where a bare body belongs: Anthropic's messages where it has a member only those have.

    >>> path_of({"messages": []}), path_of({"input": "x"}), path_of({"system": "s", "messages": []})
    ('/v1/chat/completions', '/v1/responses', '/v1/messages')
    """
    if "messages" in body:
        tools = body.get("tools")
        theirs = isinstance(tools, list) and any(isinstance(t, dict) and "input_schema" in t for t in tools)
        return (
            "/v1/messages"
            if theirs or any(name in body for name in _OWN_TO_ANTHROPIC)
            else "/v1/chat/completions"
        )
    return "/v1/completions" if "prompt" in body else "/v1/responses"


def decode_lenient(text: bytes) -> Any:
    """JSON as other writers let it through (NaN, lone surrogates); raises ValueError or RecursionError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text.decode("utf-8-sig", "surrogatepass"))  # of bytes it would guess UTF-16 too


def _decode(line: bytes, number: int, place: str) -> Any:
    try:
        return decode_lenient(line)
    except (ValueError, RecursionError):
        raise InputError(place, "is no JSON.", line=number) from None


def _id(value: Mapping[str, Any], number: int, place: str) -> str:
    name = value.get("custom_id", f"line-{number}")
    if not isinstance(name, str) or not name:
        raise InputError(place, "custom_id is no text.", line=number)
    return name


def _checked(path: object, number: int, place: str) -> str:
    """A path on the server that was named: a whole URL could lead the key elsewhere."""
    if not isinstance(path, str) or not _PATH.fullmatch(path) or ".." in path:
        raise InputError(
            place,
            f"url is {str(path)[:80]!r}.",
            line=number,
            remedy="Write a path such as /v1/chat/completions; the server is --upstream.",
        )
    return path
