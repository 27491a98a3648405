"""promptcache_gateway."""
