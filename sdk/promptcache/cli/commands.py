"""Finds the commands: entry points of the group ``promptcache.commands``, each a ``main(argv) -> int``.

The rooms are never imported to list them, so their one-line summaries stand here; a command from another
package is listed without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

GROUP: Final = "promptcache.commands"

_SUMMARIES: Final = {
    "serve": "run the gateway, with the built-in engine or in front of another server",
    "lint": "find what breaks prompt caches, in prompts and in code",
    "rule": "explain one cause of a cache miss, or list all",
    "verify": "render a prompt twice in different worlds and compare",
    "diff": "say where one request leaves another, and why",
    "check": "say before sending whether a request will cache",
    "diagnose": "explain the misses in a log of requests",
    "simulate": "compute hit rates of a cache on a trace",
    "batch": "send a batch ordered by prefix",
    "templates": "list, rename or merge the templates of a running gateway",
    "keys": "administer the gateway's API keys",
    "prices": "show the prices that costs are computed with, or replace them",
}

_EXTRA_OF_MODULE: Final = {
    **dict.fromkeys(
        (
            "fastapi",
            "starlette",
            "uvicorn",
            "httptools",
            "uvloop",
            "aiohttp",
            "prometheus_client",
            "sqlalchemy",
        ),
        "gateway",
    ),
    **dict.fromkeys(("torch", "numpy", "tokenizers", "safetensors"), "engine"),
    "triton": "gpu",
    "litellm": "litellm",
    "redis": "redis",
    **dict.fromkeys(("tree_sitter", "tree_sitter_typescript", "tree_sitter_javascript"), "ts"),
}
_EXTRA_OF_COMMAND: Final = {"serve": "gateway", "batch": "gateway", "keys": "gateway"}


@dataclass(frozen=True, slots=True)
class Command:
    """A command that can be run: its name, one line about it, and where its ``main`` is."""

    name: str
    summary: str
    entry: EntryPoint


def find_commands() -> dict[str, Command]:
    """Return every installed command by name: the known ones in the order a newcomer reads, then others."""
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    order = [name for name in _SUMMARIES if name in entries]
    order += sorted(set(entries) - set(order))
    return {name: Command(name, _SUMMARIES.get(name, ""), entries[name]) for name in order}


def missing_extra(command: str, error: ImportError) -> str | None:
    """Return the extra that would bring what ``error`` misses, or None when it is a fault of our own.

    Only a third-party module that is wholly absent counts. A name missing from a module that is there, or a
    missing module of ours, is a bug and must be seen as one.
    """
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    root = error.name.partition(".")[0]
    if root.startswith("promptcache") or root != error.name:
        return None
    return _EXTRA_OF_MODULE.get(root) or _EXTRA_OF_COMMAND.get(command)
