"""How far the way of a value is followed back, in any language, before it counts as not shown."""

from __future__ import annotations

__all__ = ["DEEPEST", "MOST_STEPS"]

DEEPEST = 60
"""Links behind each other."""
MOST_STEPS = 4000
"""Steps of one search: names that are made of each other many times over."""
