"""Many replicas behind one upstream: which of them takes a request, and whether it can.

``routing`` decides and is pure; it knows neither sockets nor clocks. What stands around it finds replicas,
watches their health, sends, and tells it what came of that. This package imports nothing heavy by itself.
"""

from promptcache_gateway.fleet.prefix import Prefix
from promptcache_gateway.fleet.routing import Choice, Router
from promptcache_gateway.fleet.settings import POLICIES, FleetSettings, ReplicaSettings
from promptcache_gateway.fleet.target import Target
from promptcache_gateway.fleet.tree import PrefixTree

__all__ = [
    "POLICIES",
    "Choice",
    "FleetSettings",
    "Prefix",
    "PrefixTree",
    "ReplicaSettings",
    "Router",
    "Target",
]
