"""Reads a trace: Mooncake's format, or a log of requests, told apart by their first request.

Both are JSON objects, one a line. Lines that hold no request are skipped and counted.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptcache_engine.simulate.errors import TraceError
from promptcache_engine.simulate.mooncake import MOONCAKE_PAGE, read_mooncake
from promptcache_engine.simulate.request_log import read_request_log
from promptcache_engine.simulate.trace import Trace

_LOG_PAGE = 16


def read_trace(path: Path, page_size: int | None = None) -> Trace:
    """Read the trace at ``path`` with pages of ``page_size`` tokens (default: 512 for Mooncake, 16 for logs).

    Raises TraceError when the file cannot be read, holds no request, or knows no pages of that size.
    """
    objects, skipped = _objects(path)
    if not objects:
        raise TraceError(
            f"{path} holds no request.",
            remedy="Give one JSON object a line: a Mooncake trace or a request log.",
        )
    if "hash_ids" in objects[0][1]:
        return replace(read_mooncake(objects, page_size or MOONCAKE_PAGE), skipped=skipped)
    size = page_size or _LOG_PAGE
    log = read_request_log(objects, size)
    if not log.requests:
        raise TraceError(
            f"{path} holds no request.",
            remedy="A line needs `messages`, `prompt`, `input` or `tokens`, alone or in `request` or `body`.",
        )
    return Trace(log.requests, size, approximate=log.approximate, skipped=skipped + log.skipped)


def _objects(path: Path) -> tuple[list[tuple[int, Mapping[str, Any]]], int]:
    """Return the file's objects with their line numbers, and how many lines were something else."""
    objects: list[tuple[int, Mapping[str, Any]]] = []
    skipped = 0
    for number, line in _lines(path):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            objects.append((number, value))
        else:
            skipped += 1
    return objects, skipped


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise TraceError(
            f"{path}: {error.strerror or 'cannot be read'}.", remedy="Give the path of a readable file."
        ) from error
