"""``promptcache templates``: what a running gateway calls its templates."""
