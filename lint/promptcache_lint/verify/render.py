"""Starts a process that renders the request in a world, and reads what it tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptcache_lint.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from promptcache_lint.verify.worlds import World

__all__ = ["Target", "render"]


@dataclass(frozen=True, slots=True)
class Target:
    """What to render: ``name`` (``module:function``), its arguments, the folder to import from.

    ``timeout_s`` bounds one process, in seconds.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    folder: Path
    timeout_s: float


def render(target: Target, world: World, calls: Sequence[World]) -> list[dict[str, Any]]:
    """The bodies of the requests of one process that begins in ``world``, one for each of ``calls``.

    Raises `RenderError` when the code cannot be imported, called, or renders nothing.
    """
    job = {
        "target": target.name,
        "args": list(target.args),
        "kwargs": dict(target.kwargs),
        "folder": str(target.folder),
        "world": world.to_dict(),
        "calls": [call.to_dict() for call in calls],
    }
    done = _run(target, world, json.dumps(job))
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RenderError(
            target.name, f"the process ended with status {done.returncode}: {last[:300]}"
        ) from error
    if "problem" in answer:
        hosts = ", ".join(dict.fromkeys(answer.get("network", [])))
        tried = f" It reached for the network ({hosts}), which is refused." if hosts else ""
        raise RenderError(target.name, f"{answer['problem']}.{tried}", remedy=_remedy(answer["problem"]))
    bodies: list[dict[str, Any]] = answer["bodies"]
    return bodies


def _run(target: Target, world: World, job: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(world.hash_seed), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-P", "-m", "promptcache_lint.verify.process"]
    try:
        return subprocess.run(  # noqa: S603 - the user asked to run this code
            command,
            input=job,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment,
            cwd=target.folder,
            timeout=target.timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        problem = f"it did not come to an end within {target.timeout_s:g} s."
        remedy = "The clock stands still in it: wait with time.sleep, or give more time with --timeout."
        raise RenderError(target.name, problem, remedy=remedy) from error


def _remedy(problem: str) -> str:
    if "required positional" in problem or "required keyword" in problem or "unexpected keyword" in problem:
        return "Give its arguments with --call '{\"name\": value}' or --call '[value]'."
    if "ModuleNotFoundError" in problem:
        return "Name the module as it is imported, or the file (path/to/file.py:function), from --path."
    if "AttributeError: module" in problem:
        return "Name a function of that module."
    if "is no request" in problem or problem.startswith("it yields"):
        return "Name a function that returns the request, its messages or its system prompt, or sends it."
    return "It must run by itself, without a server or a database."
