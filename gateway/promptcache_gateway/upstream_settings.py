"""What the gateway is told about where it forwards: upstreams, their credentials, models and their aliases.

Values are checked one by one here; `switchboard` checks that names fit together by using them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.fleet.settings import check_url

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Dialect
    from promptcache_gateway.fleet.settings import FleetSettings, ReplicaSettings

Kind = Literal["openai", "anthropic", "engine", "litellm"]
Diagnostics = Literal["auto", "provider", "gateway", "ask"]
DIAGNOSTICS: tuple[Diagnostics, ...] = ("auto", "provider", "gateway", "ask")
_LONGEST_S = 86_400
_DIAGNOSING_HOSTS = {"anthropic": "api.anthropic.com", "openai": "api.openai.com"}
KINDS: tuple[Kind, ...] = ("openai", "anthropic", "engine", "litellm")
# The names of APIs as promptcache.toml has them.
APIS: dict[str, Dialect] = {
    "chat": "openai.chat",
    "completions": "openai.completions",
    "responses": "openai.responses",
    "embeddings": "openai.embeddings",
    "messages": "anthropic.messages",
}
_APIS_OF: dict[str, tuple[str, ...]] = {
    "openai": ("chat", "completions", "responses", "embeddings"),
    "anthropic": ("messages",),
    "engine": ("chat", "completions"),
    "litellm": ("chat",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings:
    """One upstream: a foreign server, or the built-in engine.

    Attributes:
        url: its base URL, as clients write it: ``http://host:8000`` or ``https://host/v1``.
        name: how records, metrics and model aliases call it; empty: after its address.
        kind: ``openai`` or ``anthropic``, after the API it speaks, ``engine``, or ``litellm``.
        provider: of kind ``litellm``: the provider as LiteLLM calls it (``bedrock``).
        apis: the APIs it speaks itself (names of `APIS`); others are translated. Empty: its kind's.
        models: the models it serves, as names or patterns (``gpt-*``); empty: any.
        api_key: sent instead of the caller's, or None: the caller's passes through.
        connect_timeout_s: seconds to reach it.
        read_timeout_s: seconds of silence before a call is given up.
        include_usage: ask for the usage of streams whose caller said nothing about it.
        retries: how often a call that got no byte of an answer is sent again.
        retry_wait_s: the longest ``retry-after`` of a 429 or 503 that is waited for here.
        tenant_salt: send each tenant's own ``cache_salt`` (vLLM, SGLang), so that tenants share no prefixes.
        diagnostics: who answers Anthropic's ``diagnostics`` and OpenAI's ``comparison_response_id``:
            ``provider``, ``gateway`` (the fields are removed on the way), ``auto``: the provider where it is
            Anthropic's or OpenAI's own host; ``ask``: the provider, also for callers who did not ask, so that
            its verdict is kept beside ours.
        fleet: the replicas behind it; None: one server, at ``url``. With them ``url`` may be empty.
    """

    url: str = ""
    name: str = ""
    kind: Kind = "openai"
    apis: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 600.0
    include_usage: bool = True
    retries: int = 1
    retry_wait_s: float = 2.0
    tenant_salt: bool = False
    diagnostics: Diagnostics = "auto"
    fleet: FleetSettings | None = None
    provider: str = ""

    def __post_init__(self) -> None:
        where = self.where
        if self.kind not in KINDS:
            raise SettingsError(
                f"{where}.kind", f"{self.kind!r} is no kind.", remedy=f"Known: {', '.join(KINDS)}."
            )
        for api in self.apis:
            if api not in APIS:
                raise SettingsError(
                    f"{where}.apis", f"{api!r} is no API.", remedy=f"Known: {', '.join(APIS)}."
                )
        if self.diagnostics not in DIAGNOSTICS:
            raise SettingsError(
                f"{where}.diagnostics",
                f"{self.diagnostics!r} is no choice.",
                remedy=f"Known: {', '.join(DIAGNOSTICS)}.",
            )
        if not 0 <= self.retries <= 10:
            raise SettingsError(f"{where}.retries", "must be from 0 to 10.")
        if not 0 <= self.retry_wait_s <= 60:
            raise SettingsError(f"{where}.retry_wait_s", "must be from 0 to 60 seconds.")
        self._check_provider(where)
        if self.url and self.kind == "engine":
            raise SettingsError(
                f"{where}.url",
                "the built-in engine has no address.",
                remedy="Leave it out, or name the kind of server that is there.",
            )
        if self.url or (self.kind in {"openai", "anthropic"} and self.fleet is None):
            check_url(self.url, f"{where}.url")
        for name in ("connect_timeout_s", "read_timeout_s"):
            if not 0 < getattr(self, name) <= _LONGEST_S:
                raise SettingsError(
                    f"{where}.{name}", f"must be more than 0 and at most {_LONGEST_S} seconds."
                )

    def _check_provider(self, where: str) -> None:
        """Raise `SettingsError` where LiteLLM's settings do not fit together."""
        if self.kind != "litellm":
            if self.provider:
                raise SettingsError(
                    f"{where}.provider", 'is for kind = "litellm" only.', remedy="Leave it out."
                )
            return
        if not re.fullmatch(r"[a-z0-9_]+", self.provider):
            raise SettingsError(
                f"{where}.provider",
                f"{self.provider!r} is no provider." if self.provider else "is missing.",
                remedy='Name it as LiteLLM does, as in provider = "bedrock".',
            )
        if self.apis not in {(), ("chat",)}:
            raise SettingsError(f"{where}.apis", "LiteLLM is asked for chats only.", remedy="Leave it out.")
        if self.tenant_salt:
            raise SettingsError(
                f"{where}.tenant_salt", "does not travel through LiteLLM.", remedy="Leave it out."
            )

    @property
    def where(self) -> str:
        """Its table in promptcache.toml."""
        return f"upstreams.{self.name}" if self.name else "upstream"

    @property
    def diagnoses(self) -> bool:
        """Whether the server answers its API's own questions about the cache."""
        if self.diagnostics == "auto":
            url = next(iter(self.urls), "")
            return urlsplit(url).hostname == _DIAGNOSING_HOSTS.get(self.kind)
        return self.diagnostics != "gateway"

    @property
    def urls(self) -> tuple[str, ...]:
        """Every address that is named."""
        replicas = self.fleet.replicas if self.fleet is not None else ()
        return tuple(url for url in (self.url, *(replica.url for replica in replicas)) if url)

    def of(self, replica: ReplicaSettings) -> UpstreamSettings:
        """What to know to send to one replica."""
        return replace(self, url=replica.url, api_key=replica.api_key or self.api_key, fleet=None)

    @property
    def dialects(self) -> frozenset[Dialect]:
        """The APIs it answers without translation."""
        return frozenset(APIS[api] for api in self.apis or _APIS_OF[self.kind])


@dataclass(frozen=True, slots=True)
class Target:
    """A place where a model is served.

    Attributes:
        upstream: the upstream's name.
        model: the model's name there; None: as the caller wrote it.
    """

    upstream: str
    model: str | None = None

    @classmethod
    def parse(cls, text: str, where: str) -> Target:
        """Read ``UPSTREAM/MODEL`` (the model may hold further slashes) or ``UPSTREAM``."""
        upstream, _, model = text.partition("/")
        if not upstream:
            raise SettingsError(where, f"{text!r} is not UPSTREAM/MODEL.", remedy="Name the upstream first.")
        return cls(upstream, model or None)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """An alias, or a model with fallbacks.

    Attributes:
        name: what callers write as ``model``.
        targets: where it goes, in order of preference.
    """

    name: str
    targets: tuple[Target, ...]
