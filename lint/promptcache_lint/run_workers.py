"""A run in several processes: files are cut into runs of neighbours, so that shared modules are read once.

The result does not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from promptcache_lint.discovery import Found
    from promptcache_lint.run_file import FileResult

__all__ = ["run_in_processes", "worker_count"]

_WORTH_A_PROCESS = 200
"""Files below this number are read sooner than another process starts."""
_PARTS = 4


def worker_count(jobs: int, files: int) -> int:
    """How many processes to use when ``jobs`` are asked for; 0 asks for as many as are worth it."""
    if jobs > 0:
        return min(jobs, max(files, 1))
    return max(1, min(_processors(), files // _WORTH_A_PROCESS))


def _processors() -> int:
    """How many processors this process may use, where the system says so."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def run_in_processes(
    found: list[Found], roots: tuple[Path, ...], base: Path, cache: Path | None, jobs: int
) -> Iterable[FileResult]:
    """Lint files in ``jobs`` processes; results come in the order of the files."""
    size = max(1, -(-len(found) // (jobs * _PARTS)))
    parts = [found[start : start + size] for start in range(0, len(found), size)]
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        done = [pool.submit(_part, part, roots, base, cache) for part in parts]
        return list(chain.from_iterable(future.result() for future in done))


def _part(part: list[Found], roots: tuple[Path, ...], base: Path, cache: Path | None) -> list[FileResult]:
    from promptcache_lint.run import lint_in_order  # noqa: PLC0415 - `run` starts the processes

    return lint_in_order(part, roots, base, cache)
