"""``promptcache records``: export what a gateway recorded, or delete what it recorded of a tenant.

It works on the database, whether a gateway is running or not. What a running gateway remembers is deleted by
asking it (``--url``). Exit status: 0 when done, 2 when it cannot be.
"""

from __future__ import annotations

import sys
import urllib.error
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from promptcache_gateway.admin_client import NEEDS_ADMIN_KEY, call_admin
from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.command_parser import CANNOT, CommandParser
from promptcache_gateway.errors import GatewayError, SettingsError, StartupError
from promptcache_gateway.records.files import FORMATS, write_jsonl, write_parquet

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from sqlalchemy import Engine


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``promptcache records`` with ``argv`` (what follows the command); the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.action == "export":
            _export(arguments)
        elif arguments.url is not None:
            _said_deleted(_ask_gateway(arguments.url, arguments.tenant), arguments.tenant)
        else:
            _delete(arguments)
    except GatewayError as error:
        print(f"promptcache records: {error}", file=sys.stderr)
        return CANNOT
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _export(arguments: argparse.Namespace) -> None:
    from promptcache_gateway.store import exporting  # noqa: PLC0415 - needs the extra

    selection = exporting.Selection(
        arguments.tenant,
        arguments.template,
        _moment(arguments.since, "--since"),
        _moment(arguments.until, "--until"),
    )
    write = write_parquet if arguments.format == "parquet" else write_jsonl
    if arguments.output is None and arguments.format == "parquet":
        raise SettingsError("--output", "is missing: Parquet is not for a terminal.")
    if arguments.responses and (arguments.format == "parquet" or arguments.template is not None):
        raise SettingsError("--responses", "are JSON Lines, and belong to no template.")
    what = "responses" if arguments.responses else "requests"
    engine = _engine(arguments)
    try:
        export = exporting.exported_responses if arguments.responses else exporting.exported
        rows = export(engine, selection)
        if arguments.output is None:
            write(rows, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        try:
            with arguments.output.open("wb") as file:
                count = write(rows, file)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StartupError(f"cannot write {arguments.output}: {reason}.") from error
        print(f"Wrote {count} {what} to {arguments.output}.", file=sys.stderr)
    finally:
        engine.dispose()


def _delete(arguments: argparse.Namespace) -> None:
    from promptcache_gateway.store.deletion import delete_tenant  # noqa: PLC0415 - needs the extra

    engine = _engine(arguments)
    try:
        count = delete_tenant(engine, arguments.tenant)
    finally:
        engine.dispose()
    _said_deleted(count, arguments.tenant)
    print("What a running gateway remembers goes with a restart, or with --url.", file=sys.stderr)


def _said_deleted(count: int, tenant: str) -> None:
    print(f"Deleted {count} requests of the tenant {tenant!r}, its totals and its templates.")


def _ask_gateway(url: str, tenant: str) -> int:
    """Have a running gateway delete a tenant's records; raises `StartupError` where it does not."""
    try:
        return int(call_admin(url, f"tenants/{quote(tenant, safe='')}", method="DELETE")["requests"])
    except urllib.error.HTTPError as error:
        remedy = NEEDS_ADMIN_KEY if error.code in {401, 403} else ""
        raise StartupError(f"the gateway refused with status {error.code}.", remedy=remedy) from error
    except (OSError, ValueError, KeyError) as error:
        raise StartupError(f"no gateway answers at {url}.") from error


def _engine(arguments: argparse.Namespace) -> Engine:
    """The database of the gateway that is told the same."""
    try:
        from promptcache_gateway.store.database import open_database  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StartupError(
            f"The gateway's packages are not installed ({error.name}).",
            remedy="pip install 'promptcache[gateway]'",
        ) from error
    told: list[str] = []
    for option, value in (
        ("--config", arguments.config),
        ("--data-dir", arguments.data_dir),
        ("--database", arguments.database),
    ):
        told += [] if value is None else [option, str(value)]
    address = make_settings(parse_arguments(told)).database_address
    if isinstance(address, Path) and not address.exists():
        raise StartupError(
            f"there is no database {address}.", remedy="Name it with --database or --data-dir."
        )
    return open_database(address)


def _moment(given: str | None, option: str) -> float | None:
    """``2026-11-29``, ``2026-11-29T12:00`` (UTC unless it says otherwise) or a Unix time."""
    if given is None:
        return None
    try:
        return float(given)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(given)
    except ValueError as error:
        raise SettingsError(option, f"{given!r} is no time.", remedy="Write 2026-11-29T12:00.") from error
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="promptcache records", description="What a gateway recorded.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="export|delete")
    export = actions.add_parser("export", help="write the requests to a file")
    export.add_argument("--format", choices=FORMATS, default="jsonl", help="jsonl or parquet (jsonl)")
    export.add_argument(
        "--responses",
        action="store_true",
        help="the responses kept for previous_response_id instead, with their text ([responses] keep)",
    )
    export.add_argument("--output", "-o", type=Path, metavar="FILE", help="the file (standard output)")
    export.add_argument("--tenant", metavar="NAME", help="of this tenant only")
    export.add_argument("--template", metavar="NAME", help="of this template only")
    export.add_argument("--since", metavar="TIME", help="from then on: 2026-11-29T12:00, or a Unix time")
    export.add_argument("--until", metavar="TIME", help="before then")
    removal = actions.add_parser("delete", help="delete everything that was recorded of a tenant")
    removal.add_argument("--tenant", metavar="NAME", required=True, help="whose records")
    removal.add_argument(
        "--url",
        metavar="URL",
        help="ask the gateway that runs there, so that it forgets too (PROMPTCACHE_API_KEY)",
    )
    for action in (export, removal):
        _add_place(action)
    return parser


def _add_place(action: Any) -> None:
    action.add_argument("--config", type=Path, metavar="FILE", help="the gateway's promptcache.toml")
    action.add_argument("--data-dir", metavar="DIR", help="the gateway's folder of what is recorded")
    action.add_argument("--database", "--database-url", metavar="PATH|URL", help="the gateway's database")
