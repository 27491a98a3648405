"""Content parts in the dialects: text and images are translated, other parts stay in their own dialect.

An image is encoded once, when it is given; from then on its text is what identifies it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from promptcache.errors import ConversationError
from promptcache.turns.images import Image

_DATA_URL: Final = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>[A-Za-z0-9+/=]+)")


def as_part(value: Any) -> dict[str, Any]:
    """Return what a caller gave as a part: text, the bytes of an image, or a part of any dialect."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, (bytes, bytearray)):
        return Image(bytes(value)).part()
    if isinstance(value, Image):
        return value.part()
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return dict(value)
    raise ConversationError(
        f"A {type(value).__name__} is no content part.",
        remedy="Give text, image bytes, an Image, or a dict with a type.",
    )


def to_openai(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part for OpenAI chat messages."""
    kind = part["type"]
    if kind in {"text", "input_text"}:
        return {"type": "text", "text": part["text"], **_own_marks(part)}
    if kind in {"image", "input_image"}:
        return {"type": "image_url", "image_url": _with_detail(part, {"url": _url(part)}), **_own_marks(part)}
    return dict(part)


def to_responses(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part for the input of OpenAI Responses."""
    kind = part["type"]
    if kind in {"text", "input_text"}:
        return {"type": "input_text", "text": part["text"], **_own_marks(part)}
    if kind in {"image", "image_url"}:
        return {**_with_detail(part, {"type": "input_image", "image_url": _url(part)}), **_own_marks(part)}
    return dict(part)


def to_anthropic(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a content block for Anthropic messages."""
    kind = part["type"]
    own = {"cache_control": part["cache_control"]} if "cache_control" in part else {}
    if kind in {"text", "input_text"}:
        return {"type": "text", "text": part["text"], **own}
    if kind not in {"image_url", "input_image"}:
        return dict(part)
    url = _url(part)
    inline = _DATA_URL.fullmatch(url)
    if inline:
        source = {"type": "base64", "media_type": inline["type"], "data": inline["data"]}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source, **own}


def to_gemini(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part for Gemini's contents; a part of its own, given with a ``type``, passes without it."""
    kind = part["type"]
    if kind in {"text", "input_text"}:
        return {"text": part["text"]}
    if kind not in {"image", "image_url", "input_image"}:
        return {key: value for key, value in part.items() if key != "type"}
    url = _url(part)
    inline = _DATA_URL.fullmatch(url)
    if inline:
        return {"inlineData": {"mimeType": inline["type"], "data": inline["data"]}}
    return {"fileData": {"fileUri": url}}


def _own_marks(part: Mapping[str, Any]) -> dict[str, Any]:
    """The caller's own breakpoints on a part, in the words of OpenAI and of those who speak its dialect."""
    return {key: part[key] for key in ("prompt_cache_breakpoint", "cache_control") if key in part}


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
