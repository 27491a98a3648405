"""Sends a conversation with the client of a provider, and appends what came back.

Clients are known by their form, not by importing them: ``client.messages`` is Anthropic's,
``client.chat.completions`` OpenAI's, ``client.responses`` OpenAI's newer one, ``client.models`` Google's. The
answer is appended when it is whole; a request that fails leaves the conversation as it was, to be sent again.
"""

from __future__ import annotations

import inspect
import re
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from promptcache.errors import ConversationBusyError, ConversationError
from promptcache.forms.provider_forms import ProviderForms

if TYPE_CHECKING:
    import threading
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

__all__ = ["Api", "Sender"]

Api = Literal["openai", "responses", "anthropic", "gemini"]
_RAW: Final = re.compile("With(Raw|Stream(ed|ing))Response$")
"""How the SDKs name a client that returns what came over the wire."""
_BUSY: Final = "Wait for it, or use fork() for a second request and for what does not belong to this one."
_METHODS: Final[dict[Api, tuple[str, ...]]] = {
    "openai": ("chat", "completions", "create"),
    "anthropic": ("messages", "create"),
    "responses": ("responses", "create"),
    "gemini": ("models", "generate_content"),
}


class Sender(ProviderForms):
    """A conversation that can be sent: one request at a time."""

    _lock: threading.Lock
    _busy: threading.Lock

    @abstractmethod
    def _append_answer(self, answer: Any) -> None:
        """Append the answer to the request that is on its way."""

    def send(self, client: Any, model: str, *, api: Api | None = None, **parameters: Any) -> Any:
        """Send with an OpenAI, Anthropic or Google client, append the answer and return the response.

        ``api`` chooses where a client speaks several ("responses"). A request that fails appends nothing.
        """
        with self._asking():
            create, request = _call(self, client, model, api, parameters)
            response = create(**request)
            if inspect.isawaitable(response):
                _discard(response)
                raise ConversationError("This client is asynchronous.", remedy="Await asend() instead.")
            self._append_answer(response)
            return response

    async def asend(self, client: Any, model: str, *, api: Api | None = None, **parameters: Any) -> Any:
        """Do what `send` does, with an asynchronous client."""
        with self._asking():
            create, request = _call(self, client, model, api, parameters)
            response = await _awaitable(create(**request))
            self._append_answer(response)
            return response

    def stream(self, client: Any, model: str, *, api: Api | None = None, **parameters: Any) -> Iterator[Any]:
        """Send and yield the events of the answer as they come; it is appended when the last has come."""
        with self._asking():
            create, request = _call(self, client, model, api, parameters, streamed=True)
            response = create(**request)
            if inspect.isawaitable(response) or not isinstance(response, Iterable):
                _discard(response)
                raise ConversationError("This client is asynchronous.", remedy="Use astream() instead.")
            events = []
            for event in response:
                events.append(event)
                yield event
            self._append_answer(events)

    async def astream(
        self, client: Any, model: str, *, api: Api | None = None, **parameters: Any
    ) -> AsyncIterator[Any]:
        """Do what `stream` does, with an asynchronous client."""
        with self._asking():
            create, request = _call(self, client, model, api, parameters, streamed=True)
            events = []
            async for event in await _awaitable(create(**request)):
                events.append(event)
                yield event
            self._append_answer(events)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._lock:  # no step is half done when the request begins
            self._require_idle()
            self._busy.acquire()
        try:
            yield
        finally:
            self._busy.release()

    def _require_idle(self) -> None:
        """Raise `ConversationBusyError` while a request is on its way."""
        if self._busy.locked():
            raise ConversationBusyError("This conversation is waiting for an answer.", remedy=_BUSY)


def _api_of(client: Any) -> Api:
    """Return which API a client speaks; one that speaks both of OpenAI's is taken for chat completions."""
    for api in _METHODS:
        if callable(_method(client, api)):
            return api
    raise ConversationError(
        f"A {type(client).__name__} is no client that is known.",
        remedy="Give an OpenAI, Anthropic or Google client, or call yours with to_openai() or its kin.",
    )


def _call(
    chat: ProviderForms,
    client: Any,
    model: str,
    api: Api | None,
    parameters: dict[str, Any],
    *,
    streamed: bool = False,
) -> tuple[Callable[..., Any], dict[str, Any]]:
    _check(client, api, parameters, streamed=streamed)
    chosen = api or _api_of(client)
    create = _method(client, chosen)
    if not callable(create):
        raise ConversationError(
            f"A {type(client).__name__} does not speak {chosen!r}.",
            remedy="Leave api out, or name the right one.",
        )
    write = {
        "openai": chat.to_openai,
        "responses": chat.to_responses,
        "anthropic": chat.to_anthropic,
        "gemini": chat.to_gemini,
    }[chosen]
    if not streamed:
        return create, write(model, **parameters)
    if chosen == "gemini":
        return client.models.generate_content_stream, write(model, **parameters)
    return create, write(model, **{**parameters, "stream": True})


def _check(client: Any, api: Any, parameters: Mapping[str, Any], *, streamed: bool) -> None:
    """Refuse, before anything is sent, what could not be appended when it comes back."""
    if api is not None and api not in _METHODS:
        raise ConversationError(f"There is no api {api!r}.", remedy=f"Known are {', '.join(_METHODS)}.")
    if parameters.get("stream") and not streamed:
        raise ConversationError("send() takes no stream=True.", remedy="Use stream() or astream() instead.")
    if _RAW.search(type(client).__name__):
        raise ConversationError(
            "A raw response is no answer that can be appended.",
            remedy="Give the client itself, without with_raw_response or with_streaming_response.",
        )


def _method(client: Any, api: Api) -> Any:
    found = client
    for name in _METHODS[api]:
        found = getattr(found, name, None)
    return found


def _awaitable(response: Any) -> Any:
    if not inspect.isawaitable(response):
        raise ConversationError("This client is synchronous.", remedy="Call send() or stream() instead.")
    return response


def _discard(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)
    if callable(close):
        close()  # else Python warns that it was never awaited
