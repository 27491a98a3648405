"""promptcache."""
