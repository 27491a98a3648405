"""Who may call: the keys this gateway was given, compared without telling how far they match.

Without keys everyone who can reach the gateway may call; settings allow that on loopback only.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptcache_gateway.upstreams.base import RawHeaders

CREDENTIAL_HEADERS = frozenset({b"authorization", b"x-api-key"})


class Access:
    """The configured keys."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = tuple(key.encode() for key in keys)

    @property
    def open(self) -> bool:
        """Whether no key is asked for."""
        return not self._keys

    def admits(self, headers: RawHeaders) -> bool:
        """Whether the request shows a key as a bearer token, ``x-api-key`` or a basic password."""
        if self.open:
            return True
        shown = [credential for header in headers for credential in _credentials(*header)]
        return any(hmac.compare_digest(key, credential) for credential in shown for key in self._keys)

    def without_credentials(self, headers: RawHeaders) -> RawHeaders:
        """The headers for an upstream: a key of this gateway never leaves it."""
        if self.open:
            return headers
        return without_credentials(headers)


def without_credentials(headers: RawHeaders) -> RawHeaders:
    """The headers without those that carry a key."""
    return [header for header in headers if header[0] not in CREDENTIAL_HEADERS]


def _credentials(name: bytes, value: bytes) -> list[bytes]:
    if name == b"x-api-key":
        return [value.strip()]
    if name != b"authorization":
        return []
    scheme, _, rest = value.strip().partition(b" ")
    if scheme.lower() == b"bearer":
        return [rest.strip()]
    if scheme.lower() == b"basic":
        try:
            return [base64.b64decode(rest, validate=True).partition(b":")[2]]
        except binascii.Error:
            return []
    return []
