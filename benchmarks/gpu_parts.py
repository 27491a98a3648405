"""Parts of the GPU benchmark, each in a process of its own: one that fails, hangs or spoils the device costs
the others nothing, and its rows up to then are kept.

A part writes a row as soon as it has it, one line of JSON; what the rows say is the parts' business.
"""

import json
import math
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

Row = dict[str, Any]
Command = Callable[[Path], list[str]]
"""What runs a part that writes its rows to a file."""


def collect(command: Command, limit: float) -> tuple[list[Row], str]:
    """Run a part for at most ``limit`` seconds; its rows, and what went wrong, if something did."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.touch()
        fault = _fault(command(path), limit)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")], fault


def _fault(command: list[str], limit: float) -> str:
    """What went wrong with a process, if something did; what it started ends with it and leaves the device to
    the next part."""
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"it was stopped after {limit:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return f"it ended with status {status}" if status else ""


def text_of(value: object, indent: int | None = None) -> str:
    """As JSON, in which no number is NaN or infinite: such a one is null."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def write(rows: Iterator[Row], file: TextIO) -> None:
    """Write a part's rows as they come, and show them."""
    for row in rows:
        file.write(text_of(row) + "\n")
        file.flush()
        print("  ".join(f"{key}={shown(value)}" for key, value in row.items()), flush=True)


def attempt(name: str, work: Callable[..., Row | list[Row]], *args: Any, **options: Any) -> Iterator[Row]:
    """The rows of ``work``; an error is a row, too, so that those after it are still tried."""
    try:
        found = work(*args, **options)
    except Exception as error:  # noqa: BLE001 - whatever it is, this is not right
        because = f"{type(error).__name__}: {error}"[:300]
        yield {"operation": name, "right": False, "because": because}
        return
    yield from found if isinstance(found, list) else [found]


def shown(value: object) -> str:
    """Four digits of a number are enough to read."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
