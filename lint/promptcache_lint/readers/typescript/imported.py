"""The files that a TypeScript or JavaScript file imports, told from its text alone, without parsing it.

Rather one too many than one too few: an import in a comment counts as well.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.readers.reading import Workspace

__all__ = ["ImportedFiles"]

_SPECIFIER = re.compile(
    r"""(?:\bfrom|\bimport|\brequire)\s*\(?\s*(?:/\*[^*]*\*/\s*)?(?P<quote>["'`])(?P<name>[^"'`\n]{1,300})(?P=quote)"""
)


class ImportedFiles:
    """Answers for the files of one run, each folder's imports looked up once."""

    def __init__(self, workspace: Workspace) -> None:
        self._program = Program(workspace)

    def __call__(self, path: str, text: str) -> Iterator[str]:
        """The paths of the files that ``path``, which holds ``text``, imports, and its ``tsconfig.json``."""
        if path.endswith(".json"):
            return
        folder = Path(path).parent
        config = self._program.config_file(folder)
        if config is not None:
            yield str(config)
        for match in _SPECIFIER.finditer(text):
            target = self._program.file_of(folder, match["name"])
            if target is not None and str(target) != path:
                yield str(target)
