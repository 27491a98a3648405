"""What the gateway is told: frozen values, read once from the command line, a file and the environment.

Checking one value is done here; whether a port is free or a model can be read is found out by
those who open them. Secrets come from the environment only and are never shown.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from promptcache_gateway.alert_settings import AlertSettings, read_alerts
from promptcache_gateway.bounds import Bounds
from promptcache_gateway.diagnosis_setting import check_undiagnosed
from promptcache_gateway.engine_settings import EngineSettings
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.kept.settings import KeptSettings
from promptcache_gateway.logs import FORMATS, LEVELS
from promptcache_gateway.mutations.rules import MutationSettings
from promptcache_gateway.price_settings import PriceSettings
from promptcache_gateway.shared.settings import SharedSettings
from promptcache_gateway.telemetry.otel_settings import OtelSettings
from promptcache_gateway.template_sources import SourceSettings
from promptcache_gateway.upstream_settings import ModelSettings, UpstreamSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptcache_gateway.tenancy.limits import TenantLimits

__all__ = [
    "DEFAULT_PORT",
    "EngineSettings",
    "ModelSettings",
    "Settings",
    "UpstreamSettings",
    "default_data_dir",
    "is_loopback",
    "keys_from",
]

DEFAULT_PORT = 8400
MAX_WORKERS = 256
MIB = 1024 * 1024
_SECONDS = ("keep_alive_s", "shutdown_grace_s", "head_timeout_s", "body_timeout_s", "send_timeout_s")
_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything one gateway process is told.

    Attributes:
        host: the address to listen on.
        port: the port to listen on; 0 takes a free one.
        workers: processes that answer requests; more than one need foreign upstreams.
        diagnosis: look at requests; False: they are forwarded, counted and recorded only.
        upstream: the one foreign server, or None for the built-in engine.
        upstreams: several upstreams, the engine among them where it is named; then ``upstream`` is None.
        models: aliases and models with fallbacks over ``upstreams``.
        engine: the built-in engine's settings.
        api_keys: keys of the operator's, out of the environment; empty: none.
        api_key_required: ask for a key even while there is none.
        stored_keys: whether the file of keys holds any.
        tenants: limits by tenant.
        allowed_hosts: names besides this machine's own that it may be called by, and whose pages may call.
        cors_origins: origins whose pages may use the model APIs, or ``*``: any, which needs keys.
        log_format: ``human`` or ``json``.
        log_level: ``debug``, ``info``, ``warning`` or ``error``.
        log_requests: write a line for every request, without any of its text.
        max_body_bytes: largest request body taken.
        bodies_mib: MiB of memory that the bodies of requests under way may take together.
        answers_mib: MiB of memory that answers of upstreams may take together that are held whole.
        max_header_bytes: largest head of a request taken.
        max_requests: requests to models answered at a time; one more gets 503.
        keep_alive_s: seconds of silence in a stream before a comment is sent; 0: none is.
        head_timeout_s: seconds in which a request's head must have come; 0: any.
        body_timeout_s: the same of its body, and a second more for every 16 KiB; 0: any.
        send_timeout_s: seconds in which a caller must take some of an answer that waits for it; 0: any.
        shutdown_grace_s: seconds that running requests get to end when the gateway is stopped.
        data_dir: folder of what is recorded.
        database: a file's path, ``sqlite:///PATH`` or ``postgresql://…``; None: a file in ``data_dir``.
        bounds: how much of what is recorded is kept.
        responses: where responses are kept for those who go on from them, and how many.
        sources: the files of templates, and what the linter found in them.
        shared: what several machines know together.
        mutations: what is changed of requests on their way.
        prices: what tokens cost.
        alerts: what operators are told, and where.
        otel: where spans go.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    workers: int = 1
    diagnosis: bool = True
    upstream: UpstreamSettings | None = None
    upstreams: tuple[UpstreamSettings, ...] = ()
    models: tuple[ModelSettings, ...] = ()
    engine: EngineSettings = field(default_factory=EngineSettings)
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    api_key_required: bool = False
    stored_keys: bool = False
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict)
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    log_format: str = "human"
    log_level: str = "info"
    log_requests: bool = False
    max_body_bytes: int = 32 * MIB
    bodies_mib: int = 1024
    answers_mib: int = 1024
    max_header_bytes: int = 64 * 1024
    max_requests: int = 4096
    keep_alive_s: float = 15.0
    head_timeout_s: float = 20.0
    body_timeout_s: float = 60.0
    send_timeout_s: float = 120.0
    shutdown_grace_s: float = 10.0
    data_dir: Path = field(default_factory=lambda: default_data_dir(os.environ))
    database: str | None = field(default=None, repr=False)
    bounds: Bounds = field(default_factory=Bounds)
    responses: KeptSettings = field(default_factory=KeptSettings)
    sources: SourceSettings = field(default_factory=SourceSettings)
    shared: SharedSettings = field(default_factory=SharedSettings)
    mutations: MutationSettings = field(default_factory=MutationSettings)
    prices: PriceSettings = field(default_factory=PriceSettings)
    alerts: AlertSettings = field(default_factory=lambda: read_alerts({}, os.environ))
    otel: OtelSettings = field(default_factory=OtelSettings)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise SettingsError("serve.port", f"{self.port} is not a port.", remedy="Use 1 to 65535, or 0.")
        self._check_limits()
        self._check_workers()
        self._check_pages()
        for name, known in (("log_format", FORMATS), ("log_level", LEVELS)):
            if (said := getattr(self, name)) not in known:
                raise SettingsError(f"serve.{name}", f"{said!r} is none of {', '.join(known)}.")
        for host in self.allowed_hosts:
            if not host or any(char in host for char in "/:@*, "):
                remedy = "Give names without scheme and port."
                raise SettingsError("serve.allowed_hosts", f"{host!r} is not a host name.", remedy=remedy)
        if not (self.api_keys or self.stored_keys) and not is_loopback(self.host):
            raise SettingsError(
                "serve.host",
                f"listening on {self.host} lets anyone on the network in, and no API key is configured.",
                remedy="'promptcache keys create NAME', or set PROMPTCACHE_API_KEYS, or listen on 127.0.0.1.",
            )
        self._check_models()
        if not self.diagnosis:
            check_undiagnosed(self.mutations, self.alerts, self.lines)
        for upstream in self.lines:
            for url in filter(self._leads_back, upstream.urls):
                raise SettingsError(
                    f"{upstream.where}.url",
                    f"{url} is this gateway itself.",
                    remedy="Name the server behind it, or listen on another port.",
                )
        if "://" in (self.database or "") and not self._names_database:
            raise SettingsError(
                "storage.database",
                "is no address of a database that can be used.",
                remedy="Give a file's path, sqlite:///PATH or postgresql://USER@HOST/NAME.",
            )

    def _check_workers(self) -> None:
        if not 1 <= self.workers <= MAX_WORKERS:
            raise SettingsError("serve.workers", f"must be from 1 to {MAX_WORKERS}.")
        if self.workers > 1 and any(line.kind == "engine" for line in self.lines):
            raise SettingsError(
                "serve.workers",
                "the built-in engine is one process, and its cache cannot be shared by several.",
                remedy="Leave it at 1, or name another server as the upstream.",
            )

    def _check_models(self) -> None:
        if self.upstream is not None and self.upstreams:
            raise SettingsError(
                "upstream",
                "there are [upstreams.NAME] too.",
                remedy="Give it a name among them, or leave them out.",
            )
        if self.models and not self.upstreams:
            raise SettingsError(
                "models", "there are no upstreams to lead to.", remedy="Name them as [upstreams.NAME]."
            )
        names = [line.name for line in self.upstreams]
        for model in self.models:
            for target in model.targets:
                if target.upstream not in names:
                    raise SettingsError(
                        f"models.{model.name}",
                        f"there is no upstream {target.upstream!r}.",
                        remedy=f"Known: {', '.join(names)}.",
                    )

    def _check_pages(self) -> None:
        for origin in self.cors_origins:
            if origin == "*":
                if not (self.api_keys or self.stored_keys or self.api_key_required):
                    raise SettingsError(
                        "serve.cors_origins",
                        "'*' lets every web page of every browser here in, and no key is asked for.",
                        remedy="Name the origins, or 'promptcache keys create NAME' first.",
                    )
                continue
            if not _is_origin(origin):
                raise SettingsError(
                    "serve.cors_origins",
                    f"{origin!r} is no origin.",
                    remedy="Write https://app.example, in lower case and without a path.",
                )

    def _check_limits(self) -> None:
        for name, least in (("max_body_bytes", 1024), ("max_header_bytes", 1024), ("max_requests", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"serve.{name}", f"must be at least {least}.")
        for name in ("bodies_mib", "answers_mib"):
            if not 1 <= getattr(self, name) <= MIB:
                raise SettingsError(f"serve.{name}", f"must be from 1 to {MIB}.")
        for name in _SECONDS:
            if not 0 <= getattr(self, name) <= 3600:
                raise SettingsError(f"serve.{name}", "must be from 0 to 3600 seconds.")

    @property
    def lines(self) -> tuple[UpstreamSettings, ...]:
        """All upstreams there are, the built-in engine where nothing else is named."""
        if self.upstreams:
            return self.upstreams
        return (UpstreamSettings(kind="engine") if self.upstream is None else self.upstream,)

    @property
    def bodies_bytes(self) -> int:
        """Bytes of memory that the bodies of requests under way may take together."""
        return self.bodies_mib * MIB

    @property
    def answers_bytes(self) -> int:
        """Bytes of memory that answers of upstreams may take together that are held whole."""
        return self.answers_mib * MIB

    @property
    def key_file(self) -> Path:
        """The file of keys that ``promptcache keys`` writes."""
        return self.data_dir / "keys.json"

    @property
    def database_address(self) -> Path | str:
        """The SQLite file to write to, or PostgreSQL's address."""
        if self.database is None:
            return self.data_dir / "promptcache.db"
        if self.database.startswith(_POSTGRES):
            return self.database
        return Path(self.database.removeprefix(_SQLITE)).expanduser()

    @property
    def _names_database(self) -> bool:
        return self.database is not None and self.database.startswith((_SQLITE, *_POSTGRES))

    def _leads_back(self, url: str) -> bool:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname or ""
        return port == self.port and (host == self.host or (is_loopback(host) and is_loopback(self.host)))


def _is_origin(text: str) -> bool:
    """Whether a text is a web page's origin, as browsers write it."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    bare = f"{parts.scheme}://{parts.netloc}"
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and text == bare.lower()


def keys_from(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The callers' keys in ``PROMPTCACHE_API_KEYS``, separated by commas.

    Raises:
        SettingsError: a key is too short to be one.
    """
    keys = tuple(key.strip() for key in environ.get("PROMPTCACHE_API_KEYS", "").split(",") if key.strip())
    if any(len(key) < 16 for key in keys):
        raise SettingsError(
            "PROMPTCACHE_API_KEYS",
            "a key has fewer than 16 characters.",
            remedy="Use longer ones, or 'promptcache keys create NAME'.",
        )
    return keys


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Where recorded data lies unless told otherwise: the user's data folder."""
    root = Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return root / "promptcache"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
