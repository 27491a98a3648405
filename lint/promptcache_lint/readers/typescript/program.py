"""The files of a tree as one program: which file an import means, and what it exports.

Relative imports, ``index`` files, the ``.js`` spelling of TypeScript's own modules, ``@/`` and ``~/``, and
the ``paths`` of a ``tsconfig.json`` are followed; packages are known by name only.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.typescript.grammar import SUFFIXES, parse
from promptcache_lint.readers.typescript.module import Module

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_lint.places import Source
    from promptcache_lint.readers.reading import Workspace
    from promptcache_lint.readers.typescript.module import Import

__all__ = ["Program", "parse_module"]

_TRIED = (".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs")
_SAME = {".js": (".ts", ".tsx"), ".mjs": (".mts",), ".cjs": (".cts",), ".jsx": (".tsx",)}
_LARGEST = 400_000
_DEEPEST = 8
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_IMPORTED_TYPE = re.compile(rb"""\bimport\((?:"[^"\n]*"|'[^'\n]*')\)(?=(?:\.\w+)+<)""")
"""``import("./x").Kind<…>`` as a type, which the grammar cannot read; a name of that length can."""
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def parse_module(path: Path, source: Source) -> Module:
    """Parse a file, whatever its errors; raises `MissingExtraError` without tree-sitter."""
    data = source.text.encode("utf-8", "replace")
    tree = parse(data, path.suffix.lower())
    if tree.root_node.has_error and b"import(" in data:
        tree = parse(_IMPORTED_TYPE.sub(_as_name, data), path.suffix.lower())
    return Module(path, source, tree, data)


def _as_name(match: re.Match[bytes]) -> bytes:
    return b"_" * len(match[0])


