"""Requests that are written as JSON and sent by hand: ``body: JSON.stringify({ model, messages })``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Map

if TYPE_CHECKING:
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame

__all__ = ["is_body"]

_BODY = re.compile(r"[\"']?(?:body|data|payload|\w*(?:Body|Payload))[\"']?")
_OF_GEMINI = {"generationConfig", "systemInstruction", "system_instruction", "safetySettings"}


def is_body(made: Call, frame: Frame) -> bool:
    """Whether a call writes a request to a model, for what is named a body."""
    if made.path != "JSON.stringify" or not isinstance(made.first, Map):
        return False
    keys = {key for key, _ in made.first.pairs}
    asks = {"model", "messages"} <= keys or ("contents" in keys and not keys.isdisjoint(_OF_GEMINI))
    holder = made.node.parent
    name = holder.child_by_field_name("key") or holder.child_by_field_name("name") if holder else None
    return asks and name is not None and _BODY.fullmatch(frame.module.text(name)) is not None
