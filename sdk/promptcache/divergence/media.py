"""Evidence in images, files and audio: encoded again, signed again, shown at another detail, or replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache.divergence.evidence import Finding

if TYPE_CHECKING:
    from promptcache.segments import Segment

__all__ = ["media_finding"]

_MEDIA = frozenset(
    {
        "image",
        "image_url",
        "input_image",
        "document",
        "file",
        "input_file",
        "audio",
        "input_audio",
        "video",
        "video_url",
    }
)


def media_finding(before: Segment, after: Segment) -> Finding | None:
    """Explain a media block that changed (PC701, PC702) or was replaced (PC502), else None."""
    old, new = _media(before), _media(after)
    if old is None:
        return None
    if new is None:
        return Finding("PC502", {"pattern": "image_replaced" if "image" in old["type"] else "media_replaced"})
    if _without_detail(old) == _without_detail(new):
        return Finding("PC702")
    resigned = _without_query(old) == _without_query(new)
    return Finding("PC701", {"pattern": "signed_again" if resigned else "encoded_again"})


def _media(segment: Segment) -> dict[str, Any] | None:
    if not segment.body.startswith("{"):
        return None
    try:
        block = json.loads(segment.body)
    except ValueError:
        return None
    return block if isinstance(block, dict) and str(block.get("type")) in _MEDIA else None


def _without_detail(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_detail(item) for key, item in value.items() if key != "detail"}
    return value


def _without_query(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_query(item) for key, item in value.items()}
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        return urlsplit(value)._replace(query="", fragment="").geturl()
    return value
