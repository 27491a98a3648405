"""What a response says about itself: the diagnosis as headers, as an SSE comment, or in the JSON body.

All three carry the same summary. It never holds prompt text, and a value that is not known is
absent rather than zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.upstreams.base import RawHeaders

_HEADER_FIELDS = ("request_id", "template", "cached_tokens", "prompt_tokens", "cause", "path")
_DIAGNOSIS_FIELDS = ("cause", "path", "char_offset", "lost_tokens", "lost_usd", "remedy", "attribution")
_USAGE_FIELDS = ("cached_tokens", "prompt_tokens")
# Everything printable in ASCII stays as it is; the rest is percent-encoded, so that a header can hold it.
_SAFE = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~ "
_MAX_HEADER_VALUE = 256


def preview_summary(
    request_id: str, template: str | None, diagnosis: Mapping[str, Any], engine: EngineFacts | None
) -> dict[str, Any]:
    """What is known before the first byte of the answer."""
    summary: dict[str, Any] = {"request_id": request_id, "template": template}
    if engine is not None:
        summary["cached_tokens"] = engine.cached_tokens
        summary["prompt_tokens"] = engine.prompt_tokens
    summary |= {field: diagnosis.get(field) for field in _DIAGNOSIS_FIELDS}
    return _known(summary)


def final_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is known at the end; ``record`` as ``GET requests/{id}`` shows it."""
    usage = record["usage"]
    diagnosis = record["diagnosis"]
    summary = {"request_id": record["id"], "template": record["template"]}
    summary |= {field: usage.get(field) for field in _USAGE_FIELDS}
    summary |= {field: diagnosis.get(field) for field in _DIAGNOSIS_FIELDS}
    return _known(summary)


def as_headers(summary: Mapping[str, Any]) -> RawHeaders:
    """The summary's head as ``x-promptcache-*`` headers, in printable ASCII."""
    return [
        (b"x-promptcache-" + field.replace("_", "-").encode(), _header_value(summary[field]))
        for field in _HEADER_FIELDS
        if field in summary
    ]


def as_comment(summary: Mapping[str, Any]) -> bytes:
    """The summary as a server-sent comment, which clients ignore."""
    return b": promptcache " + orjson.dumps(summary) + b"\n\n"


def into_body(body: bytes, summary: Mapping[str, Any]) -> bytes:
    """The JSON object with a last member ``promptcache``; no other byte changes.

    A body that is not a JSON object comes back as it is.
    """
    text = body.rstrip()
    if not text.startswith(b"{") or not text.endswith(b"}"):
        return body
    head = text[:-1].rstrip()
    comma = b"" if head == b"{" else b","
    return head + comma + b'"promptcache":' + orjson.dumps(summary) + body[len(text) - 1 :]


def _header_value(value: object) -> bytes:
    text = str(value)
    if text.isascii() and text.isprintable():
        return text[:_MAX_HEADER_VALUE].encode("ascii")
    return quote(text, safe=_SAFE)[:_MAX_HEADER_VALUE].encode("ascii")


def _known(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in summary.items() if value is not None}
