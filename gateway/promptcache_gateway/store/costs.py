"""What each cause cost each template in a stretch of time, from the requests that are still kept.

A request's lost tokens are known for each of its causes; its money is split in the same proportion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Engine, func, select

from promptcache_gateway.store.fronts import in_front
from promptcache_gateway.store.schema import requests

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]

_CHUNK = 2_000
_NOTHING: Json = {"requests": 0, "lost_tokens": 0, "lost_usd": None}


class Costs:
    """Questions about losses to the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def between(self, since: float, until: float, *, tenant: str | None = None) -> list[Json]:
        """Each template with its causes, dearest first, of requests in ``[since, until)`` (Unix seconds).

        Returns:
            ``[{name, requests, causes: [{code, requests, lost_tokens, lost_usd, first_seen, last_seen,
            behind}]}]``; ``lost_usd`` is None where no price is known. ``behind`` says of each code that
            stood in front in how many ``requests``, and what of the loss was in those:
            ``{code: {requests, lost_tokens, lost_usd}}``.
        """
        columns = requests.c
        during = (columns.time >= since) & (columns.time < until)
        if tenant is not None:
            during &= columns.tenant == tenant
        counts = select(columns.template, func.count(columns.seq)).where(during).group_by(columns.template)
        lossy = select(
            columns.template,
            columns.time,
            columns.losses,
            columns.places,
            columns.lost_tokens,
            columns.lost_usd,
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
    front = in_front(orjson.loads(row["places"])) if row["places"] else {}
    for code, tokens in orjson.loads(row["losses"]).items():
        new = {"code": code, **_NOTHING, "first_seen": row["time"], "last_seen": row["time"], "behind": {}}
        entry = causes.setdefault(code, new)
        usd = None if row["lost_usd"] is None else row["lost_usd"] * tokens / row["lost_tokens"]
        for part in (
            entry,
            *(entry["behind"].setdefault(other, {**_NOTHING}) for other in front.get(code, ())),
        ):
            part["requests"] += 1
            part["lost_tokens"] += tokens
            if usd is not None:
                part["lost_usd"] = (part["lost_usd"] or 0.0) + usd
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
