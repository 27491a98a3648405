"""Which other files the findings in a file may depend on: those that its imports lead to, in the same tree.

Rather one too many than one too few: every file that an import could mean counts. What they hold is summed up
in one digest: modules that import each other in a ring share theirs, which covers what the ring imports.
None where this cannot be told from the text, as for templates that include others; such files are read in
every run.
"""

from __future__ import annotations

import os
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from promptcache_lint.readers.data import DataReader
from promptcache_lint.readers.jinja import JinjaReader
from promptcache_lint.readers.python.hinting import is_about_prompts, may_hold_prompt
from promptcache_lint.readers.python.reader import PythonReader
from promptcache_lint.readers.text import TextReader
from promptcache_lint.readers.typescript.grammar import grammar_version, is_installed
from promptcache_lint.readers.typescript.imported import ImportedFiles
from promptcache_lint.readers.typescript.reader import TypeScriptReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from promptcache_lint.readers.reading import InputFile, Reader, Workspace

    Targets = Callable[[str, str], Iterable[str]]

__all__ = ["dependencies_of"]

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>\.*[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#;]+)"
    r"|import[ \t]+(?P<modules>[^\n#;]+))",
    re.MULTILINE,
)
_OPENS_OTHERS = re.compile(r"\{%-?\+?\s*(?:include|import|from|extends|block)\b")
_REFERS = re.compile(r"\bfile:|!include")
_RENDERS_FILES = re.compile(r"\b(?:get_template|select_template|render_template)\(")
_READS_FILES = re.compile(r"\bread_text\(|\.read\(\)")
_LARGEST = 2_000_000
_OPEN = ""
"""The digest of a file that depends on others which its text does not tell."""


def dependencies_of(file: InputFile, reader: Reader, workspace: Workspace) -> str | None:
    """A digest of the other files; None where the file is not worth keeping results of."""
    text = file.source.text
    if isinstance(reader, PythonReader):
        if not (may_hold_prompt(text) if file.asked else is_about_prompts(text)):
            return None  # ruled out about as fast as it is looked up
        return _graph("python", workspace, lambda: _PythonImports(workspace.roots)).digest(
            str(file.path), text
        )
    if isinstance(reader, TypeScriptReader):
        if not reader.may_hold_prompt(file, workspace) or not is_installed():
            return None
        digest = _graph("typescript", workspace, lambda: ImportedFiles(workspace)).digest(
            str(file.path), text
        )
        return None if digest is None else f"{grammar_version()} {digest}"
    if isinstance(reader, JinjaReader):
        return None if _OPENS_OTHERS.search(text) else ""
    if isinstance(reader, DataReader | TextReader):
        return None if _REFERS.search(text) or _OPENS_OTHERS.search(text) else ""
    return None


def _graph(kind: str, workspace: Workspace, targets: Callable[[], Targets]) -> _Imports:
    """The graph of one language's files, which all lookups of a run share."""
    key = f"{kind} dependencies"
    graph = workspace.shared.get(key)
    if not isinstance(graph, _Imports):
        graph = workspace.shared[key] = _Imports(targets())
    return graph


class _Imports:
    """The files of a tree and what each imports (``targets`` of a path and its text), read once in a run."""

    def __init__(self, targets: Targets) -> None:
        self._targets_of = targets
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._digests: dict[str, str] = {}

    def digest(self, path: str, text: str) -> str | None:
        """A digest of all files that ``path``, which holds ``text``, imports, directly or not.

        None where one of them, or the file itself, depends on more than its imports tell.
        """
        if _reads_templates(text):
            return None
        parts = []
        for target in self._targets(path, text):
            if target not in self._digests:
                self._sum_up(target)
            parts.append(self._digests[target])
        return None if _OPEN in parts else _together(parts)

    def _sum_up(self, start: str) -> None:
        """Give every file that can be reached from ``start`` its digest: Tarjan's components, in a loop."""
        index: dict[str, int] = {start: 0}
        low: dict[str, int] = {start: 0}
        ring: list[str] = [start]
        waiting = [(start, iter(self._read(start)[1]))]
        while waiting:
            path, targets = waiting[-1]
            for target in targets:
                if target in self._digests:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    ring.append(target)
                    waiting.append((target, iter(self._read(target)[1])))
                    break
                low[path] = min(low[path], index[target])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    low[above] = min(low[above], low[path])
                if low[path] == index[path]:
                    self._close(ring[ring.index(path) :])
                    del ring[ring.index(path) :]

    def _close(self, members: list[str]) -> None:
        """One digest for the files of a ring: of what they hold, and of what they import outside of it."""
        outside = {target for path in members for target in self._read(path)[1]}.difference(members)
        own = [self._read(path)[0] for path in members]
        others = {self._digests[target] for target in outside}
        parts = [f"{path}\0{held}" for path, held in zip(members, own, strict=True)]
        digest = _OPEN if _OPEN in own or _OPEN in others else _together([*parts, *others])
        self._digests.update(dict.fromkeys(members, digest))

    def _read(self, path: str) -> tuple[str, tuple[str, ...]]:
        if path not in self._known:
            try:
                data = Path(path).read_bytes() if os.path.getsize(path) <= _LARGEST else b""  # noqa: PTH202
            except OSError:
                data = b""
            text = data.decode("utf-8", "replace")
            digest = _OPEN if _reads_templates(text) else sha256(data).hexdigest()
            self._known[path] = (digest, tuple(self._targets(path, text)))
        return self._known[path]

    def _targets(self, path: str, text: str) -> list[str]:
        return list(dict.fromkeys(self._targets_of(path, text)))


