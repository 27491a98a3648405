"""The command line of ``promptcache serve``, and how it, the file and the environment become settings.

What the command line says wins over the file; secrets come from the environment.
"""

from __future__ import annotations

import argparse
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_gateway.alert_settings import read_alerts
from promptcache_gateway.bounds import read_bounds
from promptcache_gateway.command_parser import CommandParser
from promptcache_gateway.config_file import read_config
from promptcache_gateway.diagnosis_setting import read_diagnosis
from promptcache_gateway.engine_settings import read_engine
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.kept.settings import read_kept
from promptcache_gateway.mutations.rules import read_mutations
from promptcache_gateway.named_upstreams import read_models, read_upstream, read_upstreams
from promptcache_gateway.price_settings import read_prices
from promptcache_gateway.setting_places import VARIABLES, located
from promptcache_gateway.settings import (
    DEFAULT_PORT,
    Settings,
    default_data_dir,
    keys_from,
)
from promptcache_gateway.shared.settings import read_shared
from promptcache_gateway.telemetry.otel_settings import read_otel
from promptcache_gateway.template_sources import read_sources
from promptcache_gateway.tenancy.key_file import FILE_NAME, KeyFile
from promptcache_gateway.tenancy.limits import read_tenants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse ``serve``'s arguments; says what is wrong in one line and exits with 2."""
    return _parser().parse_args(argv)


