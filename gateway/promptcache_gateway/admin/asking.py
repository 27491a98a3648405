"""What the admin API's routes share: asking the store off the event loop, and reading their parameters."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from promptcache.causes import CAUSES
from promptcache_gateway.errors import ApiError, invalid_request
from promptcache_gateway.store.span import Span, Window

if TYPE_CHECKING:
    from promptcache_gateway.observe import Journal, Observer

PREFIX = "/promptcache/v1"
MAX_PAGE = 1_000

_CLOSING_S = 0.5  # how long a request that is just ending is waited for


async def ask(journal: Journal, question: Any) -> Any:
    """Ask the store off the event loop, after what is queued has been written."""

    def work() -> Any:
        journal.store.flush()
        return question()

    return await asyncio.to_thread(work)


async def find_request(observer: Observer, journal: Journal, request_id: str) -> dict[str, Any] | None:
    """One request, with the excerpts while they are in memory; one that is just ending is waited for."""
    for _ in range(int(_CLOSING_S / 0.01)):
        if not observer.is_open(request_id):
            break
        await asyncio.sleep(0.01)
    recent = journal.recent.get(request_id)
    if recent is not None:
        return recent.to_dict()
    found: dict[str, Any] | None = await ask(journal, lambda: journal.store.read.request(request_id))
    return found


async def list_templates(
    journal: Journal, tenant: str | None, window: Window | None, name: str | None = None
) -> list[dict[str, Any]]:
    """Templates with their totals, most money lost first, in a window of time or of all that was recorded."""
    if window is None:
        rows = await ask(journal, lambda: journal.store.read.templates(tenant=tenant, name=name))
    else:
        since = Span.ending_at(window, time.time()).start
        rows = await ask(journal, lambda: journal.store.templates_since(since, tenant, name))
    found: list[dict[str, Any]] = rows
    return found if journal.diagnosing else [_undiagnosed(row) for row in found]


def _undiagnosed(row: dict[str, Any]) -> dict[str, Any]:
    """Totals where diagnosis is off: what a look tells is unknown, unless it was on for some of them."""
    if row["hits"] or row["misses"] or row["lost_tokens"]:
        return row
    return {**row, **dict.fromkeys(("achievable_hit_rate", "write_amplification", "lost_tokens"))}


async def list_hours(journal: Journal, name: str, tenant: str | None) -> list[dict[str, Any]]:
    """The same of one template by the hour, the latest first."""
    found = await asyncio.to_thread(journal.store.read.hours, name, tenant=tenant)
    return found if journal.diagnosing else [_undiagnosed(row) for row in found]


async def find_template(
    journal: Journal, name: str, tenant: str | None, window: Window | None
) -> dict[str, Any]:
    """One template with its totals, in a window of time or of all that was recorded.

    Raises:
        ApiError: 404 where there is none of that name.
    """
    found = await list_templates(journal, tenant, window, name)
    if not found:
        raise ApiError(404, f"There is no template named {name[:128]!r}.", code="not_found")
    return found[0]


def code_of(cause: str | None) -> str | None:
    """The cause's code; raises `ApiError` 400 where there is none."""
    if cause is None:
        return None
    code = cause.upper()
    if code not in CAUSES:
        raise invalid_request(f"There is no cause {cause[:32]!r}.", "cause", "invalid_value")
    return code


def cursor_of(before: str | None) -> int | None:
    """The page's cursor; raises `ApiError` 400 where it is none."""
    if before is None:
        return None
    if not (before.isascii() and before.isdigit() and len(before) < 19):  # longer is no number of a database
        raise invalid_request("'before' must be the 'next' of an earlier page.", "before", "invalid_value")
    return int(before)
