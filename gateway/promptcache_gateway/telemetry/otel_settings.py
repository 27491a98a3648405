"""``[otel]`` of promptcache.toml: where spans go, under which name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptcache_gateway.errors import SettingsError, StartupError

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS: dict[str, type] = {"endpoint": str, "service_name": str, "max_queue": int}

_TRACES = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_GENERAL = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PATH = "/v1/traces"
_NEEDED = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtelSettings:
    """What was configured. Headers, certificates and sampling are read by the SDK from its own variables.

    Attributes:
        endpoint: the full address that spans are posted to (OTLP over HTTP); empty: none are made.
        service_name: the ``service.name`` of the resource.
        max_queue: records that may wait to become spans; more are dropped and counted.
    """

    endpoint: str = ""
    service_name: str = "promptcache-gateway"
    max_queue: int = 10_000

    def __post_init__(self) -> None:
        if not self.service_name.strip():
            raise SettingsError("otel.service_name", "must not be empty.")
        if not 1 <= self.max_queue <= 1_000_000:
            raise SettingsError("otel.max_queue", "must be from 1 to 1000000.")


def read_otel(table: Mapping[str, Any] | None, environ: Mapping[str, str]) -> OtelSettings:
    """The settings in ``[otel]``, its keys and types checked; None: there is no such table, and no spans.

    Raises:
        SettingsError: a value cannot be used.
        StartupError: the packages of the extra are not installed.
    """
    if table is None:
        return OtelSettings()
    values = {name: value for name, value in table.items() if name != "endpoint"}
    settings = OtelSettings(**values, endpoint=_endpoint(table.get("endpoint", ""), environ))
    _check_installed()
    return settings


def _endpoint(given: str, environ: Mapping[str, str]) -> str:
    """The full address; the SDK's own variables say it where the file does not."""
    where, url = "otel.endpoint", given
    if not url:
        if exact := environ.get(_TRACES, "").strip():
            return _checked(_TRACES, exact)
        where, url = _GENERAL, environ.get(_GENERAL, "").strip()
    if not url:
        raise SettingsError(
            "otel.endpoint", "is missing.", remedy=f"Name the collector, http://HOST:4318, or set {_GENERAL}."
        )
    url = _checked(where, url).rstrip("/")
    return url if url.endswith(_PATH) else url + _PATH


def _checked(where: str, url: str) -> str:
    """The address is not quoted: it may hold a secret."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise SettingsError(
            where,
            "is no http:// or https:// address.",
            remedy="Spans go by OTLP over HTTP, most often port 4318.",
        )
    return url


def _check_installed() -> None:
    for name in _NEEDED:
        try:
            found = find_spec(name) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise StartupError(
                f"[otel] needs packages that are not installed ({name}).",
                remedy="pip install 'promptcache[otel]', or leave the table out.",
            )
