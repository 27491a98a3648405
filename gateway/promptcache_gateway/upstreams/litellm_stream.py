"""An answer that LiteLLM streams, as chat completion chunks on the wire.

Its chunks are objects, so events are written here. The usage, which is always asked for, is noted, and told
to the caller in a last chunk without choices where the caller asked, as OpenAI does. Where no chunk of the
provider's own carried any, LiteLLM estimates one: that is left out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from promptcache.usage import Usage
from promptcache_gateway.error_shapes import error_event
from promptcache_gateway.exact_json import dumps
from promptcache_gateway.upstreams.litellm_calls import failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from promptcache_gateway.exchange import EngineFacts
    from promptcache_gateway.upstreams.base import RawHeaders

JSON = (b"content-type", b"application/json")
_DONE = b"data: [DONE]\n\n"


class LiteLLMStream:
    """A `StreamReply` over LiteLLM's asynchronous iterator of chunks."""

    status = 200
    events = True
    engine: EngineFacts | None = None

    def __init__(self, chunks: Any, upstream: str, *, tell_usage: bool) -> None:
        """``tell_usage``: the caller asked for the chunk that holds the usage."""
        self.headers: RawHeaders = [(b"content-type", b"text/event-stream; charset=utf-8")]
        self.first_output_at: float | None = None
        self.error: str | None = None
        self.response_id: str | None = None
        self.usage = Usage.unreported()
        self._chunks = chunks
        self._upstream = upstream
        self._tell_usage = tell_usage
        self._last: dict[str, Any] | None = None

    async def pieces(self) -> AsyncIterator[bytes]:
        """One event a chunk; an error event last where the provider dies on the way."""
        try:
            async for chunk in self._chunks:
                event = self._event(chunk.model_dump(mode="json", exclude_none=True))
                if event:
                    yield event
        except Exception as error:  # noqa: BLE001 - what providers' adapters raise is no closed set
            said = failure(error, self._upstream)
            self.error = said.code
            yield error_event(said, "openai.chat")
            return
        if self._tell_usage and self._last is not None:
            yield _data(self._last)
        yield _DONE

    async def close(self) -> None:
        """Close the provider's connection."""
        await self._chunks.aclose()

    def _event(self, chunk: dict[str, Any]) -> bytes:
        if self.response_id is None and isinstance(chunk.get("id"), str):
            self.response_id = chunk["id"]
        usage = chunk.pop("usage", None)
        if isinstance(usage, dict) and self._is_reported():
            self.usage = Usage.from_response({"usage": usage})
            self._last = {**chunk, "choices": [], "usage": usage}
        choices = [choice for choice in chunk.get("choices", ()) if isinstance(choice, dict)]
        if not any(choice.get("delta") or choice.get("finish_reason") for choice in choices):
            return b""
        for choice in choices:
            choice.setdefault("finish_reason", None)
        if self.first_output_at is None:
            self.first_output_at = time.perf_counter()
        return _data(chunk)

    def _is_reported(self) -> bool:
        """Whether any of the provider's own chunks, which LiteLLM keeps, carried a usage."""
        received = getattr(self._chunks, "chunks", None) or ()
        return any(getattr(chunk, "usage", None) is not None for chunk in received)


def _data(chunk: dict[str, Any]) -> bytes:
    return b"data: " + dumps(chunk) + b"\n\n"
