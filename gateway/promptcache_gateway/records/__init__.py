"""``promptcache records``: what a gateway recorded, exported to a file or deleted."""

from promptcache_gateway.records.cli import main

__all__ = ["main"]