class Program:
    """Modules by path, read when an import asks for them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._modules: dict[Path, Module | None] = {}
        self._displayed: dict[str, Module] = {}
        self._paths: dict[Path, tuple[Path, dict[str, list[str]]]] = {}
        self._resolved: dict[tuple[Path, str], Path | None] = {}
        self._config_files: dict[Path, Path | None] = {}
        self.size = 0

    def known(self, path: Path, source: Source) -> Module | None:
        """A module that an import has brought in already, if it has this very text."""
        module = self._modules.get(path)
        return module if module is not None and module.source.text == source.text else None

    def displayed(self, path: str) -> Module | None:
        """The module that findings call ``path``, if it has been parsed."""
        return self._displayed.get(path)

    def add(self, module: Module) -> None:
        """A module that was parsed outside."""
        self._modules[module.path] = module
        self._displayed[module.source.path] = module
        self.size += len(module.data)

    def imported(self, module: Module, specifier: str) -> Module | None:
        """The module of the tree that an import means; None for packages and what cannot be read."""
        path = self.file_of(module.path.parent, specifier)
        return self._load(path) if path is not None else None

    def file_of(self, folder: Path, specifier: str) -> Path | None:
        """The file of the tree that an import in ``folder`` means; None for packages."""
        key = (folder, specifier)
        if key not in self._resolved:
            self._resolved[key] = self._resolve(folder, specifier)
        return self._resolved[key]

    def config_file(self, folder: Path) -> Path | None:
        """The ``tsconfig.json`` or ``jsconfig.json`` that says what imports in ``folder`` mean."""
        if folder not in self._config_files:
            tried = (folder / name for name in ("tsconfig.json", "jsconfig.json"))
            found = next((path for path in tried if path.is_file()), None)
            roots = self._workspace.roots
            inside = folder not in roots and any(root in folder.parents for root in roots)
            if found is None and inside:
                found = self.config_file(folder.parent)
            self._config_files[folder] = found
        return self._config_files[folder]

    def exported(self, module: Module, name: str, depth: int = 0) -> tuple[Module, str] | None:
        """The module and local name behind an export, through re-exports; None where it is not found."""
        if name in module.exports:
            return module, module.exports[name]
        if depth > _DEEPEST:
            return None
        if name in module.passed_on:
            return self.followed(module, module.passed_on[name], depth + 1)
        for specifier in module.stars:
            target = self.imported(module, specifier)
            found = self.exported(target, name, depth + 1) if target is not None else None
            if found is not None:
                return found
        return None

    def followed(self, module: Module, what: Import, depth: int = 0) -> tuple[Module, str] | None:
        """Where an imported name is defined: (module, local name), ``*`` for the whole module."""
        target = self.imported(module, what.specifier)
        if target is None or depth > _DEEPEST:
            return None
        if what.name == "*":
            return target, "*"
        found = self.exported(target, what.name, depth)
        if found is None and what.name in {"default", "*"}:
            return target, "export default"
        if found is not None and found[1] in found[0].imports:
            return self.followed(found[0], found[0].imports[found[1]], depth + 1)
        return found

    def member(self, module: Module, what: Import, name: str) -> tuple[Module, str] | None:
        """Where ``lib.name`` is defined, if the import is that of a whole module, through its re-exports."""
        whole = self.followed(module, what)
        if whole is None or whole[1] != "*":
            return None
        found = self.exported(whole[0], name)
        if found is not None and found[1] in found[0].imports:
            return self.followed(found[0], found[0].imports[found[1]])
        return found

    def _load(self, path: Path) -> Module | None:
        if path not in self._modules:
            self._modules[path] = None  # what a module that imports itself finds
            try:
                if path.stat().st_size > _LARGEST:
                    return None
                text = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError):
                return None
            module = parse_module(path, self._workspace.source(path, text.replace("\r\n", "\n")))
            self.add(module)
        return self._modules[path]

    def _resolve(self, folder: Path, specifier: str) -> Path | None:
        if specifier.startswith("."):
            return self._file(folder / specifier)
        for root in self._aliases(folder, specifier):
            found = self._file(root)
            if found is not None:
                return found
        return None

    def _aliases(self, folder: Path, specifier: str) -> list[Path]:
        """The files that a path alias may mean."""
        if not self._workspace.roots:
            return []
        base, patterns = self._config(folder)
        found = []
        for pattern, targets in patterns.items():
            head, star, tail = pattern.partition("*")
            fits = specifier.startswith(head) and specifier.endswith(tail) if star else specifier == pattern
            if fits:
                middle = specifier[len(head) : len(specifier) - len(tail)] if star else ""
                found += [base / target.replace("*", middle) for target in targets]
        for prefix in ("@/", "~/", "src/"):
            if specifier.startswith(prefix) and not found:
                rest = specifier[len(prefix) :]
                found += [
                    root / inner / rest for root in (base, *self._workspace.roots) for inner in ("src", "")
                ]
        return found

    def _config(self, folder: Path) -> tuple[Path, dict[str, list[str]]]:
        """The folder and ``paths`` of the nearest ``tsconfig.json`` inside the roots."""
        if folder not in self._paths:
            file = self.config_file(folder)
            self._paths[folder] = _read_config(file) if file is not None else (self._top(folder), {})
        return self._paths[folder]

    def _top(self, folder: Path) -> Path:
        """The root a folder lies in, or itself."""
        return next((each for each in (folder, *folder.parents) if each in self._workspace.roots), folder)

    @staticmethod
    def _file(path: Path) -> Path | None:
        """The file an import path stands for."""
        try:
            path = path.resolve()
            if path.suffix in SUFFIXES and path.is_file():
                return path
            for suffix in _SAME.get(path.suffix, ()):
                if path.with_suffix(suffix).is_file():
                    return path.with_suffix(suffix)
            for suffix in _TRIED:
                tried = path.with_name(path.name + suffix)
                if tried.is_file():
                    return tried
            for suffix in _TRIED:
                if (path / f"index{suffix}").is_file():
                    return path / f"index{suffix}"
        except (OSError, ValueError):
            return None
        return None


def _read_config(path: Path) -> tuple[Path, dict[str, list[str]]]:
    try:
        text = _TRAILING_COMMA.sub(
            r"\1", _COMMENT.sub(lambda match: match[1] or "", path.read_text(encoding="utf-8"))
        )
        options = json.loads(text).get("compilerOptions", {})
        base = path.parent / str(options.get("baseUrl", "."))
        paths = {str(key): [str(item) for item in value] for key, value in options.get("paths", {}).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return path.parent, {}
    return base, paths
