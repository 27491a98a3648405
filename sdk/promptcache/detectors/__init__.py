"""Detectors of values that change from call to call, shared by linter, SDK and gateway."""

from promptcache.detectors.change import classify_change
from promptcache.detectors.scan import find_volatile, mask_volatile
from promptcache.detectors.span import VolatileSpan

__all__ = ["VolatileSpan", "classify_change", "find_volatile", "mask_volatile"]
