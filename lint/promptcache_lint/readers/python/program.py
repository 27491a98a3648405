"""The program as written: modules, what they define and import, and where an import leads in the tree.

Modules are parsed when they are first needed. Only files of the linted tree are followed; installed packages
are not.
"""

from __future__ import annotations

import ast
import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.places import Place, Source

if TYPE_CHECKING:
    from pathlib import Path

    from promptcache_lint.readers.reading import Workspace

__all__ = ["Class", "Definition", "Function", "Module", "Program", "parse_module"]

_MOST_NAMES = 20_000
_LARGEST_MODULE = 2_000_000
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Function:
    """A function or method as defined."""

    node: FunctionNode | ast.Lambda
    module: Module
    owner: Class | None = None

    @property
    def name(self) -> str:
        """Its name; lambdas have none."""
        return "" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def decorators(self) -> tuple[str, ...]:
        """The last part of each decorator's name."""
        if isinstance(self.node, ast.Lambda):
            return ()
        return tuple(_last_name(decorator) for decorator in self.node.decorator_list)


@dataclass(eq=False)
class Class:
    """A class as defined, with its methods and the expressions of its fields."""

    node: ast.ClassDef
    module: Module
    methods: dict[str, Function] = field(default_factory=dict)
    fields: dict[str, ast.expr | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name


@dataclass(eq=False)
class Module:
    """One file's tree and its definitions. ``imports`` maps local names to dotted ones."""

    path: Path
    source: Source
    tree: ast.Module
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    ascii: bool = True
    folder: str = field(init=False)
    _places: dict[ast.AST, Place] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.folder = str(self.path.parent)

    def place(self, node: ast.AST) -> Place:
        """Where a node stands."""
        known = self._places.get(node)
        if known is None:
            known = self._places[node] = self._place(node)
        return known

    def _place(self, node: ast.AST) -> Place:
        row, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_row, end_column = node.end_lineno or row, node.end_col_offset or column  # type: ignore[attr-defined]
        if not self.ascii:
            column = self._characters(row, column)
            end_column = self._characters(end_row, end_column)
        return Place(self.source.path, row, column + 1, end_row, end_column + 1)

    def segment(self, node: ast.AST) -> str:
        """The source text of a node."""
        place = self.place(node)
        start = self.source.offset(place.row, place.column)
        return self.source.text[start : self.source.offset(place.end_row, place.end_column)]

    def label(self, node: ast.AST) -> str:
        """The source text of a node on one line, shortened for messages."""
        text = " ".join(self.segment(node).split())
        return text if len(text) <= 60 else text[:57] + "…"

    def _characters(self, row: int, column: int) -> int:
        line = self.source.line(row)
        if line.isascii():
            return column
        return len(line.encode()[:column].decode(errors="replace"))


Definition = Function | Class | Module | tuple[Module, str]


def parse_module(path: Path, source: Source) -> Module:
    """Parse one file; raises `UnreadableFileError` with the place of a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except SyntaxError as error:
        raise UnreadableFileError(
            f"Not valid Python: {error.msg}.", row=error.lineno or 1, column=max(error.offset or 1, 1)
        ) from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableFileError("Nested too deeply for Python's own parser.") from error
    except ValueError as error:
        raise UnreadableFileError(f"Not valid Python: {error}.") from error
    module = Module(path, source, tree, ascii=source.text.isascii())
    _define(module, tree.body)
    return module


def _define(module: Module, body: list[ast.stmt]) -> None:
    """Collect definitions and imports, also those under `if` and `try`."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                module.functions[statement.name] = Function(statement, module)
            case ast.ClassDef():
                module.classes[statement.name] = _class(module, statement)
            case ast.Import() | ast.ImportFrom():
                add_imports(module.imports, statement)
            case ast.If() | ast.Try() | ast.With():
                for name in ("body", "orelse", "finalbody"):
                    _define(module, getattr(statement, name, []))
                for handler in getattr(statement, "handlers", []):
                    _define(module, handler.body)
            case _:
                continue


def add_imports(imports: dict[str, str], statement: ast.Import | ast.ImportFrom) -> None:
    """Enter the names that an import statement binds."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            imports[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )
        return
    base = "." * statement.level + (statement.module or "")
    for alias in statement.names:
        separator = "" if base.endswith(".") or not base else "."
        imports[alias.asname or alias.name] = f"{base}{separator}{alias.name}"


def _class(module: Module, node: ast.ClassDef) -> Class:
    cls = Class(node, module)
    for statement in node.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                cls.methods.setdefault(statement.name, Function(statement, module, cls))
            case ast.Assign(targets=[ast.Name(id=name)]):
                cls.fields[name] = statement.value
            case ast.AnnAssign(target=ast.Name(id=name)):
                cls.fields[name] = statement.value
            case _:
                continue
    return cls


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Call():
            return _last_name(node.func)
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case _:
            return ""


class Program:
    """The modules of the linted tree, parsed on demand. ``size`` is that of their sources, in characters."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.size = 0
        self._modules: dict[Path, Module | None] = {}
        self._files: dict[tuple[Path, str], Path | None] = {}
        self._resolved: dict[tuple[str, str], Definition | None] = {}

    def add(self, module: Module) -> None:
        """Keep a module that has been parsed already."""
        if module.path not in self._modules:
            self.size += len(module.source.text)
        self._modules[module.path] = module

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
                module = parse_module(path, Source(self._workspace.display(path), text))
        except (OSError, ValueError, UnreadableFileError):
            module = None
        if module is None:
            self._modules[path] = None
        else:
            self.add(module)
        return module

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
        for folder, parts in self._starts(dotted, origin):
            if self._module_file(folder, parts[:1]) is None and not (folder / parts[0]).is_dir():
                continue
            for count in range(len(parts), 0, -1):
                path = self._module_file(folder, parts[:count])
                if path is None:
                    continue
                module = self.load(path)
                return None if module is None else self.member(module, parts[count:])
        return None

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

    def _starts(self, dotted: str, origin: Module) -> list[tuple[Path, list[str]]]:
        level = len(dotted) - len(dotted.lstrip("."))
        parts = [part for part in dotted.lstrip(".").split(".") if part]
        if level:
            folder = origin.path.parent
            for _ in range(level - 1):
                folder = folder.parent
            return [(folder, parts)]
        folders = [origin.path.parent]
        for root in self._workspace.roots:
            if origin.path.is_relative_to(root):
                for folder in origin.path.parent.parents:
                    if not folder.is_relative_to(root.parent):
                        break
                    folders += [folder, folder / "src"]
        return [(folder, parts) for folder in dict.fromkeys(folders)]

    def _module_file(self, folder: Path, parts: list[str]) -> Path | None:
        key = (folder, "/".join(parts))
        if key not in self._files:
            base = folder.joinpath(*parts)
            candidates = (base.with_name(base.name + ".py"), base / "__init__.py")
            self._files[key] = next((path for path in candidates if path.is_file()), None)
        return self._files[key]
