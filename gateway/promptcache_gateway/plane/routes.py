"""The data plane's paths, with and without ``/v1``, and who may use them.

They are raw ASGI because a framework's routing costs more than the whole forwarding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.errors import ApiError, unauthorized
from promptcache_gateway.kept import Shelf
from promptcache_gateway.mutations import Mutator
from promptcache_gateway.plane.completion import CompletionEndpoint
from promptcache_gateway.plane.counting import CountEndpoint
from promptcache_gateway.plane.kept import KeptEndpoint, kept_of
from promptcache_gateway.plane.models import ModelsEndpoint
from promptcache_gateway.plane.responses import send_whole
from promptcache_gateway.plane.room import Room
from promptcache_gateway.plane.tokens import PATHS, TokensEndpoint
from promptcache_gateway.plane.turned_away import TurnedAway
from promptcache_gateway.tenancy import Ledger, Limits

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from promptcache_gateway.access import Access
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.observe import Observer
    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstreams.base import RawHeaders
    from promptcache_gateway.upstreams.switchboard import Switchboard

_COMPLETIONS: dict[str, Dialect] = {
    "/chat/completions": "openai.chat",
    "/completions": "openai.completions",
    "/responses": "openai.responses",
    "/embeddings": "openai.embeddings",
    "/messages": "anthropic.messages",
}
_COUNT = "/messages/count_tokens"
_MODELS = "/models"


class DataPlane:
    """OpenAI's and Anthropic's APIs over the upstreams."""

    def __init__(
        self,
        settings: Settings,
        switchboard: Switchboard,
        observer: Observer,
        access: Access,
        *,
        limits: Limits | None = None,
        mutator: Mutator | None = None,
        ledger: Ledger | None = None,
        shelf: Shelf | None = None,
        room: Room | None = None,
        turned_away: TurnedAway | None = None,
    ) -> None:
        self._access = access
        limits = Limits(settings.tenants) if limits is None else limits
        mutator = Mutator(settings.mutations) if mutator is None else mutator
        shelf = Shelf(settings.responses, settings.database_address) if shelf is None else shelf
        room = Room(settings) if room is None else room
        self._away = TurnedAway() if turned_away is None else turned_away
        self._complete = CompletionEndpoint(
            switchboard,
            observer,
            access,
            limits,
            mutator=mutator,
            ledger=Ledger(lambda _: (), {}) if ledger is None else ledger,
            shelf=shelf,
            room=room,
            turned_away=self._away,
            max_body_bytes=settings.max_body_bytes,
            keep_alive_s=settings.keep_alive_s,
        )
        self._count = CountEndpoint(switchboard, access, mutator, room, settings.max_body_bytes)
        self._models = ModelsEndpoint(switchboard, access, room)
        self._kept = KeptEndpoint(shelf, switchboard)
        self._tokens = TokensEndpoint(switchboard, room.bodies, settings.max_body_bytes)

    def owns(self, path: str) -> bool:
        """Whether the path is one of the APIs', known or not."""
        if path.startswith("/v1/"):
            return True
        tail = path
        known = tail in _COMPLETIONS or tail == _COUNT or tail in PATHS or _is_models(tail)
        return known or kept_of(tail) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request to a path that `owns` says is ours."""
        tail = _tail(scope["path"])
        dialect = _COMPLETIONS.get(tail)
        if dialect is not None and scope["method"] == "POST":
            caller = self._access.caller(scope["headers"])
            if caller is None:
                await self._away.answer(send, unauthorized(), dialect)
            else:
                await self._complete(scope, receive, send, dialect, caller)
            return
        posted = dialect is not None or tail == _COUNT or tail in PATHS
        kept = kept_of(tail) if self._kept.answers else None
        allowed = ("POST",) if posted else ("GET", "HEAD") if kept is None else ("GET", "HEAD", "DELETE")
        shape = shape_of(scope["path"])
        if not posted and kept is None and not _is_models(tail):
            await self._away.answer(send, _no_route(scope), shape)
        elif scope["method"] == "OPTIONS":
            await send_whole(send, 204, _allow(allowed), b"")
        elif scope["method"] not in allowed:
            await self._away.answer(send, _wrong_method(scope, allowed), shape, headers=_allow(allowed))
        elif (caller := self._access.caller(scope["headers"])) is None:
            await self._away.answer(send, unauthorized(), shape)
        elif tail in PATHS:
            await self._tokens(scope, receive, send, tail, caller)
        elif posted:
            await self._count(scope, receive, send, caller)
        elif kept is not None:
            await self._kept(scope, send, kept, caller)
        else:
            await self._models(scope, receive, send, _model_of(tail))


def _tail(path: str) -> str:
    return path[3:] if path.startswith("/v1/") else path


def shape_of(path: str) -> Dialect:
    """Whose errors a caller of this path reads."""
    tail = _tail(path)
    if tail.startswith("/messages"):
        return "anthropic.messages"
    return _COMPLETIONS.get(tail, "openai.chat")


def _is_models(tail: str) -> bool:
    return tail == _MODELS or (tail.startswith(_MODELS + "/") and _model_of(tail) is not None)


def _model_of(tail: str) -> str | None:
    """The model named in ``/models/{model}``; names with a step upwards are none."""
    name = tail[len(_MODELS) + 1 :]
    return name if name and ".." not in name.split("/") else None


def _allow(methods: tuple[str, ...]) -> RawHeaders:
    return [(b"allow", ", ".join((*methods, "OPTIONS")).encode())]


def _no_route(scope: Scope) -> ApiError:
    path = scope["path"][:200]
    return ApiError(404, f"There is no {scope['method']} {path} here.", code="unknown_url")


def _wrong_method(scope: Scope, allowed: tuple[str, ...]) -> ApiError:
    return ApiError(
        405,
        f"{scope['path'][:200]} takes {' or '.join(allowed)}, not {scope['method']}.",
        code="method_not_allowed",
    )
