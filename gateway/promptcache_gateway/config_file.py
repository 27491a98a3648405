"""Read ``promptcache.toml``: tables of settings, each checked for name and type.

An unknown name is an error with the nearest known one beside it: a setting that is silently
ignored is worse than none.
"""

from __future__ import annotations

import difflib
import tomllib
from typing import TYPE_CHECKING, Any

from promptcache_gateway.alert_settings import KEYS as ALERTS
from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.kept.settings import KEYS as RESPONSES
from promptcache_gateway.mutations.rules import KEYS as MUTATIONS
from promptcache_gateway.mutations.rules import UPSTREAM_KEYS as UPSTREAM_MUTATIONS
from promptcache_gateway.price_settings import KEYS as PRICES
from promptcache_gateway.price_settings import MODEL_KEYS as PRICES_OF_MODEL
from promptcache_gateway.shared.settings import KEYS as SHARED
from promptcache_gateway.telemetry.otel_settings import KEYS as OTEL

if TYPE_CHECKING:
    from pathlib import Path

# Table and key, and the type the value must have; tuple: a list whose items are checked elsewhere.
KEYS: dict[str, dict[str, type]] = {
    "serve": {
        "host": str,
        "port": int,
        "diagnosis": bool,
        "workers": int,
        "allowed_hosts": list,
        "cors_origins": list,
        "log_format": str,
        "log_level": str,
        "log_requests": bool,
        "max_body_bytes": int,
        "bodies_mib": int,
        "answers_mib": int,
        "max_header_bytes": int,
        "max_requests": int,
        "keep_alive_s": float,
        "head_timeout_s": float,
        "body_timeout_s": float,
        "send_timeout_s": float,
        "shutdown_grace_s": float,
        "api_key_required": bool,
        "lint_report": str,
    },
    "upstream": {
        "kind": str,
        "url": str,
        "apis": list,
        "connect_timeout_s": float,
        "read_timeout_s": float,
        "include_usage": bool,
        "retries": int,
        "retry_wait_s": float,
        "tenant_salt": bool,
        "diagnostics": str,
    },
    "engine": {
        "model": str,
        "dtype": str,
        "kv_dtype": str,
        "page_size": int,
        "kv_cache_tokens": int,
        "eviction_policy": str,
        "enable_prefix_caching": bool,
        "max_batch_tokens": int,
        "max_running": int,
        "max_waiting": int,
        "max_context": int,
        "scheduling_policy": str,
        "preemption": str,
        "max_restarts": int,
        "threads": int,
        "attention_backend": str,
        "decode_kernel": str,
        "cuda_graphs": str,
        "deterministic": bool,
        "chat_template": str,
    },
    "storage": {
        "data_dir": str,
        "database": str,
        "keep_requests": int,
        "keep_days": float,
        "max_mib": int,
    },
    "responses": RESPONSES,
    "shared": SHARED,
    "alerts": ALERTS,
    "otel": OTEL,
}
# Tables of tables: [upstreams.NAME].
NAMED: dict[str, dict[str, type]] = {
    "upstreams": {
        "kind": str,
        "url": str,
        "apis": list,
        "models": list,
        "api_key_env": str,
        "api_key_file": str,
        "connect_timeout_s": float,
        "read_timeout_s": float,
        "include_usage": bool,
        "retries": int,
        "retry_wait_s": float,
        "tenant_salt": bool,
        "diagnostics": str,
        "provider": str,
        "replicas": tuple,
        "replicas_dns": str,
        "replicas_file": str,
        "routing": str,
        "fleet": dict,
    },
    "templates": {
        "source": str,
    },
    "tenants": {
        "requests_per_minute": int,
        "tokens_per_minute": int,
        "budget_usd": float,
        "budget_period": str,
    },
}
# Tables with keys of their own, and tables of tables below: [mutations] and [mutations.upstreams.NAME].
NESTED: dict[str, tuple[dict[str, type], dict[str, dict[str, type]]]] = {
    "prices": (PRICES, {"models": PRICES_OF_MODEL}),
    "mutations": (UPSTREAM_MUTATIONS, {"upstreams": UPSTREAM_MUTATIONS, "templates": MUTATIONS}),
}
MODELS = "models"
OTHERS = frozenset({"lint"})  # tables of the same file that another command reads
_TYPE_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of strings",
    tuple: "a list of addresses or tables",
    dict: "a table",
}


