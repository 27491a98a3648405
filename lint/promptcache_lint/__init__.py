"""promptcache_lint."""
