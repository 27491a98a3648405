"""Log a failure of our own without showing what the request held.

An exception's text may quote the prompt, so only its class and the places in the code are written.
"""

from __future__ import annotations

import logging
import traceback

logger = logging.getLogger("promptcache.gateway")
_FRAMES = 6


def log_failure(where: str, error: BaseException) -> None:
    """Log where and in which lines of code something unexpected was raised."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = " < ".join(f"{_short(frame.filename)}:{frame.lineno}" for frame in reversed(frames))
    logger.error("%s failed: %s at %s", where, type(error).__name__, places)


def _short(filename: str) -> str:
    return "/".join(filename.rsplit("/", 2)[-2:])
