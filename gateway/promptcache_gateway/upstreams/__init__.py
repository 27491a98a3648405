"""Where the gateway forwards: one protocol, and the servers and engines behind it."""

from promptcache_gateway.upstreams.base import Inbound, StreamReply, Upstream, WholeReply
from promptcache_gateway.upstreams.choose import create_upstream

__all__ = ["Inbound", "StreamReply", "Upstream", "WholeReply", "create_upstream"]
