"""Images by what they are: the bytes decide, and a name makes it noticed when they come again otherwise.

A named image is encoded once. Given again with the same bytes, the part that was sent is sent again; with
other bytes it is a new image, which is said (PC701), or refused where the conversation is strict. The same
bytes at another detail are said too (PC702). An address that carries a signature will be another address once
it has run out, so it is reported when it is given (PC701).
"""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from promptcache.causes import get_cause
from promptcache.errors import ConversationError, PromptCacheWarning

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Image", "SeenImage", "note_images"]

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_SIGNED: Final = re.compile(r"[?&](?:X-Amz-Signature|X-Goog-Signature|Signature|sig|Expires)=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Image:
    """An image to show: its bytes, as they are in the file.

    ``name`` is what the application calls it; with one, the conversation notices when it comes again with
    other bytes. ``detail`` is OpenAI's.
    """

    data: bytes
    name: str = ""
    detail: str | None = None

    def part(self) -> dict[str, Any]:
        """Return the content part; raises `ConversationError` when the bytes are no image."""
        media = next((media for head, media in _SIGNATURES if self.data.startswith(head)), None)
        if media is None:
            raise ConversationError(
                "The bytes are no PNG, JPEG, GIF or WebP image.",
                remedy="Give the part as a dict of its provider.",
            )
        image = {"url": f"data:{media};base64,{base64.b64encode(self.data).decode()}"}
        return {"type": "image_url", "image_url": {**image, "detail": self.detail} if self.detail else image}


@dataclass(frozen=True, slots=True)
class SeenImage:
    """A named image that was sent: its ``digest`` (of its bytes, 32 hex digits) and ``detail``."""

    name: str
    digest: str
    detail: str | None = None

    @classmethod
    def of(cls, image: Image) -> SeenImage:
        """Return what is kept of an image."""
        return cls(image.name, blake2b(image.data, digest_size=16).hexdigest(), image.detail)


def note_images(
    given: Iterable[object], seen: tuple[SeenImage, ...], *, strict: bool, stacklevel: int
) -> tuple[SeenImage, ...]:
    """Return ``seen`` with the named images in ``given``; warn about, or refuse, what is not what it was."""
    known = {image.name: image for image in seen}
    for value in given:
        if isinstance(value, Image) and value.name:
            new = SeenImage.of(value)
            _compare(known.get(new.name), new, strict=strict, stacklevel=stacklevel + 1)
            known[new.name] = new
        elif isinstance(value, Mapping) and _SIGNED.search(_address(value)):
            message = "An image is given by an address with a signature that runs out."
            _report("PC701", message, strict=strict, stacklevel=stacklevel + 1)
    return tuple(known.values())


def _compare(old: SeenImage | None, new: SeenImage, *, strict: bool, stacklevel: int) -> None:
    if old is None or old == new:
        return
    if old.digest != new.digest:
        message = f"The image {new.name!r} comes again with other bytes, as after encoding it anew."
        _report("PC701", message, strict=strict, stacklevel=stacklevel + 1)
    else:
        message = f"The image {new.name!r} comes again with detail {new.detail!r} instead of {old.detail!r}."
        _report("PC702", message, strict=strict, stacklevel=stacklevel + 1)


def _report(code: str, message: str, *, strict: bool, stacklevel: int) -> None:
    remedy = get_cause(code).remedy
    if strict:
        raise ConversationError(f"{code}: {message}", remedy=remedy)
    warnings.warn(PromptCacheWarning(message, code=code, remedy=remedy), stacklevel=stacklevel + 1)


def _address(part: Mapping[str, Any]) -> str:
    for key in ("image_url", "source"):
        value = part.get(key)
        found = value.get("url") if isinstance(value, Mapping) else value
        if isinstance(found, str) and not found.startswith("data:"):
            return found
    return ""
