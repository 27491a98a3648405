"""The observer of a worker where diagnosis is off: it tells its peers nothing, and the parent its records."""

from __future__ import annotations

from promptcache_gateway.observe.bookkeeper import Bookkeeper
from promptcache_gateway.shared.observer import PeerObserver


class PeerBookkeeper(Bookkeeper, PeerObserver):
    """A `PeerObserver` that looks at no prompt."""
