"""The program as written: its modules, and where an import leads in the tree.

Modules are parsed when they are first needed. Only files of the linted tree are followed; installed packages
are not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.readers.python.folders import Folders
from promptcache_lint.readers.python.modules import Class, Definition, Function, Module, parse_module
from promptcache_lint.readers.python.stars import enter_stars

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_lint.places import Source
    from promptcache_lint.readers.reading import Workspace

__all__ = ["Class", "Definition", "Function", "Module", "Program", "parse_module"]

_MOST_NAMES = 20_000
_MUCH = 2_000_000
_LARGEST_MODULE = 2_000_000
_MOST_STARS = 20
"""Modules that each star the next: a chain of more is not followed to its end."""


class Program:
    """The modules of the linted tree, parsed on demand. ``size`` is that of their sources, in characters."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.size = 0
        self._modules: dict[Path, Module | None] = {}
        self._displayed: dict[str, Module] = {}
        self._folders = Folders(workspace.roots)
        self._package: Path | None = None
        self._within = 0
        self._resolved: dict[tuple[str, str], Definition | None] = {}

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that are linted."""
        return self.workspace.roots

    def add(self, module: Module) -> None:
        """Keep a module that has been parsed already."""
        if module.path not in self._modules:
            self.size += len(module.source.text)
        self._modules[module.path] = module
        self._displayed[module.source.path] = module
        if module.stars and self._within < _MOST_STARS:
            self._within += 1
            try:
                enter_stars(module, lambda dotted: self.resolve(dotted, module), self._lies_in_tree)
            finally:
                self._within -= 1

    def displayed(self, path: str) -> Module | None:
        """The module that findings call ``path``, if it has been parsed."""
        return self._displayed.get(path)

    def known(self, path: Path, source: Source) -> Module | None:
        """The module of a file, if it has been parsed from this very text."""
        module = self._modules.get(path)
        return module if module is not None and module.source.text == source.text else None

    def load(self, path: Path) -> Module | None:
        """The module in a file; None where it cannot be read or parsed."""
        if path in self._modules:
            return self._modules[path]
        module = None
        try:
            if path.stat().st_size <= _LARGEST_MODULE:
                text = path.read_text(encoding="utf-8")
                module = parse_module(path, self.workspace.source(path, text))
        except (OSError, ValueError, UnreadableFileError):
            module = None
        if module is None:
            self._modules[path] = None
        else:
            self.add(module)
        return module

    def moves_on(self, path: Path) -> bool:
        """Whether a file that is read next begins another package, while much is known of those before."""
        package = self._folders.package(path.parent)
        left = package != self._package
        self._package = package
        return left and self.size > _MUCH

    def clear(self) -> None:
        """Forget all modules. Their definitions refer to them, so each is taken apart to be freed."""
        for module in self._modules.values():
            if module is not None:
                module.take_apart()
        self._modules.clear()
        self._displayed.clear()
        self._resolved.clear()
        self._folders.forget()
        self.size = 0

    def resolve(self, dotted: str, origin: Module) -> Definition | None:
        """What a dotted name means that ``origin`` imports, where it lies in the tree.

        A module variable comes back as its module and name.
        """
        key = (origin.folder, dotted)
        if key not in self._resolved:
            if len(self._resolved) > _MOST_NAMES:
                self._resolved.clear()
            self._resolved[key] = None  # what a cycle of imports finds
            self._resolved[key] = self._resolve(dotted, origin)
        return self._resolved[key]

    def _resolve(self, dotted: str, origin: Module) -> Definition | None:
        if dotted.split(".", 1)[0] in sys.stdlib_module_names:
            return None
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [part for part in dotted.split(".") if part]
        folder = origin.path.parent
        for _ in range(level - 1):
            folder = folder.parent
        for start in (str(folder),) if level else self._folders.starts(folder):
            found = self._folders.find(start, parts)
            if found is not None:
                path, count = found
                module = self.load(path)
                return None if module is None else self.member(module, parts[count:])
        return None

    def _lies_in_tree(self, dotted: str, origin: Module) -> bool:
        """Whether an absolute name that ``origin`` imports leads to a file of the tree."""
        parts = dotted.split(".")
        if parts[0] in sys.stdlib_module_names:
            return False
        return any(self._folders.find(start, parts) for start in self._folders.starts(origin.path.parent))

    def member(self, module: Module, names: list[str]) -> Definition | None:
        """What ``names`` mean inside a module."""
        match names:
            case []:
                return module
            case [name]:
                if name in module.functions:
                    return module.functions[name]
                if name in module.classes:
                    return module.classes[name]
                if name in module.imports and module.imports[name] != name:
                    return self.resolve(module.imports[name], module)
                return (module, name)
            case [owner, method] if owner in module.classes:
                return module.classes[owner].methods.get(method)
            case _:
                return None
