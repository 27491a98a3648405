"""What an upstream says went wrong, in whichever shape it says so.

OpenAI's and Anthropic's errors are an object. SGLang's, those of older vLLMs and the events of OpenAI's
responses are flat, Ollama's and TGI's a sentence; FastAPI has a ``detail``, and Google lists one error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptcache_gateway.exact_json import read
from promptcache_gateway.upstreams.json_weight import holds_too_many

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLAT = ("code", "type", "message")


def told_error(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error in an answer or an event: an object of its own, a sentence, or the whole of it."""
    said = payload.get("error")
    if isinstance(said, dict) and said:
        return said
    if isinstance(said, str) and said:
        return {"message": said, "type": payload.get("error_type")}
    if payload.get("type") == "error" or payload.get("object") == "error":
        return {name: payload.get(name) for name in _FLAT if payload.get(name) != "error"}
    return None


def refusal_in(body: bytes) -> Mapping[str, Any]:
    """What the body of an answer with an error's status tells; empty where it tells nothing readable."""
    try:
        payload = None if holds_too_many(body) else read(body)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if not isinstance(payload, dict):
        return {}
    return told_error(payload) or {"message": payload.get("message") or _detail(payload.get("detail"))}


def _detail(detail: object) -> object:
    """FastAPI's: a sentence, or a list of what is wrong and where."""
    if not isinstance(detail, list):
        return detail
    wrong = [one for one in detail if isinstance(one, dict) and isinstance(one.get("msg"), str)]
    return "; ".join(f"{_place(one.get('loc'))}{one['msg']}" for one in wrong) or None


def _place(loc: object) -> str:
    return f"{'.'.join(map(str, loc))}: " if isinstance(loc, list) else ""
