"""``promptcache batch IN.jsonl OUT.jsonl``: send a file of requests so that each prefix is computed once.

Answers go to the output file, progress and what went wrong to standard error, the summary to standard output.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptcache.cli.output import show, show_json
from promptcache.errors import PromptCacheError
from promptcache.price_list import load_price_list
from promptcache_gateway.batch.errors import BatchError
from promptcache_gateway.batch.index import InputIndex
from promptcache_gateway.batch.journal import Journal
from promptcache_gateway.batch.patience import Patience
from promptcache_gateway.batch.report import Progress, describe
from promptcache_gateway.batch.run import Plan, Run, make_plan
from promptcache_gateway.batch.sender import Server
from promptcache_gateway.batch.tally import Tally
from promptcache_gateway.command_parser import CommandParser
from promptcache_gateway.settings import DEFAULT_PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.batch.answer import Noted

ALL_DONE: Final = 0
SOME_FAILED: Final = 1
COULD_NOT_RUN: Final = 2
INTERRUPTED: Final = 130

_DEFAULT = f"http://127.0.0.1:{DEFAULT_PORT}"
_KEY = "PROMPTCACHE_API_KEY"
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\x20-\x7e]*)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``promptcache batch``; the exit status: 0 all answered, 1 some failed, 2 could not run."""
    options = _parser().parse_args(argv)
    progress = Progress(sys.stderr, quiet=options.quiet)
    try:
        server = _server(options)
        index = InputIndex(options.input, endpoint=options.endpoint)
        try:
            index.build(lambda done: progress.reading(done, options.input.stat().st_size))
            return _run(options, server, index, progress)
        finally:
            index.close()
    except PromptCacheError as error:
        progress.end()
        print(f"promptcache batch: {error}", file=sys.stderr)
        return COULD_NOT_RUN


def _run(options: argparse.Namespace, server: Server, index: InputIndex, progress: Progress) -> int:
    tally = Tally(len(index), load_price_list().find)

    def earlier(noted: Noted) -> None:
        tally.earlier += 1
        tally.count(noted.usage, noted.model)

    journal = Journal(options.output, index, earlier)
    plan = make_plan(index, journal.finished, by_prefix=options.order == "prefix")
    status = COULD_NOT_RUN
    try:
        run = Run(index, journal, server, tally, partial(progress.sending, tally))
        asyncio.run(_send(options, run, plan, progress))
        status = SOME_FAILED if tally.failed else ALL_DONE
    except KeyboardInterrupt:
        progress.end()
        print("promptcache batch: interrupted; run the same command again to go on.", file=sys.stderr)
        status = INTERRUPTED
    finally:
        progress.end()
        journal.close()
        if tally.finished or tally.failed:
            _show(options, tally, plan)
    return status


async def _send(options: argparse.Namespace, run: Run, plan: Plan, progress: Progress) -> None:
    if not plan.order:
        return
    async with run.server as server:
        if options.upstream is None:
            remedy = "Start a gateway with 'promptcache serve', or name a server with --upstream URL."
            await server.greet("/health", remedy)
        else:
            await server.greet("/v1/models", "Give its base URL, as clients write it, with --upstream.")
        progress.begin()
        await run.go(plan, concurrency=options.concurrency, hold_s=options.hold)


def _show(options: argparse.Namespace, tally: Tally, plan: Plan) -> None:
    if options.output_format == "json":
        show_json({**tally.to_dict(), "shared_share": plan.shared})
    else:
        show(describe(tally, plan.shared))


def _server(options: argparse.Namespace) -> Server:
    return Server(
        options.upstream or _DEFAULT,
        key=_key(options),
        headers=dict(options.header),
        timeout_s=options.timeout,
        patience=Patience(retries=options.retries),
    )


def _key(options: argparse.Namespace) -> str | None:
    """The key to send. Ours is for our gateway: another server gets none that was not named for it."""
    name = options.api_key_env or (_KEY if options.upstream is None else None)
    key = os.environ.get(name, "").strip() if name else ""
    if options.api_key_env and not key:
        raise BatchError(f"--api-key-env: the environment has no {name}.")
    if not (key.isascii() and (not key or key.isprintable())):
        raise BatchError(f"what the environment holds as {name} is no key.")
    return key or None


def _address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no http:// or https:// address")
    return text


def _endpoint(text: str) -> str:
    if not re.fullmatch(r"/v1(/[a-z_]+)+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no path such as /v1/messages")
    return text


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not 'Name: value'")
    return found[1].lower(), found[2]


def _from(least: float, most: float, kind: type[int | float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = most + 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not from {least:g} to {most:g}")
        return number

    return read


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="promptcache batch",
        description="Send a file of requests in the order of their prefixes, so that each is computed once.",
        epilog="Exit: 0 all answered, 1 some failed, 2 could not run. The same command again goes on.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", metavar="IN.jsonl", type=Path, help="OpenAI's batch form, or a request body, on each line")
    add(
        "output",
        metavar="OUT.jsonl",
        type=Path,
        help="the answers in OpenAI's form; what it holds is not sent",
    )
    add("--upstream", metavar="URL", type=_address, help=f"the server (the gateway at {_DEFAULT})")
    add("--concurrency", metavar="N", type=_from(1, 4096, int), default=16, help="requests at a time (16)")
    add("--api-key-env", metavar="NAME", help=f"variable with the server's key ({_KEY}, for a gateway)")
    add("--header", metavar="'NAME: VALUE'", type=_header, action="append", default=[], help="sent with each")
    add("--endpoint", metavar="PATH", type=_endpoint, help="where bare bodies go (what their members tell)")
    add("--retries", metavar="N", type=_from(0, 100, int), default=5, help="times a request is repeated (5)")
    add("--timeout", metavar="SECONDS", type=_from(0.1, 86400, float), default=600.0, help="of silence (600)")
    add(
        "--hold",
        metavar="SECONDS",
        type=_from(0, 86400, float),
        default=30.0,
        help="longest wait for the first with one's prefix (30; 0: nobody waits)",
    )
    add("--order", choices=("prefix", "input"), default="prefix", help="of sending (prefix)")
    add("--output-format", choices=("text", "json"), default="text", help="of the summary")
    add("--quiet", action="store_true", help="no progress")
    return parser
