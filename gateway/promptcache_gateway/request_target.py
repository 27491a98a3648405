"""A request's target, cut into path and query. The same few come again and again; a long one is not kept."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import unquote

import httptools

_LONGEST_KEPT = 256  # bytes


def cut_target(target: bytes) -> tuple[str, bytes, bytes]:
    """The path as text and as it came, and the query.

    Raises ``HttpParserError`` or ``UnicodeDecodeError`` for what is no target.
    """
    return _known(target) if len(target) <= _LONGEST_KEPT else _cut(target)


def _cut(target: bytes) -> tuple[str, bytes, bytes]:
    parsed = httptools.parse_url(target)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.path, parsed.query or b""


_known = lru_cache(maxsize=256)(_cut)