def read_config(path: Path) -> dict[str, dict[str, Any]]:
    """The file's tables, checked.

    Raises:
        StartupError: the file cannot be read or is not TOML; the text has the line.
        SettingsError: a table, a key or a value's type is wrong; names file, key and remedy.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise StartupError(f"cannot read {path}: {(error.strerror or str(error)).lower()}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StartupError(f"{path} is not valid TOML: {error}.") from error
    return {name: _read(path, name, value) for name, value in tables.items() if name not in OTHERS}


def _read(path: Path, name: str, value: object) -> dict[str, Any]:
    if name == MODELS:
        return _models(path, value)
    if name in NESTED:
        return _nested(path, name, value)
    keys = NAMED.get(name)
    if keys is None:
        return _table(path, name, value, KEYS.get(name))
    if not isinstance(value, dict):
        raise _no_table(path, name, f"[{name}.NAME]")
    return {entry: _table(path, f"{name}.{entry}", item, keys) for entry, item in value.items()}


def _nested(path: Path, name: str, value: object) -> dict[str, Any]:
    keys, below = NESTED[name]
    if not isinstance(value, dict):
        raise _no_table(path, name, f"[{name}]")
    found = _table(path, name, {key: item for key, item in value.items() if key not in below}, keys)
    for group in [group for group in below if group in value]:
        if not isinstance(value[group], dict):
            raise _no_table(path, f"{name}.{group}", f"[{name}.{group}.NAME]")
        tables = value[group].items()
        found[group] = {
            entry: _table(path, f"{name}.{group}.{entry}", item, below[group]) for entry, item in tables
        }
    return found


def _models(path: Path, value: object) -> dict[str, list[str]]:
    """``[models]``: a name, and ``UPSTREAM/MODEL`` or a list of them, best first."""
    if not isinstance(value, dict):
        raise _no_table(path, MODELS, f"[{MODELS}]")
    return {name: _targets(path, name, item) for name, item in value.items()}


def _targets(path: Path, name: str, value: object) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if isinstance(listed, list) and listed and all(isinstance(item, str) for item in listed):
        return listed
    raise SettingsError(
        f"{path}: {MODELS}.{name}",
        f"must be 'UPSTREAM/MODEL' or a list of such texts, not {value!r:.60}.",
    )


def _table(path: Path, name: str, value: object, known: dict[str, type] | None) -> dict[str, Any]:
    if known is None:
        remedy = _nearest(name, [*KEYS, *NAMED, *NESTED, MODELS])
        raise SettingsError(f"{path}: [{name}]", "there is no such table.", remedy=remedy)
    if not isinstance(value, dict):
        raise _no_table(path, name, f"[{name}]")
    return {key: _value(path, f"{name}.{key}", known, key, item) for key, item in value.items()}


def _no_table(path: Path, name: str, written: str) -> SettingsError:
    return SettingsError(f"{path}: {name}", "must be a table.", remedy=f"Write {written} and its keys below.")


def _value(path: Path, dotted: str, known: dict[str, type], key: str, value: object) -> object:
    wanted = known.get(key)
    if wanted is None:
        remedy = _nearest(key, list(known))
        raise SettingsError(f"{path}: {dotted}", "there is no such setting.", remedy=remedy)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    right = isinstance(value, list if wanted is tuple else wanted) and not (
        isinstance(value, bool) and wanted is not bool
    )
    if right and wanted is list and isinstance(value, list):
        right = all(isinstance(item, str) for item in value)
    if not right:
        raise SettingsError(f"{path}: {dotted}", f"must be {_TYPE_NAMES[wanted]}, not {value!r:.60}.")
    return value


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}."
