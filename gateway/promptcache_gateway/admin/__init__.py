"""The admin API: templates, requests, events, the cache, and the page for Prometheus."""

from promptcache_gateway.admin.asking import PREFIX
from promptcache_gateway.admin.router import create_router

__all__ = ["PREFIX", "create_router"]