def make_settings(arguments: argparse.Namespace, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a parsed command line.

    Raises:
        StartupError: the configuration file cannot be read.
        SettingsError: a value cannot be used.
    """
    environ = os.environ if environ is None else environ
    tables = read_config(arguments.config) if arguments.config is not None else {}
    for table, key, value in _given(arguments):
        tables.setdefault(table, {})[key] = value
    with telling_places(arguments, environ):
        return _settings(tables, arguments.config, environ)


@contextmanager
def telling_places(arguments: argparse.Namespace, environ: Mapping[str, str] | None = None) -> Iterator[None]:
    """Have a `SettingsError` raised inside say where its setting was told: option, file or variable."""
    try:
        yield
    except SettingsError as error:
        spellings = _parser().spellings()
        options = {f"{table}.{key}": spellings[f"{table}.{key}"] for table, key, _ in _given(arguments)}
        raise located(
            error, options, arguments.config, os.environ if environ is None else environ
        ) from error.__cause__


def _settings(tables: Mapping[str, Any], config: Path | None, environ: Mapping[str, str]) -> Settings:
    storage = tables.get("storage", {})
    named = storage.get("data_dir")
    data_dir = default_data_dir(environ) if named is None else Path(named).expanduser()
    return Settings(
        **_serve(tables.get("serve", {})),
        diagnosis=read_diagnosis(tables.get("serve", {}), environ),
        upstream=read_upstream(tables.get("upstream", {}), environ),
        upstreams=read_upstreams(tables, environ),
        models=read_models(tables.get("models", {})),
        engine=read_engine(tables.get("engine", {})),
        api_keys=keys_from(environ),
        stored_keys=bool(KeyFile(data_dir / FILE_NAME).read()),
        tenants=read_tenants(tables.get("tenants", {})),
        data_dir=data_dir,
        database=storage.get("database") or environ.get(VARIABLES["storage.database"], "").strip() or None,
        bounds=read_bounds(storage),
        responses=read_kept(tables.get("responses", {})),
        sources=read_sources(tables, config),
        shared=read_shared(tables.get("shared", {}), environ),
        prices=read_prices(tables.get("prices", {}), config),
        alerts=read_alerts(tables.get("alerts", {}), environ),
        otel=read_otel(tables.get("otel"), environ),
        mutations=read_mutations(tables.get("mutations", {}), _names(tables)),
    )


def _names(tables: Mapping[str, Any]) -> frozenset[str] | None:
    """The names of the upstreams, where there are several; a single one is called after its address."""
    return frozenset(tables["upstreams"]) if tables.get("upstreams") else None


def _given(arguments: argparse.Namespace) -> list[tuple[str, str, Any]]:
    """What the command line says, as (table, key, value)."""
    given = []
    for name, value in vars(arguments).items():
        table, dot, key = name.partition(".")
        if dot and value is not None:
            given.append((table, key, value))
    return given


def _serve(table: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in table.items() if key not in {"diagnosis", "lint_report"}}
    lists = {key: tuple(table.get(key, ())) for key in ("allowed_hosts", "cors_origins")}
    return {**given, **lists}


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="promptcache serve",
        description="An OpenAI-compatible gateway, with the built-in engine unless --upstream is given.",
        epilog=(
            "Environment: PROMPTCACHE_UPSTREAM_API_KEY is sent to the upstream instead of the caller's key; "
            "PROMPTCACHE_API_KEYS (comma-separated) are the keys callers must show; "
            "PROMPTCACHE_DATABASE_URL is where it records; PROMPTCACHE_DIAGNOSIS=false is --no-diagnosis."
        ),
        allow_abbrev=False,
    )
    _add_gateway(parser.add_argument_group("gateway"))
    _add_engine(parser.add_argument_group("built-in engine"))
    return parser


def _add_gateway(group: argparse._ArgumentGroup) -> None:
    def option(*names: str, to: str, **more: Any) -> None:
        group.add_argument(*names, dest=to, default=None, **more)

    option("--upstream", to="upstream.url", metavar="URL", help="forward to this server")
    option(
        "--upstream-kind",
        to="upstream.kind",
        metavar="KIND",
        help="the API it speaks: openai or anthropic (openai)",
    )
    option("--host", to="serve.host", metavar="HOST", help="address to listen on (127.0.0.1)")
    option(
        "--port",
        to="serve.port",
        type=_whole,
        metavar="PORT",
        help=f"port to listen on ({DEFAULT_PORT}; 0 takes a free one)",
    )
    option("--workers", to="serve.workers", type=_whole, metavar="N", help="processes that answer (1)")
    option(
        "--allowed-host",
        to="serve.allowed_hosts",
        action="append",
        metavar="NAME",
        help="a further name it may be called by, and whose web pages may call it; may be repeated",
    )
    option(
        "--cors-origin",
        to="serve.cors_origins",
        action="append",
        metavar="ORIGIN",
        help="an origin whose pages may use the model APIs; may be repeated",
    )
    option("--log-format", to="serve.log_format", metavar="FORMAT", help="human or json (human)")
    option("--log-level", to="serve.log_level", metavar="LEVEL", help="debug, info, warning or error (info)")
    option(
        "--log-requests",
        to="serve.log_requests",
        action="store_true",
        help="a line for every request, without any of its text",
    )
    looked = "count and record requests, and look at none"
    option("--no-diagnosis", to="serve.diagnosis", action="store_false", help=looked)
    option(
        "--max-body-bytes",
        to="serve.max_body_bytes",
        type=_whole,
        metavar="N",
        help="largest request body (33554432)",
    )
    option(
        "--shutdown-grace",
        to="serve.shutdown_grace_s",
        type=_seconds,
        metavar="SECONDS",
        help="time that running requests get to end when it is stopped (10)",
    )
    option(
        "--api-key-required",
        to="serve.api_key_required",
        action="store_true",
        help="ask for a key even while none exists",
    )
    option("--data-dir", to="storage.data_dir", metavar="DIR", help="folder of what is recorded")
    option(
        "--database",
        "--database-url",
        to="storage.database",
        metavar="PATH|URL",
        help="SQLite file instead of --data-dir/promptcache.db, or postgresql://USER@HOST/NAME",
    )
    group.add_argument("--config", type=Path, metavar="FILE", help="promptcache.toml with the same settings")
    group.add_argument("--check", action="store_true", help="check the settings and exit")


def _add_engine(group: argparse._ArgumentGroup) -> None:
    def option(*names: str, to: str, **more: Any) -> None:
        group.add_argument(*names, dest=f"engine.{to}", default=None, **more)

    option("--model", to="model", metavar="NAME|PATH", help="model to serve (smollm2-135m-instruct)")
    option("--dtype", to="dtype", metavar="DTYPE", help="float32, bfloat16 or float16")
    option(
        "--kv-cache-dtype",
        to="kv_dtype",
        metavar="DTYPE",
        help="the same for keys and values, or fp8 or int8 (bfloat16; with --deterministic as --dtype)",
    )
    option(
        "--page-size",
        "--block-size",
        "--kv-cache-page-size",
        to="page_size",
        type=_whole,
        metavar="N",
        help="tokens a page of the cache holds (16)",
    )
    option("--kv-cache-tokens", to="kv_cache_tokens", type=_whole, metavar="N", help="tokens the cache holds")
    option(
        "--eviction-policy", to="eviction_policy", metavar="NAME", help="which prefix goes first (learned)"
    )
    option(
        "--enable-prefix-caching",
        to="enable_prefix_caching",
        action="store_true",
        help="reuse prefixes, as it does anyway",
    )
    option(
        "--no-enable-prefix-caching",
        "--disable-radix-cache",
        to="enable_prefix_caching",
        action="store_false",
        help="compute every prompt from its first token",
    )
    _add_scheduler(option)
    option(
        "--chat-template", to="chat_template", metavar="FILE", help="Jinja file instead of the model's own"
    )
    for name, to, text in (
        ("--attention-backend", "attention_backend", "what computes on a GPU: auto, triton or torch (auto)"),
        ("--decode-kernel", "decode_kernel", "what computes answers on a CPU: auto, native or torch (auto)"),
        ("--cuda-graphs", "cuda_graphs", "record a GPU's decode steps at the start: auto, on or off (auto)"),
    ):
        option(name, to=to, metavar="NAME", help=text)
    option(
        "--no-cuda-graphs",
        "--enforce-eager",
        to="cuda_graphs",
        action="store_const",
        const="off",
        help="launch every step kernel by kernel",
    )
    option(
        "--deterministic",
        to="deterministic",
        action="store_true",
        help="no result depends on batch or chunk size; slow",
    )


def _add_scheduler(option: Callable[..., None]) -> None:
    """What bounds and orders the engine's work, under its peers' names too."""
    for names, to, text in (
        (("--max-batch-tokens", "--max-num-batched-tokens"), "max_batch_tokens", "tokens of a step (512)"),
        (("--max-running", "--max-num-seqs"), "max_running", "sequences computed together (16)"),
        (("--max-waiting",), "max_waiting", "requests queued beyond those; one more gets 429 (256)"),
        (("--max-context", "--max-model-len"), "max_context", "tokens of prompt and answer together"),
        (("--threads",), "threads", "CPU threads"),
        (("--max-restarts",), "max_restarts", "times a dead worker is replaced in ten minutes (3)"),
    ):
        option(*names, to=to, type=_whole, metavar="N", help=text)
    option(
        "--scheduling-policy",
        to="scheduling_policy",
        metavar="NAME",
        help="fewest-missing: prompts of which little is missing first; or fcfs",
    )
    option(
        "--preemption",
        to="preemption",
        metavar="NAME",
        help="keep: a sequence that gives way leaves its pages cached; or recompute",
    )
