"""What is configured of a fleet: its replicas, where they are found, how requests are routed among them.

Values are checked one by one here. Reading promptcache.toml is `config_file`'s business, keys of replicas are
read by `reading`; whether a replica answers is found out by those who ask it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from promptcache_gateway.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

Policy = Literal["prefix", "session", "least-load", "round-robin"]
POLICIES: tuple[Policy, ...] = get_args(Policy)

_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSettings:
    """One replica.

    Attributes:
        url: its base URL.
        name: how the admin API and metrics call it; empty: after its address.
        weight: its share of the work beside the others, above 0.
        max_concurrency: requests it gets at a time; None: any number.
        account: the provider's account that it uses.
        region: where the provider's cache lies. Replicas with the same account and region share a cache;
            without either, a replica has its own.
        api_key: sent to it instead of the upstream's key, or None.
        kv_events: ZMQ address of its events, empty: the fleet's.
        kv_replay: ZMQ address where missed ones are asked for, empty: the fleet's.
    """

    url: str
    name: str = ""
    weight: float = 1.0
    max_concurrency: int | None = None
    account: str = ""
    region: str = ""
    api_key: str | None = field(default=None, repr=False)
    kv_events: str = ""
    kv_replay: str = ""

    def __post_init__(self) -> None:
        check_url(self.url, "url")
        if not 0 < self.weight <= 1000:
            raise SettingsError("weight", "must be above 0 and at most 1000.")
        if self.max_concurrency is not None and self.max_concurrency < 1:
            raise SettingsError("max_concurrency", "must be at least 1.")
        for name in ("kv_events", "kv_replay"):
            check_zmq(getattr(self, name), name)

    @property
    def label(self) -> str:
        """What it is called."""
        return self.name or urlsplit(self.url).netloc

    @property
    def cache(self) -> str:
        """Which cache it reads."""
        shared = "/".join(one for one in (self.account, self.region) if one)
        return f"cache {shared}" if shared else self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """A fleet behind one upstream.

    Attributes:
        replicas: those that are listed.
        dns: an ``http://`` address whose name is looked up; each address it has is a replica.
        file: a TOML file with ``replicas``, read again whenever it changes.
        routing: a name of `POLICIES`.
        max_concurrency: requests a replica gets at a time where it names no number itself; None: any.
        health_path: asked with ``GET`` to know whether a replica is up; empty: never asked. None: ``/health``
            of servers behind plain HTTP.
        health_interval_s: seconds between two such questions.
        unhealthy_after: failures in a row after which a replica is left alone.
        lookup_s: seconds between two looks for replicas by name.
        hold_s: the longest that a request waits for the first output of another with the same cold prefix.
        hold_tokens: how much of it they must share.
        queue_s: the longest that a request waits while every replica has ``max_concurrency``.
        cache_tokens: tokens that a replica's cache holds, as far as is known.
        kv_events: ZMQ address of every replica's events, ``{host}`` for its host; empty: they send none.
        kv_replay: the same, where missed events are asked for.
    """

    replicas: tuple[ReplicaSettings, ...] = ()
    dns: str = ""
    file: Path | None = None
    routing: Policy = "prefix"
    max_concurrency: int | None = None
    health_path: str | None = None
    health_interval_s: float = 5.0
    unhealthy_after: int = 2
    lookup_s: float = 10.0
    hold_s: float = 5.0
    hold_tokens: int = 1024
    queue_s: float = 30.0
    cache_tokens: int = 2_000_000
    kv_events: str = ""
    kv_replay: str = ""

    def __post_init__(self) -> None:
        if not (self.replicas or self.dns or self.file):
            raise SettingsError("replicas", "there are none.", remedy="List one at least.")
        if self.routing not in POLICIES:
            raise SettingsError(
                "routing", f"{self.routing!r} is no policy.", remedy=f"Known: {', '.join(POLICIES)}."
            )
        labels = [replica.label for replica in self.replicas]
        if len(set(labels)) < len(labels):
            raise SettingsError("replicas", "two have the same name.", remedy="Give each a name of its own.")
        if self.dns:
            check_url(self.dns, "replicas_dns")
            if not self.dns.startswith("http:"):
                raise SettingsError(
                    "replicas_dns", "must be http://: no certificate is made out to an address."
                )
            if urlsplit(self.dns).port is None:
                raise SettingsError("replicas_dns", "names no port.", remedy="Write http://NAME:PORT.")
        if self.health_path and not self.health_path.startswith("/"):
            raise SettingsError("fleet.health_path", "must begin with '/'.")
        for name in ("kv_events", "kv_replay"):
            check_zmq(getattr(self, name), f"fleet.{name}", for_every_host=True)
        self._check_numbers()

    @property
    def tells_events(self) -> bool:
        """Whether any replica that is named sends KV events."""
        return bool(self.kv_events) or any(replica.kv_events for replica in self.replicas)

    def _check_numbers(self) -> None:
        bounds: dict[str, tuple[float, float]] = {
            "health_interval_s": (0.05, 3600),
            "unhealthy_after": (1, 100),
            "lookup_s": (0.05, 3600),
            "hold_s": (0, 60),
            "hold_tokens": (1, 10_000_000),
            "queue_s": (0, 600),
            "cache_tokens": (1024, 1_000_000_000),
        }
        if self.max_concurrency is not None:
            bounds["max_concurrency"] = (1, 100_000)
        for name, (least, most) in bounds.items():
            if not least <= getattr(self, name) <= most:
                raise SettingsError(f"fleet.{name}", f"must be from {least:g} to {most:g}.")


def check_url(url: str, where: str) -> None:
    """Raise `SettingsError` where a text is no base URL."""
    shown = "the address" if "@" in url else repr(url)  # it may hold a password
    remedy = "Write http://HOST:PORT or https://HOST/PATH."
    if _UNFIT.search(url):  # `urlsplit` takes some of them out
        raise SettingsError(
            where, f"{shown} holds a space or a character that no address has.", remedy=remedy
        )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        problem = f"{shown} is none" if "@" in url else f"{shown} is no address: {error}"
        raise SettingsError(where, f"{problem}.", remedy=remedy) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(where, f"{shown} is not an http:// or https:// address.", remedy=remedy)
    if parts.query or parts.fragment or parts.username:
        raise SettingsError(
            where,
            "the address must not hold a query, a fragment or a password.",
            remedy="Leave that out; a key goes into api_key_env or api_key_file.",
        )


def check_zmq(address: str, where: str, *, for_every_host: bool = False) -> None:
    """Raise `SettingsError` where a text is no address that ZMQ can connect to.

    ``for_every_host``: it may hold ``{host}``, for the host of each replica.
    """
    if not address:
        return
    asked = address.replace("{host}", "host") if for_every_host else address
    fault = _zmq_fault(asked)
    if fault:
        form = "tcp://{host}:PORT" if for_every_host else "tcp://HOST:PORT"
        raise SettingsError(where, f"{address!r} {fault}.", remedy=f"Write {form} or ipc://PATH.")


def _zmq_fault(address: str) -> str | None:
    """What is wrong with it; None: nothing."""
    kind, _, rest = address.partition("://")
    if kind not in {"tcp", "ipc"} or not rest:
        return "is no tcp:// or ipc:// address"
    if "{" in rest or "}" in rest:
        return "holds a name in braces that is not known here"
    if rest.startswith("*"):
        return "is an address to listen at, none to connect to"
    if any(character.isspace() for character in rest):
        return "holds a space"
    if kind == "ipc":
        return None
    host, _, port = rest.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        return "names no host and port"
    if ":" in host.rpartition(";")[2] and not host.endswith("]"):
        return "holds an IPv6 address without brackets"
    return None
