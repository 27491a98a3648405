"""Stops model clients at the door: the request they were about to send is what was looked for.

The bodies are taken where they leave the client, in `httpx` (openai, anthropic, litellm, google-genai and
others), `requests`, `aiohttp` and `botocore`, so that helpers, streaming and raw responses all count.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.machinery import ModuleSpec

__all__ = ["RequestCaughtError", "catch_requests"]

_KEYS = ("messages", "input", "prompt", "contents", "instructions", "system")
_SECRETS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"),
    *(
        "AZURE_OPENAI_API_KEY",
        "GROQ_API_KEY",
        "OPENROUTER_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
    ),
)


class RequestCaughtError(BaseException):
    """Carries the ``body`` out of the client. No `Exception`: clients try those again."""

    def __init__(self, body: Any) -> None:
        super().__init__("a request was caught")
        self.body = body


def catch_requests() -> None:
    """Put the catch in place, and keys without which clients refuse to be made.

    The modules are changed when the code under test imports them: importing them all would take a second.
    """
    for name in _SECRETS:
        os.environ.setdefault(name, "none")
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    sys.meta_path.insert(0, _Watch())


class _Watch(MetaPathFinder):
    """Finds modules as usual, and changes those that requests leave by once they are loaded."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """The usual spec; for a module of the doors with a loader that changes it."""
        change = _DOORS.get(fullname)
        if change is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                _after_loading(spec.loader, change)
                return spec
        return None


def _after_loading(loader: Any, change: Callable[[Any], None]) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        change(module)

    loader.exec_module = exec_module


def _catch_httpx(module: Any) -> None:
    def send(_: Any, request: Any, **__: Any) -> NoReturn:
        _sent(request.read())

    async def send_async(_: Any, request: Any, **__: Any) -> NoReturn:
        _sent(await request.aread())

    module.Client.send = send
    module.AsyncClient.send = send_async


def _catch_aiohttp(module: Any) -> None:
    async def request(_: Any, *__: Any, **named: Any) -> NoReturn:
        _sent(named.get("json") if named.get("json") is not None else named.get("data"))

    module.ClientSession._request = request  # noqa: SLF001 - every method of a session comes by here


def _catch_requests(module: Any) -> None:
    module.Session.send = lambda _, request, **__: _sent(request.body)


def _catch_botocore(module: Any) -> None:
    module.BaseClient._make_api_call = lambda _, __, body: _sent(body)  # noqa: SLF001 - the one door


_DOORS: Mapping[str, Callable[[Any], None]] = {
    "httpx": _catch_httpx,
    "httpx2": _catch_httpx,
    "requests": _catch_requests,
    "aiohttp": _catch_aiohttp,
    "botocore.client": _catch_botocore,
}
"""The modules by which requests leave, and what shuts each."""


def _sent(content: Any) -> NoReturn:
    """A request leaves: caught when it carries a prompt, refused like any other connection when not."""
    body = content
    if isinstance(content, bytes | bytearray | str):
        try:
            body = json.loads(content)
        except ValueError:
            body = None
    if isinstance(body, dict) and any(key in body for key in _KEYS):
        raise RequestCaughtError(body)
    raise ConnectionRefusedError(111, "promptcache verify makes no network calls")
