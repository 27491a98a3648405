"""Reads the JSON files that commands are given; what cannot be used is one error that names the file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from promptcache.errors import PromptCacheError

if TYPE_CHECKING:
    from pathlib import Path

_REQUEST = "Give a file that holds one request body as JSON."


class UnreadableError(PromptCacheError):
    """A file given on the command line does not hold what it should; ``path`` is the file."""

    def __init__(self, path: Path, problem: str, *, remedy: str = _REQUEST) -> None:
        super().__init__(f"{path}: {problem}.", remedy=remedy)
        self.path = path
        self.problem = problem


def read_object(path: Path, *, remedy: str = _REQUEST) -> dict[str, Any]:
    """Return the JSON object in a file; raises `UnreadableError`."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read", remedy=remedy) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, f"not JSON ({error})", remedy=remedy) from error
    if not isinstance(found, dict):
        problem = f"holds a JSON {type(found).__name__}, not an object"
        raise UnreadableError(path, problem, remedy=remedy)
    return found
