"""Requests as a file: JSON Lines, or Parquet with one column for every field."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from promptcache_gateway.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMATS = ("jsonl", "parquet")
_GROUP = 10_000
_TEXTS = frozenset(
    {
        "id",
        "template",
        "tenant",
        "upstream",
        "model",
        "dialect",
        "error",
        "response_id",
        "key_id",
        "changes",
        *(
            f"diagnosis.{name}"
            for name in (
                "cause",
                "path",
                "compared_with",
                "summary",
                "remedy",
                "attribution",
                "losses",
                "places",
            )
        ),
    }
)
_FLOATS = ["time", "ttft_ms", "duration_ms", "saved_usd", "cost_usd", "diagnosis.lost_usd"]
_FLAGS = ["learned", "usage.reported", "diagnosis.hit", "diagnosis.estimated"]
_LEFT_OUT = frozenset({"diagnosis.before", "diagnosis.after"})  # never in the database


def write_jsonl(rows: Iterable[Mapping[str, Any]], file: BinaryIO) -> int:
    """Write one JSON object a line, in the admin API's shape; how many."""
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - counted
        file.write(orjson.dumps(row) + b"\n")
    return count


def write_parquet(rows: Iterable[Mapping[str, Any]], file: BinaryIO) -> int:
    """Write a table whose columns are the fields' paths (``usage.cached_tokens``); how many rows.

    Raises:
        StartupError: pyarrow is not installed.
    """
    try:
        pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")  # an extra, and without types
    except ImportError as error:
        raise StartupError(
            "Parquet needs a package that is not installed (pyarrow).",
            remedy="pip install 'promptcache[parquet]', or use --format jsonl.",
        ) from error
    count, waiting = 0, iter(rows)
    writer = schema = None
    try:
        while group := [flat(row) for row in itertools.islice(waiting, _GROUP)]:
            schema = schema or pa.schema([(name, _type(pa, name)) for name in group[0]])
            writer = writer or pq.ParquetWriter(file, schema, compression="zstd")
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
            count += len(group)
        if writer is None:
            pq.write_table(pa.table({"id": pa.array([], pa.string())}), file)
    finally:
        if writer is not None:
            writer.close()
    return count


def flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A request as one level of columns; a list of codes stays one, what else is nested becomes JSON."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        path = prefix + name
        if path in {"diagnosis.losses", "diagnosis.places", "changes"}:
            columns[path] = orjson.dumps(value).decode()
        elif isinstance(value, dict):
            columns.update(flat(value, f"{path}."))
        elif path not in _LEFT_OUT:
            columns[path] = value
    return columns


def _type(pa: Any, name: str) -> Any:
    if name == "diagnosis.causes":
        return pa.list_(pa.string())
    if name in _FLOATS:
        return pa.float64()
    if name in _FLAGS:
        return pa.bool_()
    return pa.string() if name in _TEXTS else pa.int64()
