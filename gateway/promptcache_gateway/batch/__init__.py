"""``promptcache batch``: a file of requests sent in the order of their prefixes, resumable."""

from promptcache_gateway.batch.cli import main

__all__ = ["main"]
