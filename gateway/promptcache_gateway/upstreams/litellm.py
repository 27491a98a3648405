"""Providers that need translation, through LiteLLM: the only file that knows it.

Calls are chat completions here, whatever the caller spoke; what of them goes over and comes back is
`litellm_calls`' business. LiteLLM is loaded when an upstream of this kind starts and not before. It gets
the operator's credentials, or finds its own in the environment, and never the caller's.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from typing import TYPE_CHECKING, Any

import orjson

from promptcache.usage import Usage
from promptcache_gateway.errors import StartupError, cannot_count, unknown_model
from promptcache_gateway.exact_json import dumps, read
from promptcache_gateway.upstreams.base import WholeReply
from promptcache_gateway.upstreams.litellm_calls import completion, failure, parameters
from promptcache_gateway.upstreams.litellm_stream import JSON, LiteLLMStream
from promptcache_gateway.upstreams.whole_bodies import noted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.exchange import Call, Dialect, EngineFacts
    from promptcache_gateway.upstream_settings import UpstreamSettings
    from promptcache_gateway.upstreams.base import Inbound, StreamReply


class LiteLLMUpstream:
    """One provider behind LiteLLM.

    A call's model ``m`` is LiteLLM's ``PROVIDER/m``; ``[models]`` gives models other names.
    """

    kind = "litellm"
    granularity: int | None = None

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self.name = settings.name or settings.provider
        self.dialects: frozenset[Dialect] = settings.dialects
        self._library: Any = None
        self._ok: bool | None = None

    async def start(self) -> None:
        """Load LiteLLM, off the event loop; raises `StartupError` where it is not installed."""
        check()
        self._library = await asyncio.to_thread(_load)

    async def close(self) -> None:
        """Take no more calls. Idle connections stay LiteLLM's, whose pool all of this kind share."""
        self._library = None

    async def send(self, call: Call, inbound: Inbound) -> WholeReply | StreamReply:  # noqa: ARG002
        """Complete the call; raises `ApiError` 400 where it holds what may not go over, 502 or 504 as others.

        Cancelling it closes the provider's connection. A provider's refusal is a reply with its status.
        """
        assert self._library is not None, "start() comes first"
        asked = parameters(read(call.body))
        asked["model"] = f"{self._settings.provider}/{call.model}"
        try:
            answer = await self._library.acompletion(**asked, **self._where())
        except Exception as error:  # noqa: BLE001 - what providers' adapters raise is no closed set
            self._ok = False
            said = failure(error, self.name)
            if said.code in {"upstream_timeout", "upstream_unreachable"}:
                raise said from None
            self._ok = said.status < 500
            return noted(said.status, [JSON, *said.headers()], said.to_json(), readable=True)
        self._ok = True
        if call.stream:
            options = call.payload.get("stream_options")
            wanted = isinstance(options, dict) and options.get("include_usage") is True
            return LiteLLMStream(answer, self.name, tell_usage=wanted)
        body = completion(answer.model_dump(mode="json", exclude_none=True))
        return noted(200, [JSON], dumps(body), readable=True)

    async def models(self, inbound: Inbound, model: str | None) -> WholeReply:  # noqa: ARG002
        """The models named for this upstream; raises `ApiError` 404 for another one."""
        names = [name for name in self._settings.models if not any(char in name for char in "*?[")]
        if model is not None and model not in names:
            raise unknown_model(model, names)
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": self.name} for name in names]
        body = {"object": "list", "data": listed} if model is None else listed[names.index(model)]
        return WholeReply(status=200, headers=[JSON], body=orjson.dumps(body), usage=Usage.unreported())

    async def count_prompt(self, call: Call, inbound: Inbound) -> WholeReply:  # noqa: ARG002
        """Never answers: what LiteLLM counts without asking the provider is an estimate."""
        raise cannot_count(self.name)

    def count_tokens(self, text: str) -> int | None:  # noqa: ARG002 - the provider's tokenizer is not known here
        """Always None: the provider's tokenizer is not known here."""
        return None

    async def reset_cache(self) -> bool | None:
        """Always None: the provider's cache is its own."""
        return None

    async def warm(self, call: Call) -> EngineFacts | None:  # noqa: ARG002 - would be billed
        """Always None: a request sent there would be an ordinary, billed one."""
        return None

    def health(self) -> Mapping[str, Any]:
        """What the last call met: ``ok`` is null until there was one. The provider is not asked."""
        ok = False if self._library is None else self._ok
        return {"ok": ok, "url": self._settings.url, "provider": self._settings.provider}

    def _where(self) -> dict[str, Any]:
        """Where LiteLLM sends: what callers have no say in. It never tries again by itself."""
        said: dict[str, Any] = {
            "timeout": self._settings.read_timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": False,
            "caching": False,
        }
        if self._settings.url:
            said["api_base"] = self._settings.url
        if self._settings.api_key is not None:
            said["api_key"] = self._settings.api_key
        return said


def check() -> None:
    """Whether LiteLLM is installed, without loading it; raises `StartupError`."""
    if importlib.util.find_spec("litellm") is None:
        raise StartupError(
            "An upstream of kind 'litellm' needs a package that is not installed (litellm).",
            remedy="pip install 'promptcache[litellm]'",
        )


def _load() -> Any:
    """LiteLLM, told to fetch no list of prices, print nothing, and keep prompts out of its logs."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm  # noqa: PLC0415 - an extra, and seconds to load

    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    return litellm
