"""Whether a request was meant for this gateway: what a browser may be made to send is not.

Without keys, everyone who reaches the gateway may call, and a browser on this machine does reach it.
A foreign page could make it send requests (cross-origin), or could read answers by having its own name
lead here (DNS rebinding). Clients that are no browsers send no ``Origin`` and the name they called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptcache_gateway.errors import ApiError, forbidden
from promptcache_gateway.known_headers import once
from promptcache_gateway.settings import is_loopback

if TYPE_CHECKING:
    from starlette.types import Scope

    from promptcache_gateway.known_headers import RawHeaders
    from promptcache_gateway.settings import Settings

_ADMIN = ("/promptcache/", "/metrics")
_MAX_KNOWN = 64
_REMEDY = "Name it with --allowed-host, or allowed_hosts in promptcache.toml, if it is meant to."
_PAGE_REMEDY = (
    "If it is meant to, name its origin with --cors-origin (cors_origins in promptcache.toml), or, where the "
    "gateway itself is reached under that name, the name with --allowed-host."
)


class Origins:
    """The names this gateway answers to, and the pages that may call it."""

    def __init__(self, settings: Settings) -> None:
        self._pages = frozenset(settings.cors_origins)
        self._allowed = frozenset(name.lower() for name in settings.allowed_hosts)
        # A key is asked for anyway where one is configured; no foreign page has it.
        guarded = settings.api_keys or settings.stored_keys or settings.api_key_required
        self._checks_hosts = not guarded or bool(self._allowed)
        self._known: set[bytes] = set()

    def refusal(self, scope: Scope) -> ApiError | None:
        """The 403 for a request that was not meant for us, or None."""
        headers = scope["headers"]
        return None if once(headers, self, self._is_plain) else self._judge(scope, headers)

    def _is_plain(self, headers: RawHeaders) -> bool:
        """Whether it is no browser that sends them, and calls us by a name of ours."""
        told = dict(headers)
        if told.get(b"origin") or told.get(b"sec-fetch-site"):
            return False
        return not self._checks_hosts or self._answers_to(told.get(b"host", b""))

    def _judge(self, scope: Scope, headers: RawHeaders) -> ApiError | None:
        told = dict(headers).get  # of several the last
        host, origin, site = told(b"host", b""), told(b"origin", b""), told(b"sec-fetch-site", b"")
        if self._checks_hosts and not self._answers_to(host):
            return forbidden(
                f"This gateway does not answer to the host name {_shown(host)}. {_REMEDY}", "host_not_allowed"
            )
        if not origin and not site:
            return None
        return self._judge_browser(scope, host, origin, site, told(b"sec-fetch-mode", b""))

    def _may_use_models(self, origin: bytes) -> bool:
        return "*" in self._pages or origin.decode("latin-1").lower() in self._pages

    def _answers_to(self, host: bytes) -> bool:
        """Whether ``host`` (with a port or without) is a name of ours; one that is, is remembered."""
        if host in self._known:
            return True
        name = _name(host.decode("latin-1"))
        if host and not is_loopback(name) and name not in self._allowed:
            return False
        if len(self._known) < _MAX_KNOWN:
            self._known.add(host)
        return True

    def _judge_browser(
        self, scope: Scope, host: bytes, origin: bytes, site: bytes, mode: bytes
    ) -> ApiError | None:
        if scope["method"] != "POST" and not scope["path"].startswith(_ADMIN):
            return None
        if origin:
            page = origin.decode("latin-1").lower().partition("://")[2]
            allowed = page == host.decode("latin-1").lower() or _name(page) in self._allowed
            allowed = allowed or (self._may_use_models(origin) and not scope["path"].startswith(_ADMIN))
        else:
            allowed = site != b"cross-site" or mode == b"navigate"
        if allowed:
            return None
        sender = _shown(origin) if origin else "another site"
        remedy = _REMEDY if scope["path"].startswith(_ADMIN) else _PAGE_REMEDY
        return forbidden(f"A web page of {sender} may not call this gateway. {remedy}", "cross_origin")


def _name(host: str) -> str:
    """The name or address in ``name:port``; empty where that is not what it is."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _shown(value: bytes) -> str:
    return repr(value[:100].decode("latin-1"))
