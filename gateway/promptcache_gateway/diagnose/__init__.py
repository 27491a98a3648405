"""``promptcache diagnose``: the gateway's diagnosis, offline, over a log of requests."""

from promptcache_gateway.diagnose.cli import main

__all__ = ["main"]
