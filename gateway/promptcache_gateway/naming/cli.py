"""``promptcache templates``: list, rename or merge the templates of a running gateway.

It asks the gateway's admin API, because a gateway remembers what its templates are called.
Exit status: 0 when done, 2 when it cannot be.
"""

from __future__ import annotations

import json
import sys
import urllib.error
from typing import TYPE_CHECKING, Any

from promptcache_gateway.admin_client import NEEDS_ADMIN_KEY, call_admin
from promptcache_gateway.command_parser import CANNOT, CommandParser
from promptcache_gateway.errors import GatewayError, StartupError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

_URL = "http://127.0.0.1:8400"
_ROW = "{:<40} {:>9} {:>7} {:>7} {:>12}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``promptcache templates`` with ``argv`` (what follows the command); the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.action == "list":
            print(_table(_ask(arguments.url, "templates", None)))
        else:
            print(_changed(arguments))
    except GatewayError as error:
        print(f"promptcache templates: {error}", file=sys.stderr)
        return CANNOT
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _changed(arguments: argparse.Namespace) -> str:
    merging = arguments.action == "merge"
    body = {"name": arguments.name, "into" if merging else "to": arguments.to, "tenant": arguments.tenant}
    done = _ask(arguments.url, f"templates/{arguments.action}", body)
    verb = "is a part of" if merging else "is called"
    return f"{arguments.name} {verb} {done['name']} now, with {done['requests']} recorded requests."


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [_ROW.format("template", "requests", "read", "could", "lost tokens")]
    for row in rows:
        rates = [_share(row[name]) for name in ("hit_rate", "achievable_hit_rate")]
        lost = "?" if row["lost_tokens"] is None else f"{row['lost_tokens']:,}"
        lines.append(_ROW.format(row["name"], f"{row['requests']:,}", *rates, lost))
    return "\n".join(lines)


def _share(rate: float | None) -> str:
    return "?" if rate is None else f"{rate:.1%}"


def _ask(url: str, path: str, body: Mapping[str, Any] | None) -> Any:
    """The gateway's answer; raises `StartupError` where it has none, or refuses."""
    try:
        return call_admin(url, path, body=body)
    except urllib.error.HTTPError as error:
        remedy = NEEDS_ADMIN_KEY if error.code in {401, 403} else ""
        raise StartupError(_reason(error), remedy=remedy) from error
    except (OSError, ValueError) as error:
        raise StartupError(f"no gateway answers at {url}.", remedy="Name it with --url.") from error


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        said = json.load(error)["error"]["message"]
    except (OSError, ValueError, KeyError, TypeError):
        said = None
    return said if isinstance(said, str) else f"the gateway refused with status {error.code}."


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="promptcache templates", description="The templates of a running gateway.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|rename|merge")
    added = [actions.add_parser("list", help="show them, with what they read and could read")]
    for action, to, text in (
        ("rename", "TO", "call a template otherwise"),
        ("merge", "INTO", "make a template a part of another one"),
    ):
        made = actions.add_parser(action, help=text)
        made.add_argument("name", metavar="NAME", help="the template, as it is called now")
        made.add_argument("to", metavar=to, help="what it is called from now on")
        made.add_argument("--tenant", metavar="TENANT", help="of this tenant only")
        added.append(made)
    for made in added:
        made.add_argument("--url", default=_URL, metavar="URL", help=f"the gateway ({_URL})")
    return parser
