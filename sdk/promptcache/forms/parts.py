"""Content parts in the dialects: text and images are translated, other parts stay in their own dialect.

An image is encoded once, when it is given; from then on its text is what identifies it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

from promptcache.errors import ConversationError

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>[A-Za-z0-9+/=]+)")


def as_part(value: Any) -> dict[str, Any]:
    """Return what a caller gave as a part: text, the bytes of an image, or a part of any dialect."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, (bytes, bytearray)):
        media = next((media for head, media in _SIGNATURES if value.startswith(head)), None)
        if media is None:
            raise ConversationError(
                "The bytes are no PNG, JPEG, GIF or WebP image.",
                remedy="Give the part as a dict of its provider.",
            )
        return {"type": "image_url", "image_url": {"url": _data_url(media, base64.b64encode(value).decode())}}
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return dict(value)
    raise ConversationError(
        f"A {type(value).__name__} is no content part.",
        remedy="Give text, image bytes, or a dict with a type.",
    )


def to_openai(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part for OpenAI chat messages."""
    kind = part["type"]
    if kind in {"text", "input_text"}:
        return {"type": "text", "text": part["text"]}
    if kind in {"image", "input_image"}:
        return {"type": "image_url", "image_url": _with_detail(part, {"url": _url(part)})}
    return dict(part)


def to_responses(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part for the input of OpenAI Responses."""
    kind = part["type"]
    if kind == "text":
        return {"type": "input_text", "text": part["text"]}
    if kind in {"image", "image_url"}:
        return _with_detail(part, {"type": "input_image", "image_url": _url(part)})
    return dict(part)


def to_anthropic(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content block for Anthropic messages."""
    kind = part["type"]
    if kind in {"text", "input_text"}:
        return {"type": "text", "text": part["text"]}
    if kind not in {"image_url", "input_image"}:
        return dict(part)
    url = _url(part)
    inline = _DATA_URL.fullmatch(url)
    if inline:
        source = {"type": "base64", "media_type": inline["type"], "data": inline["data"]}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source}


def _url(part: Mapping[str, Any]) -> str:
    image = part.get("image_url")
    if isinstance(image, str):
        return image
    if isinstance(image, Mapping) and isinstance(image.get("url"), str):
        return str(image["url"])
    source = part.get("source")
    if isinstance(source, Mapping) and source.get("type") == "base64":
        return _data_url(str(source["media_type"]), str(source["data"]))
    if isinstance(source, Mapping) and isinstance(source.get("url"), str):
        return str(source["url"])
    raise ConversationError(f"The {part['type']} part names no image.", remedy="Give a URL or base64 data.")


def _with_detail(part: Mapping[str, Any], image: dict[str, Any]) -> dict[str, Any]:
    nested = part.get("image_url")
    detail = nested.get("detail") if isinstance(nested, Mapping) else part.get("detail")
    return {**image, "detail": detail} if detail else image


def _data_url(media: str, data: str) -> str:
    return f"data:{media};base64,{data}"
