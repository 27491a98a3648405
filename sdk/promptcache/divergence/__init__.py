"""Where a request leaves its predecessor, and why."""

from promptcache.divergence.compare import compare_requests, compare_segments
from promptcache.divergence.result import Divergence

__all__ = ["Divergence", "compare_requests", "compare_segments"]
