"""``promptcache serve``: say what is served and where, serve it, and say clearly what went wrong.

Exit status: 0 when stopped by a signal and for a passing ``--check``, 2 when it cannot start.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache.cli.stopping import AtOnce
from promptcache_gateway.arguments import make_settings, parse_arguments, telling_places
from promptcache_gateway.errors import GatewayError, StartupError
from promptcache_gateway.logs import configure
from promptcache_gateway.upstreams import check_upstreams, create_switchboard

if TYPE_CHECKING:
    import argparse
    import socket
    from collections.abc import Callable, Coroutine, Sequence

    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstreams.base import Upstream

CANNOT_START = 2
_YOUNG = 5_000  # values more than were freed after which the collector looks at the new ones
_logger = logging.getLogger("promptcache.gateway")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``promptcache serve`` with ``argv`` (what follows the command); the exit status."""
    arguments = parse_arguments(argv)
    try:
        settings = make_settings(arguments)
        with telling_places(arguments):
            if arguments.check:
                check_upstreams(settings)
                _say_they_are_fine(settings)
                return 0
            with AtOnce():
                _serve(settings, partial(read_settings, arguments), sys.argv[1:] if argv is None else argv)
    except GatewayError as error:
        print(f"promptcache serve: {error}", file=sys.stderr)
        return CANNOT_START
    except KeyboardInterrupt:
        return 0
    return 0


def read_settings(arguments: argparse.Namespace) -> Settings:
    """The settings, judged as far as they can be while nothing is started."""
    settings = make_settings(arguments)
    with telling_places(arguments):
        check_upstreams(settings)
    _warn(settings)
    return settings


def _say_they_are_fine(settings: Settings) -> None:
    print(f"The settings are fine: {_subject(settings)} on {_address(settings.host, settings.port)}.")
    for note in filter(None, (_undiagnosed(settings), _old_prices(settings), _own_limits(settings))):
        print(f"Note: {note}")


def _undiagnosed(settings: Settings) -> str | None:
    """What is to be said where nobody looks at requests."""
    return None if settings.diagnosis else "diagnosis is off: no cause, loss or ceiling will be known."


def _old_prices(settings: Settings) -> str | None:
    """What is to be said of old prices, where anything is paid for."""
    paid = any(line.kind != "engine" for line in settings.lines)
    return settings.prices.warning() if paid else None


def _own_limits(settings: Settings) -> str | None:
    """What is to be said of limits that several gateways on one database would each grant anew."""
    limited = any(
        one.requests_per_minute or one.tokens_per_minute or one.budget for one in settings.tenants.values()
    )
    alone = isinstance(settings.database_address, Path) or settings.shared.url is not None
    if alone or not limited:
        return None
    return (
        "limits a minute hold for this gateway alone, and others on its database see what budgets paid for "
        "after 5 seconds: name a store that all have in common, [shared] url, where there are several."
    )


def _warn(settings: Settings) -> None:
    if (warning := _old_prices(settings)) is not None:
        _logger.warning("%s", warning)


def _serve(settings: Settings, read_again: Callable[[], Settings], argv: Sequence[str]) -> None:
    try:
        from promptcache_gateway import app, server  # noqa: PLC0415 - the web framework is an extra
    except ImportError as error:
        raise StartupError(
            f"The gateway needs packages that are not installed ({error.name}).",
            remedy="pip install 'promptcache[gateway]'",
        ) from error
    check_upstreams(settings)
    configure(settings.log_format, settings.log_level)
    _warn(settings)
    with server.bind(settings.host, settings.port) as bound:
        # Where machines read the log, what is otherwise printed is a part of it.
        quiet = settings.log_format == "json"
        say, announce = (_logger.info, _log_address) if quiet else (_progress, _announce)
        say(f"Starting {_subject(settings)} …")
        if settings.workers > 1:
            from promptcache_gateway.shared import parent  # noqa: PLC0415 - for those who want several

            served = [line.upstream for line in create_switchboard(settings).lines]
            told = partial(announce, served, bound)
            run_loop(parent.serve_with_workers(settings, argv, bound, told, read_again))
            return
        gateway = app.create_app(settings, on_progress=say)
        told = partial(announce, gateway.upstreams, bound)
        run_loop(server.serve(gateway, settings, bound, told, read_again))


def run_loop(serving: Coroutine[Any, Any, None]) -> None:
    """Run what serves in an event loop, the faster one where it is there."""
    _spare_the_collector()
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


def _spare_the_collector() -> None:
    """Have Python's collector of cycles look at what was loaded never again, and at what is new less often.

    A request leaves a few hundred values in memory and hardly ever a cycle.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 10, 10)


def _announce(upstreams: Sequence[Upstream], bound: socket.socket) -> None:
    """Print where the gateway is and a client that works as it stands."""
    host, port = bound.getsockname()[:2]
    address = f"http://{_address(host, port)}"
    model = upstreams[0].health().get("model", "YOUR-MODEL")
    print(
        f"""\
promptcache serves {upstreams[0].name} on {address}

  base_url   {address}/v1
  dashboard  {address}/dashboard

  from openai import OpenAI

  client = OpenAI(base_url="{address}/v1", api_key="unused")
  answer = client.chat.completions.create(
      model="{model}",
      messages=[{{"role": "user", "content": "What is a radix tree?"}}],
      max_tokens=60,
  )
  print(answer.choices[0].message.content)
  print(answer.usage.prompt_tokens_details)

Stop with Ctrl+C.""",
        flush=True,
    )


def _log_address(upstreams: Sequence[Upstream], bound: socket.socket) -> None:
    host, port = bound.getsockname()[:2]
    names = [upstream.name for upstream in upstreams]
    fields = {"address": f"http://{_address(host, port)}", "upstreams": names}
    _logger.info("serving", extra={"fields": fields})


def _progress(line: str) -> None:
    print(line, flush=True)


def _subject(settings: Settings) -> str:
    if settings.upstreams:
        return f"the gateway in front of {', '.join(line.name for line in settings.upstreams)}"
    if settings.upstream is not None:
        return f"the gateway in front of {settings.upstream.url}"
    return f"the built-in engine with {settings.engine.model}"


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
