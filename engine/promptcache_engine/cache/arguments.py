"""What a cache is built with and what a sequence is admitted with, judged before anything changes.

Tokens and extra keys are judged where they are packed, leases where those that are open are known.
"""

from collections.abc import Callable, Sequence
from typing import Any

from promptcache_engine.cache.errors import CacheConfigError, require_whole
from promptcache_engine.cache.hints import Hints
from promptcache_engine.cache.lease import Lease
from promptcache_engine.cache.namespaces import Namespace

_NAMES = (str, Namespace)


def require_namespace(namespace: str | Namespace) -> None:
    """Raise CacheConfigError for what is no namespace."""
    if not isinstance(namespace, _NAMES):
        raise CacheConfigError("namespace", namespace, "Use a text, or a Namespace.")


def given_hints(hints: Hints) -> Hints:
    """Return ``hints``; raises CacheConfigError for what are no Hints."""
    if not isinstance(hints, Hints):
        raise CacheConfigError("hints", hints, "Pass Hints(...), or None where nothing is known.")
    return hints


def require_pair(running: tuple[Lease, int]) -> None:
    """Raise CacheConfigError for what is no pair of a running sequence and its computed tokens."""
    if not isinstance(running, tuple) or len(running) != 2:
        raise CacheConfigError("running", running, "Pass (lease, computed tokens), or None.")


def given_clock(clock: Callable[[], float] | None, default: Callable[[], float]) -> Callable[[], float]:
    """Return ``clock``, or ``default`` for None; raises CacheConfigError for what cannot be asked."""
    if clock is None:
        return default
    if not callable(clock):
        raise CacheConfigError("clock", clock, "Pass a function that returns seconds, or None.")
    return clock


def require_window_pools(pools: Sequence[tuple[int, int]], *, share_on_admission: bool) -> None:
    """Raise CacheConfigError for what are no pairs of a window and its pages, or cannot be had."""
    if not isinstance(pools, list | tuple) or not all(map(_is_pair, pools)):
        raise CacheConfigError("window_pools", pools, "List (window in tokens, pages); () is none.")
    for length, pages in pools:
        require_whole(1, window=length, window_pages=pages)
    if pools and share_on_admission:
        raise CacheConfigError("window_pools", pools, "They need share_on_admission=False.")


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2
