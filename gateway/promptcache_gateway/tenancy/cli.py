"""``promptcache keys``: create, list and revoke the keys that callers show.

Exit status: 0 when done, 2 when it cannot be.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptcache_gateway.command_parser import CANNOT, CommandParser
from promptcache_gateway.config_file import read_config
from promptcache_gateway.errors import GatewayError
from promptcache_gateway.settings import Settings, default_data_dir
from promptcache_gateway.tenancy.budget_view import budget_rows
from promptcache_gateway.tenancy.budgets import Budget, dollars
from promptcache_gateway.tenancy.key_file import FILE_NAME, KeyFile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from promptcache_gateway.store.spending import Spent
    from promptcache_gateway.tenancy.key_file import StoredKey


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``promptcache keys`` with ``argv`` (what follows the command); the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        file = KeyFile(_folder(arguments) / FILE_NAME)
        if arguments.action == "create":
            _create(file, arguments)
        elif arguments.action == "revoke":
            key = file.revoke(arguments.key)
            print(f"Revoked {key.id} ({key.name}). A running gateway notices within a second.")
        else:
            keys = file.read()
            _list(keys, _spent(keys, arguments))
    except GatewayError as error:
        print(f"promptcache keys: {error}", file=sys.stderr)
        return CANNOT
    return 0


def _create(file: KeyFile, arguments: argparse.Namespace) -> None:
    budget = None
    if arguments.budget_usd is not None:
        budget = Budget.checked("--", arguments.budget_usd, arguments.budget_period)
    secret, key = file.create(arguments.name, tenant=arguments.tenant, admin=arguments.admin, budget=budget)
    kind = "an admin key" if key.admin else f"a key of the tenant {key.tenant!r}"
    # The key alone on stdout, so that a script can keep it; it is not shown again.
    print(f"Created {key.id}, {kind}. This is the only time it is shown:", file=sys.stderr)
    print(secret)


def _list(keys: list[StoredKey], spent: dict[str, str]) -> None:
    if not keys:
        print("There are no keys.")
        return
    rows: list[tuple[str, ...]] = [("ID", "NAME", "TENANT", "KIND", "CREATED", "STATE")]
    rows += [(key.id, key.name, key.tenant, _kind(key), _day(key.created_at), _state(key)) for key in keys]
    if spent:
        budgets = ["BUDGET", *(spent.get(key.id, "-") for key in keys)]
        rows = [(*row, said) for row, said in zip(rows, budgets, strict=True)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _spent(keys: list[StoredKey], arguments: argparse.Namespace) -> dict[str, str]:
    """What was spent of each key's budget, by the key's id; read from the gateway's database."""
    own = [key for key in keys if key.budget is not None and key.revoked_at is None]
    if not own:
        return {}
    now = time.time()
    try:
        found = _read_spending(arguments, Budget(1.0, "month").first_day(now))
    except (GatewayError, ImportError, OSError) as error:
        print(f"promptcache keys: what was spent is not known: {error}", file=sys.stderr)
        return {key.id: f"{key.budget}, spent: unknown" for key in own}
    return {row["key_id"]: _left(row) for row in budget_rows(own, {}, found, now)}


def _left(row: dict[str, Any]) -> str:
    said = f"{dollars(row['spent_usd'])} of {dollars(row['budget_usd'])} this {row['period']}"
    odd = row["unpriced_requests"]
    return f"{said}, and {odd} requests without a known cost" if odd else said


def _read_spending(arguments: argparse.Namespace, since_day: int) -> list[Spent]:
    """Raises `GatewayError` where the database cannot be read; one that is not there holds nothing."""
    from promptcache_gateway.store.spending import SpendingReader  # noqa: PLC0415 - heavy, and seldom needed

    tables = read_config(arguments.config) if arguments.config is not None else {}
    named = (
        tables.get("storage", {}).get("database") or os.environ.get("PROMPTCACHE_DATABASE_URL", "").strip()
    )
    settings = Settings(data_dir=_folder(arguments), database=named or None)
    address = settings.database_address
    if isinstance(address, Path) and not address.exists():
        return []
    reader = SpendingReader(address)
    try:
        return reader(since_day)
    finally:
        reader.close()


def _kind(key: StoredKey) -> str:
    return "admin" if key.admin else "caller"


def _state(key: StoredKey) -> str:
    return "opens" if key.revoked_at is None else f"revoked {_day(key.revoked_at)}"


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _folder(arguments: argparse.Namespace) -> Path:
    """Where the gateway that is told the same keeps its data."""
    if arguments.data_dir is not None:
        return Path(arguments.data_dir).expanduser()
    tables = read_config(arguments.config) if arguments.config is not None else {}
    named = tables.get("storage", {}).get("data_dir")
    return default_data_dir(os.environ) if named is None else Path(named).expanduser()


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="promptcache keys", description="The keys that callers of the gateway show.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    create = actions.add_parser("create", help="make a key and show it, once")
    create.add_argument("name", metavar="NAME", help="what to call it")
    create.add_argument("--tenant", metavar="NAME", help="whose requests it makes (the key's own name)")
    create.add_argument("--admin", action="store_true", help="it opens the admin API and the dashboard too")
    create.add_argument("--budget-usd", type=float, metavar="USD", help="what it may spend in a period")
    create.add_argument(
        "--budget-period", default="month", metavar="PERIOD", help="day or month, of UTC (month)"
    )
    listed = actions.add_parser("list", help="show all keys, without what opens")
    revoke = actions.add_parser("revoke", help="close a key")
    revoke.add_argument("key", metavar="ID|NAME", help="which")
    for action in (create, listed, revoke):
        action.add_argument("--data-dir", metavar="DIR", help="the gateway's folder of what is recorded")
        action.add_argument("--config", type=Path, metavar="FILE", help="the gateway's promptcache.toml")
    return parser
