"""The dashboard: one page of static files over the gateway's own JSON, no build step, no outside address."""

from promptcache_gateway.dashboard.mount import mount

__all__ = ["mount"]
