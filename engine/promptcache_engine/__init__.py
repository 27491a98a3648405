"""promptcache_engine."""