class _PythonImports:
    """The files that the imports of a Python file may mean."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = tuple(str(root) for root in roots)
        self._files: dict[tuple[str, str], tuple[str, ...]] = {}
        self._folders: dict[str, tuple[str, ...]] = {}

    def __call__(self, path: str, text: str) -> Iterator[str]:
        """Their paths, some of them twice."""
        folder = os.path.dirname(path)  # noqa: PTH120 - thousands of paths, as text
        for name in _imported(text):
            yield from self._meant(folder, name)

    def _meant(self, folder: str, dotted: str) -> tuple[str, ...]:
        key = (folder, dotted)
        if key not in self._files:
            self._files[key] = tuple(self._look(folder, dotted))
        return self._files[key]

    def _look(self, folder: str, dotted: str) -> Iterator[str]:
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [part for part in dotted.split(".") if part]
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)  # noqa: PTH120
            starts: tuple[str, ...] = (folder,)
        else:
            if not parts or parts[0] in sys.stdlib_module_names:
                return
            starts = self._starts(folder)
        for start in starts:
            place = start
            candidates = [f"{start}/__init__.py"] if level and not parts else []
            for part in parts:
                place = f"{place}/{part}"
                candidates += [f"{place}.py", f"{place}/__init__.py"]
                if not os.path.isdir(place):  # noqa: PTH112
                    break
            yield from (file for file in candidates if os.path.isfile(file))  # noqa: PTH113

    def _starts(self, folder: str) -> tuple[str, ...]:
        """The folder itself and those above it, up to one above the root, each with its ``src``."""
        if folder not in self._folders:
            found = [folder]
            for root in self._roots:
                if folder == root or folder.startswith(f"{root}/"):
                    limit = os.path.dirname(root)  # noqa: PTH120
                    above = os.path.dirname(folder)  # noqa: PTH120
                    while len(above) >= len(limit):
                        found += [above, f"{above}/src"]
                        if above == os.path.dirname(above):  # noqa: PTH120
                            break
                        above = os.path.dirname(above)  # noqa: PTH120
            self._folders[folder] = tuple(dict.fromkeys(found))
        return self._folders[folder]


def _reads_templates(text: str) -> bool:
    """Whether a program renders Jinja2 templates from files, whose names may come from anywhere."""
    return _RENDERS_FILES.search(text) is not None or (
        "jinja2" in text and _READS_FILES.search(text) is not None
    )


def _together(parts: list[str]) -> str:
    return sha256("\0".join(sorted(parts)).encode("utf-8", "surrogatepass")).hexdigest()


def _imported(text: str) -> Iterator[str]:
    """The dotted names that a module's imports may mean."""
    if "import" not in text:
        return
    for match in _IMPORT.finditer(text):
        if match["modules"]:
            yield from (part.split(" as ")[0].strip() for part in match["modules"].split(","))
            continue
        base = match["base"]
        yield base
        separator = "" if base.endswith(".") else "."
        for part in match["names"].strip("()").split(","):
            name = part.split("#")[0].split(" as ")[0].strip()
            if name.isidentifier():
                yield f"{base}{separator}{name}"
