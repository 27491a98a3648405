"""What each cause cost each template in a stretch of time, from the requests that are still kept.

A request's lost tokens are known for each of its causes; its money is split in the same proportion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Engine, func, select

from promptcache_gateway.store.schema import requests

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]

_CHUNK = 2_000


class Costs:
    """Questions about losses to the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def between(self, since: float, until: float, *, tenant: str | None = None) -> list[Json]:
        """Each template with its causes, dearest first, of requests in ``[since, until)`` (Unix seconds).

        Returns:
            ``[{name, requests, causes: [{code, requests, lost_tokens, lost_usd, first_seen, last_seen}]}]``;
            ``lost_usd`` is None where no price is known.
        """
        columns = requests.c
        during = (columns.time >= since) & (columns.time < until)
        if tenant is not None:
            during &= columns.tenant == tenant
        counts = select(columns.template, func.count(columns.seq)).where(during).group_by(columns.template)
        lossy = select(
            columns.template, columns.time, columns.losses, columns.lost_tokens, columns.lost_usd
        ).where(during, columns.lost_tokens > 0)
        causes: dict[str, dict[str, Json]] = {}
        with self._engine.connect() as connection:
            found = {row[0]: row[1] for row in connection.execute(counts)}
            for part in connection.execution_options(yield_per=_CHUNK).execute(lossy).mappings().partitions():
                for row in part:
                    _add(causes.setdefault(row["template"], {}), dict(row))
        listed = [
            {"name": name, "requests": count, "causes": sorted(causes.get(name, {}).values(), key=_rank)}
            for name, count in found.items()
        ]
        return sorted(listed, key=lambda entry: _rank(_sum(entry["causes"])))


def _add(causes: dict[str, Json], row: Mapping[str, Any]) -> None:
    for code, tokens in orjson.loads(row["losses"]).items():
        entry = causes.setdefault(
            code,
            {
                "code": code,
                "requests": 0,
                "lost_tokens": 0,
                "lost_usd": None,
                "first_seen": row["time"],
                "last_seen": row["time"],
            },
        )
        entry["requests"] += 1
        entry["lost_tokens"] += tokens
        if row["lost_usd"] is not None:
            entry["lost_usd"] = (entry["lost_usd"] or 0.0) + row["lost_usd"] * tokens / row["lost_tokens"]
        entry["first_seen"] = min(entry["first_seen"], row["time"])
        entry["last_seen"] = max(entry["last_seen"], row["time"])


def _sum(causes: list[Json]) -> Json:
    return {
        "lost_usd": sum(cause["lost_usd"] or 0.0 for cause in causes),
        "lost_tokens": sum(cause["lost_tokens"] for cause in causes),
        "code": "",
    }


def _rank(entry: Json) -> tuple[float, int, str]:
    """Money first, then tokens."""
    return (-(entry["lost_usd"] or 0.0), -entry["lost_tokens"], entry["code"])
