"""Which headers travel between a caller and a foreign upstream.

Everything passes but what belongs to one connection only, what the client library sets itself,
and the gateway's own headers.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.upstreams.base import RawHeaders

OWN_PREFIX = b"x-promptcache-"
ANTHROPIC_VERSION = "2023-06-01"
_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"trailers",
        b"transfer-encoding",
        b"upgrade",
    }
)
# The client library writes host and length; a body is decoded at the gateway's edge, and the answer
# is asked for as it is, since usage must be read in it.
_NOT_UPSTREAM = _HOP_BY_HOP | {b"host", b"content-length", b"content-encoding", b"accept-encoding", b"expect"}
_NOT_DOWNSTREAM = _HOP_BY_HOP | {b"content-length", b"date"}
_NOT_DOWNSTREAM_DECODED = _NOT_DOWNSTREAM | {b"content-encoding"}
_NO_TEXT = bytes({*range(0x20), 0x7F} - {0x09})  # no value may hold them (RFC 9110, 5.5)
_WHETHER_TO_STAY = frozenset({b"keep-alive", b"close"})
_NONE: frozenset[bytes] = frozenset()
_name, _value = itemgetter(0), itemgetter(1)
_CREDENTIALS = frozenset({b"authorization", b"x-api-key"})


def to_upstream(headers: RawHeaders, api_key: str | None) -> dict[str, str]:
    """The caller's headers as they go to a server of OpenAI's shape.

    Args:
        headers: as received, names in lower case.
        api_key: the upstream's key; it replaces whatever credentials the caller sent.
    """
    sent = _passing(headers, credentials=api_key is None)
    if api_key is not None:
        sent["authorization"] = f"Bearer {api_key}"
    elif "authorization" not in sent and "x-api-key" in sent:
        sent["authorization"] = f"Bearer {sent['x-api-key']}"
    return sent


def to_anthropic(headers: RawHeaders, api_key: str | None) -> dict[str, str]:
    """The caller's headers as they go to a server of Anthropic's shape.

    A caller of OpenAI's API has no ``anthropic-version`` and shows its key as a bearer token; both are put
    right. A bearer token beside ``anthropic-version`` is an OAuth token and stays one.

    Args:
        headers: as received, names in lower case.
        api_key: the upstream's key; it replaces whatever credentials the caller sent.
    """
    sent = _passing(headers, credentials=api_key is None)
    if api_key is not None:
        sent["x-api-key"] = api_key
    elif "anthropic-version" not in sent and "x-api-key" not in sent:
        scheme, _, token = sent.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            del sent["authorization"]
            sent["x-api-key"] = token.strip()
    sent.setdefault("anthropic-version", ANTHROPIC_VERSION)
    return sent


def _passing(headers: RawHeaders, *, credentials: bool) -> dict[str, str]:
    """What passes to any upstream, with the caller's credentials or without."""
    dropped = _named_by_connection(headers)
    sent: dict[str, str] = {}
    for name, value in headers:
        if name in _NOT_UPSTREAM or name in dropped or (name[:2] == b"x-" and name.startswith(OWN_PREFIX)):
            continue
        if not credentials and name in _CREDENTIALS:
            continue
        key = name.decode("latin-1")
        text = value.decode("latin-1")
        sent[key] = f"{sent[key]}, {text}" if key in sent else text
    sent["accept-encoding"] = "identity"
    return sent


def to_caller(headers: RawHeaders, *, decoded: bool) -> RawHeaders:
    """The upstream's headers, names in lower case, as they go back; those with control bytes are dropped.

    ``decoded`` when its compression was undone.
    """
    if not is_text(b"".join(map(_value, headers))):
        headers = [(name, value) for name, value in headers if is_text(value)]
    kept, connection = _places(tuple(map(_name, headers)), decoded)
    passing = [headers[at] for at in kept]
    named = _named_by_connection(headers) if connection else _NONE
    return [header for header in passing if header[0] not in named] if named else passing


@lru_cache(maxsize=64)
def _places(names: tuple[bytes, ...], decoded: bool) -> tuple[tuple[int, ...], bool]:  # noqa: FBT001
    """Which of an answer's headers go back, by their names, which a server hardly ever changes.

    Whether one of them may name others that do not is told beside them.
    """
    dropped = _NOT_DOWNSTREAM_DECODED if decoded else _NOT_DOWNSTREAM
    kept = [at for at, name in enumerate(names) if name not in dropped and not name.startswith(OWN_PREFIX)]
    return tuple(kept), b"connection" in names


def is_text(value: bytes) -> bool:
    """Whether a header's value holds nothing but what one may hold."""
    return len(value.translate(None, _NO_TEXT)) == len(value)


def _named_by_connection(headers: RawHeaders) -> frozenset[bytes]:
    """Headers that ``connection: a, b`` declares to be for this connection only."""
    told = [value for name, value in headers if name == b"connection"]
    for value in told:
        if value.lower() not in _WHETHER_TO_STAY:
            return frozenset(token.strip().lower() for token in value.split(b","))
    return _NONE
