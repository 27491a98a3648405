"""What a response says about itself: the diagnosis as headers, as an SSE comment, or in the JSON body.

All three carry the same summary. It never holds prompt text, and a value that is not known is
absent rather than zero.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.observe.diagnosis import Diagnosis, Draft
    from promptcache_gateway.observe.ending import Ended
    from promptcache_gateway.upstreams.base import RawHeaders

_HEADER_FIELDS = (
    "request_id",
    "template",
    "cached_tokens",
    "prompt_tokens",
    "cause",
    "path",
    "char_offset",
    "lost_tokens",
    "remedy",
    "mutations",
)
HEADERS = tuple((field, b"x-promptcache-" + field.replace("_", "-").encode()) for field in _HEADER_FIELDS)
"""Every field that is told in a header, and its name."""
_NAMES = dict(HEADERS)
_REPEATED = frozenset(_HEADER_FIELDS) - {"request_id", "mutations"}
"""Those whose values are the same in many answers."""

# Everything printable in ASCII stays as it is; the rest is percent-encoded, so that a header can hold it.
_SAFE = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~ "
_MAX_HEADER_VALUE = 256
_COUNTED = ("request_id", "template", "cached_tokens", "prompt_tokens")
_ISOLATED, _FIRST = "PC808", "PC801"


def preview_summary(
    request_id: str, template: str, diagnosis: Diagnosis | Draft, engine: EngineFacts | None
) -> dict[str, Any]:
    """What is known before the first byte of the answer."""
    cached = None if engine is None else engine.cached_tokens
    prompt = None if engine is None else engine.prompt_tokens
    return _summary(request_id, template, cached, prompt, diagnosis)


def final_summary(ended: Ended) -> dict[str, Any]:
    """What is known at the end."""
    engine, call = ended.outcome.engine, ended.observation.call
    if engine is not None:
        cached, prompt = engine.cached_tokens, engine.prompt_tokens
        return _summary(call.id, ended.template, cached, prompt, ended.diagnosis)
    usage = ended.outcome.usage
    return _summary(call.id, ended.template, usage.cache_read, usage.total_input, ended.diagnosis)


def without_isolation(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary for a tenant: that another one's request left this prefix in a cache is not theirs to know.

    To them it was the first request with it.
    """
    if summary.get("cause") != _ISOLATED:
        return summary
    shown = {field: summary[field] for field in _COUNTED if field in summary}
    return {**shown, "cause": _FIRST, "attribution": "expected"}


def as_headers(summary: Mapping[str, Any]) -> RawHeaders:
    """The summary's head as ``x-promptcache-*`` headers, in printable ASCII."""
    headers: RawHeaders = []
    if "request_id" in summary:
        headers.append((_NAMES["request_id"], summary["request_id"].encode()))
    # What is not known is not in it.
    headers += [(_NAMES[field], _told(value)) for field, value in summary.items() if field in _REPEATED]
    if "mutations" in summary:
        headers.append((_NAMES["mutations"], _told(", ".join(summary["mutations"]))))
    return headers


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


@lru_cache(maxsize=1_024)
def _told(value: str | int) -> bytes:
    text = str(value).replace("\N{HORIZONTAL ELLIPSIS}", "...")
    if text.isascii() and text.isprintable():
        return text[:_MAX_HEADER_VALUE].encode("ascii")
    return quote(text, safe=_SAFE)[:_MAX_HEADER_VALUE].encode("ascii")


def _summary(
    request_id: str, template: str, cached: int | None, prompt: int | None, diagnosis: Diagnosis | Draft
) -> dict[str, Any]:
    known: dict[str, Any] = {"request_id": request_id, "template": template}
    if cached is not None:
        known["cached_tokens"] = cached
    if prompt is not None:
        known["prompt_tokens"] = prompt
    if diagnosis.cause is not None:
        known["cause"] = diagnosis.cause
    if diagnosis.path is not None:
        known["path"] = diagnosis.path
    if diagnosis.char_offset is not None:
        known["char_offset"] = diagnosis.char_offset
    if diagnosis.lost_tokens is not None:
        known["lost_tokens"] = diagnosis.lost_tokens
    if diagnosis.lost_usd is not None:
        known["lost_usd"] = diagnosis.lost_usd
    if diagnosis.remedy is not None:
        known["remedy"] = diagnosis.remedy
    known["attribution"] = diagnosis.attribution
    return known
