"""What could be changed so that a finding goes away: the best first. `trial` finds out which work."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from promptcache_lint.fixes import line_to_tail, python_line_to_tail, python_order, template_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache_lint.findings import Finding
    from promptcache_lint.fixes.fix import Fix
    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.reading import InputFile

__all__ = ["candidates"]

_PYTHON = {".py", ".pyi"}
_ORDER = ("PC2", "PC301")
_VOLATILE = "PC1"


def candidates(finding: Finding, file: InputFile, prompts: Sequence[Prompt]) -> Iterator[Fix]:
    """Changes to ``file`` that may cure ``finding``."""
    is_python = file.path.suffix.lower() in _PYTHON
    if finding.code.startswith(_ORDER):
        if is_python:
            tree = _parsed(file.source.text)
            if tree is not None:
                yield from python_order.propose(finding, file.source, tree)
        else:
            yield from template_order.propose(finding, file.source)
    elif finding.code.startswith(_VOLATILE):
        if is_python:
            tree = _parsed(file.source.text)
            if tree is not None:
                yield from python_line_to_tail.propose(finding, file.source, tree, prompts)
        else:
            yield from line_to_tail.propose(finding, file, prompts)


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
