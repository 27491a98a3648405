"""One file of Python as written: its tree, what it defines and what it imports.

Where an import leads is `program`'s business.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.places import Place, Source
from promptcache_lint.readers.python.hinting import hands_itself_on
from promptcache_lint.readers.python.pairing import take_apart
from promptcache_lint.readers.python.rows import Rows
from promptcache_lint.readers.python.walking import kinds_of, nodes_of, stored_among

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from pathlib import Path

__all__ = ["Class", "Definition", "Function", "FunctionNode", "Module", "add_imports", "parse_module"]

_ASSIGNED = re.compile(r"self\.(\w+)(?: =|:)")
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

    @cached_property
    def text(self) -> str:
        """Its text, in whole lines."""
        source, end = self.module.source, (self.node.end_lineno or self.node.lineno) + 1
        return source.text[source.offset(self.node.lineno, 1) : source.offset(end, 1)]

    @cached_property
    def code(self) -> str:
        """Its text without its docstring, which speaks of prompts in functions that make none."""
        body = self.node.body
        head = body[0] if isinstance(body, list) else None
        if not isinstance(head, ast.Expr) or not isinstance(head.value, ast.Constant):
            return self.text
        offset, last = self.module.source.offset, head.end_lineno or head.lineno
        start = offset(self.node.lineno, 1)
        before, after = offset(head.lineno, 1) - start, offset(last + 1, 1) - start
        return self.text[:before] + self.text[after:]

    @cached_property
    def hands_itself_on(self) -> bool:
        """Whether a method gives its object to somebody else."""
        return hands_itself_on(self.code)

    @cached_property
    def parameters(self) -> tuple[tuple[ast.arg, ast.expr | None], ...]:
        """Its parameters but for the starred ones, each with its default."""
        given = self.node.args
        positional = [*given.posonlyargs, *given.args]
        defaults = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        return (*zip(positional, defaults, strict=True), *named)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes of ``self`` that it assigns, or annotates."""
        return frozenset(_ASSIGNED.findall(self.text))

    @cached_property
    def kinds(self) -> dict[type[ast.AST], list[ast.AST]]:
        """Its node and all below it, by their kind."""
        return kinds_of(nodes_of(self.node))

    @cached_property
    def bound(self) -> frozenset[str]:
        """The variables that are bound anywhere in it."""
        return stored_among(self.kinds.get(ast.Name, ()))

    @cached_property
    def reads(self) -> frozenset[str]:
        """The attributes that are read anywhere in it, of whatever object."""
        nodes = self.kinds.get(ast.Attribute, ())
        return frozenset(n.attr for n in nodes if isinstance(n, ast.Attribute) and type(n.ctx) is ast.Load)

    @cached_property
    def rows(self) -> Rows:
        """What stands at which of its rows."""
        return Rows(self.node)

    @cached_property
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
    """One file's tree and its definitions.

    ``imports`` maps local names to dotted ones; ``stars`` are the modules of which it imports ``*``.
    """

    path: Path
    source: Source
    tree: ast.Module
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    ascii: bool = True
    folder: str = field(init=False)
    _places: dict[ast.AST, Place] = field(default_factory=dict, repr=False)
    _labels: dict[ast.AST, str] = field(default_factory=dict, repr=False)
    _uses: dict[str, tuple[int, list[ast.Call]]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.folder = str(self.path.parent)

    @cached_property
    def inner_imports(self) -> tuple[tuple[str, str], ...]:
        """The imports of modules inside others, under their whole name, each with its first part."""
        return tuple((name, name.partition(".")[0]) for name in self.imports if "." in name)

    def take_apart(self) -> None:
        """Let go of what refers back to the module, so that it is freed without the garbage collector."""
        for cls in self.classes.values():
            cls.methods.clear()
        self.functions.clear()
        self.classes.clear()
        self._places.clear()
        self._labels.clear()
        self._uses = None

    def uses_of(self, name: str) -> tuple[int, list[ast.Call]]:
        """How often one of the module's functions is named in it, and the calls among that."""
        if self._uses is None:
            if self.source.text.count(name) == 1:
                return (0, [])  # where it is defined
            self._uses = _uses(self.tree, self.functions.keys())
        return self._uses.get(name, (0, []))

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
        row, start = node.lineno, node.col_offset  # type: ignore[attr-defined]
        if self.ascii and node.end_lineno == row:  # type: ignore[attr-defined]
            begin = self.source.offset(row, 1)
            return self.source.text[begin + start : begin + node.end_col_offset]  # type: ignore[attr-defined]
        place = self.place(node)
        start = self.source.offset(place.row, place.column)
        return self.source.text[start : self.source.offset(place.end_row, place.end_column)]

    def label(self, node: ast.AST) -> str:
        """The source text of a node on one line, shortened for messages."""
        known = self._labels.get(node)
        if known is None:
            text = self.segment(node)
            if "\n" in text or "  " in text or "\t" in text:
                text = " ".join(text.split())
            known = self._labels[node] = text if len(text) <= 60 else text[:57] + "…"
        return known

    @cached_property
    def _wide_rows(self) -> frozenset[int]:
        """The rows in which columns of bytes and of characters differ."""
        lines = self.source.text.split("\n")
        return frozenset(row for row, line in enumerate(lines, 1) if not line.isascii())

    def _characters(self, row: int, column: int) -> int:
        if row not in self._wide_rows:
            return column
        return len(self.source.line(row).encode()[:column].decode(errors="replace"))


Definition = Function | Class | Module | tuple[Module, str]


def parse_module(path: Path, source: Source) -> Module:
    """Parse one file; raises `UnreadableFileError` with the place of a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except SyntaxError as error:
        raise UnreadableFileError(
            f"Not valid Python: {error.msg}.",
            row=min(error.lineno or 1, source.rows),  # Python ends a row at a lone carriage return as well
            column=max(error.offset or 1, 1),
        ) from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableFileError("Nested too deeply for Python's own parser.") from error
    except ValueError as error:
        raise UnreadableFileError(f"Not valid Python: {error}.") from error
    take_apart(tree)
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
                if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                    module.stars.append("." * statement.level + (statement.module or ""))
            case ast.If() | ast.Try() | ast.With():
                for name in ("body", "orelse", "finalbody"):
                    _define(module, getattr(statement, name, []))
                for handler in getattr(statement, "handlers", []):
                    _define(module, handler.body)
            case _:
                continue


def add_imports(imports: dict[str, str], statement: ast.Import | ast.ImportFrom) -> None:
    """Enter the names that an import statement binds; a module inside another also under its whole name."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if "." in alias.name and alias.asname is None:
                imports[alias.name] = alias.name
            imports[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )
        return
    base = "." * statement.level + (statement.module or "")
    for alias in statement.names:
        if alias.name == "*":
            continue  # which names these are, `stars` says
        separator = "" if base.endswith(".") or not base else "."
        imports[alias.asname or alias.name] = f"{base}{separator}{alias.name}"


def _uses(tree: ast.Module, names: AbstractSet[str]) -> dict[str, tuple[int, list[ast.Call]]]:
    """For each of ``names`` that occurs: how often, and the calls of it."""
    counts: dict[str, int] = {}
    calls: dict[str, list[ast.Call]] = {}
    for node in nodes_of(tree):
        if type(node) is ast.Name:
            if node.id in names:
                counts[node.id] = counts.get(node.id, 0) + 1
        elif type(node) is ast.Call and type(node.func) is ast.Name and node.func.id in names:
            calls.setdefault(node.func.id, []).append(node)
    return {name: (count, calls.get(name, [])) for name, count in counts.items()}


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
