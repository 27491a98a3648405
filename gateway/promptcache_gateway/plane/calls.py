"""From a received request to a `Call`: the few things the gateway itself must know of it.

Only what decides about routing and recording is read here. Whether the request makes sense is the
upstream's business, since a foreign server may know more than we do.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import invalid_request
from promptcache_gateway.exchange import Call, Change
from promptcache_gateway.known_headers import once
from promptcache_gateway.upstreams.splice import has_member, remove_from_each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.upstreams.base import RawHeaders

MAX_TEMPLATE_NAME = 128
MAX_MODEL_NAME = 1_024
_METADATA, _TEMPLATE = "metadata", "promptcache_template"
_NAMED = Change("template", (f"{_METADATA}.{_TEMPLATE}",))
_MAX_TRACE = 128


class RequestIds:
    """Makes request ids: ``pcr_`` and 24 random hexadecimal digits.

    They need to be distinct, not secret, so that no system call is spent on each.
    """

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - not a secret

    def next(self) -> str:
        """An id that no other request has."""
        return f"pcr_{self._random.getrandbits(96):024x}"


def make_call(
    body: bytes,
    payload: Mapping[str, Any],
    headers: RawHeaders,
    *,
    request_id: str,
    path: str,
    dialect: Dialect,
    tenant: str,
    upstream: str,
    model: str | None = None,
    key_id: str | None = None,
) -> Call:
    """Make the call of one request; ``model`` is its name at the upstream, None: the caller's.

    Its body is the caller's, without the template's name where it stands there: no upstream is to see it.
    ``key_id`` is the id of the key that was shown, None where it is none of the file's.

    Raises:
        ApiError: 400 where ``stream`` is not a boolean, or a header of ours wrong.
    """
    stream = payload.get("stream")
    if stream is not None and not isinstance(stream, bool):
        raise invalid_request("Invalid value for 'stream': expected true or false.", "stream", "invalid_type")
    own, trace = once(headers, _of_ours, _of_ours)
    template = _template_name(own, payload) if own or _METADATA in payload else None
    changes: tuple[Change, ...] = ()
    if _METADATA in payload and _may_name_template(body, payload):
        cleaned = remove_from_each(body, _METADATA, _TEMPLATE)
        if cleaned != body:
            body, payload, changes = cleaned, _without_template(cleaned, payload), (_NAMED,)
    return Call(
        id=request_id,
        received_at=time.time(),
        dialect=dialect,
        path=path,
        body=body,
        payload=payload,
        model=model_of(payload) if model is None else model,
        stream=bool(stream),
        tenant=tenant,
        template=template,
        upstream=upstream,
        use_cache=not own or _use_cache(own),
        want_body=bool(own) and own.get(b"x-promptcache-diagnose", b"").strip().lower() == b"body",
        key_id=key_id,
        changes=changes,
        trace=trace,
    )


def model_of(payload: Mapping[str, Any]) -> str:
    """The body's ``model``, empty where there is none; raises `ApiError` 400 where it is no name."""
    model = payload.get("model")
    if model is not None and not isinstance(model, str):
        raise invalid_request("Invalid value for 'model': expected a string.", "model", "invalid_type")
    if model and len(model) > MAX_MODEL_NAME:  # it is kept with every request's record
        message = f"Invalid value for 'model': a name has at most {MAX_MODEL_NAME:,} characters."
        raise invalid_request(message, "model", "invalid_value")
    return model or ""


def _of_ours(headers: RawHeaders) -> tuple[dict[bytes, bytes], str | None]:
    """The gateway's own headers, and the trace the caller is in (W3C Trace Context).

    Whether that is well-formed is found out by its users.
    """
    own: dict[bytes, bytes] = {}
    trace = None
    for name, value in headers:
        if name[:2] == b"x-" and name.startswith(b"x-promptcache-"):
            own[name] = value
        elif trace is None and name == b"traceparent":
            trace = value[:_MAX_TRACE].decode("latin-1")
    return own, trace


def _use_cache(own: Mapping[bytes, bytes]) -> bool:
    said = own.get(b"x-promptcache-cache", b"on").strip().lower()
    if said not in {b"on", b"off"}:
        raise invalid_request(
            "Invalid value for the header 'x-promptcache-cache': expected 'on' or 'off'.",
            "x-promptcache-cache",
            "invalid_value",
        )
    return said == b"on"


def _template_name(own: Mapping[bytes, bytes], payload: Mapping[str, Any]) -> str | None:
    """The name in the header, else in ``metadata.promptcache_template``; control characters removed."""
    header = own.get(b"x-promptcache-template")
    if header is not None:
        name: object = header.decode("utf-8", "replace")
    else:
        metadata = payload.get(_METADATA)
        name = metadata.get(_TEMPLATE) if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        return None
    printable = "".join(char for char in name if char.isprintable()).strip()
    return printable[:MAX_TEMPLATE_NAME] or None


def _may_name_template(body: bytes, payload: Mapping[str, Any]) -> bool:
    """Whether our own member stands in the body's ``metadata``, or may stand in one before the last."""
    metadata = payload[_METADATA]
    if isinstance(metadata, dict) and _TEMPLATE in metadata:
        return True
    return body.count(_METADATA.encode()) > 1 and _TEMPLATE.encode() in body


def _without_template(body: bytes, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload as the cleaned body says it."""
    metadata = payload[_METADATA]
    rest = {name: value for name, value in payload.items() if name != _METADATA}
    if not has_member(body, _METADATA):
        return rest
    if isinstance(metadata, dict):
        metadata = {name: value for name, value in metadata.items() if name != _TEMPLATE}
    return {**payload, _METADATA: metadata}
