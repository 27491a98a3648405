"""Who may call: the keys this gateway was given, compared without telling how far they match.

Without keys everyone who can reach the gateway may call; settings allow that on loopback only. Keys come
from the environment (the operator's own) and from the file that ``promptcache keys`` writes.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import TYPE_CHECKING

from promptcache_gateway.known_headers import KnownHeaders, once
from promptcache_gateway.tenancy.caller import ANYONE, OPERATOR

if TYPE_CHECKING:
    from promptcache_gateway.tenancy.caller import Caller
    from promptcache_gateway.tenancy.key_ring import KeyRing
    from promptcache_gateway.upstreams.base import RawHeaders

CREDENTIAL_HEADERS = frozenset({b"authorization", b"x-api-key"})


class Access:
    """The configured keys.

    Args:
        keys: keys out of the environment; they administer too.
        ring: keys of the file; None: there is none.
        required: ask for a key even while there is none.
    """

    def __init__(self, keys: tuple[str, ...], ring: KeyRing | None = None, *, required: bool = False) -> None:
        self._keys = tuple(key.encode() for key in keys)
        self._ring = ring
        self._required = required

    @property
    def open(self) -> bool:
        """Whether no key is asked for."""
        return not self._keys and not self._required and (self._ring is None or self._ring.empty)

    def caller(self, headers: RawHeaders) -> Caller | None:
        """Who shows a key as a bearer token, ``x-api-key`` or a basic password; None: nobody we know."""
        if self.open:
            return ANYONE
        for header in headers:
            for credential in _credentials(*header):
                if any(hmac.compare_digest(key, credential) for key in self._keys):
                    return OPERATOR
                known = self._ring.caller(credential) if self._ring is not None else None
                if known is not None:
                    return known
        return None

    def without_credentials(self, headers: RawHeaders) -> RawHeaders:
        """The headers for an upstream: a key of this gateway never leaves it."""
        return headers if self.open else without_credentials(headers)


def without_credentials(headers: RawHeaders) -> RawHeaders:
    """The headers without those that carry a key. What they say of a length may be an earlier request's."""
    return once(headers, without_credentials, _without_credentials)


def _without_credentials(headers: RawHeaders) -> RawHeaders:
    bare = KnownHeaders([header for header in headers if header[0] not in CREDENTIAL_HEADERS])
    bare.found = {}
    return bare


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
