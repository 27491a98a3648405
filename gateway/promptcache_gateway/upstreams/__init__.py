"""Where the gateway forwards: one protocol, and the servers and engines behind it."""

from promptcache_gateway.upstreams.base import Inbound, StreamReply, Upstream, WholeReply
from promptcache_gateway.upstreams.choose import check_upstreams, create_switchboard
from promptcache_gateway.upstreams.switchboard import Switchboard

__all__ = [
    "Inbound",
    "StreamReply",
    "Switchboard",
    "Upstream",
    "WholeReply",
    "check_upstreams",
    "create_switchboard",
]
