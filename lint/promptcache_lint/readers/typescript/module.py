"""One file of a program: its syntax tree, what it imports, exports and declares, and where nodes stand.

Which file an import means is `program`'s business; what a declaration does, the machine's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptcache_lint.places import Place

if TYPE_CHECKING:
    from pathlib import Path

    from tree_sitter import Node, Tree

    from promptcache_lint.places import Source
    from promptcache_lint.readers.typescript.frame import Frame

__all__ = ["FUNCTIONS", "Class", "Closure", "Function", "Import", "Module", "unquoted"]

FUNCTIONS = frozenset(
    {
        "function_declaration",
        "generator_function_declaration",
        "function_expression",
        "function",
        "generator_function",
        "arrow_function",
        "method_definition",
    }
)
_SPACE = re.compile(r"\s+")
_LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class Import:
    """Where a local name comes from: a module, and the name exported there (``*`` for all of it)."""

    specifier: str
    name: str


@dataclass(eq=False)
class Function:
    """A function or method; ``kind`` is ``"get"`` for getters and ``"static"`` for static methods."""

    module: Module
    node: Node
    name: str
    owner: Class | None = None
    kind: str = ""
    is_async: bool = False
    _text: str | None = None

    @property
    def text(self) -> str:
        """Its source."""
        if self._text is None:
            self._text = self.module.text(self.node)
        return self._text


@dataclass(frozen=True)
class Closure:
    """A function together with the names around it."""

    function: Function
    frame: Frame


@dataclass(eq=False)
class Class:
    """A class; ``fields`` maps names to (initial value, whether static)."""

    module: Module
    node: Node
    name: str
    frame: Frame
    base: Node | None = None
    methods: dict[str, Function] = field(default_factory=dict)
    fields: dict[str, tuple[Node | None, bool]] = field(default_factory=dict)
    properties: tuple[str, ...] = ()
    """Parameters of the constructor that are fields as well."""
    types: dict[str, Node] = field(default_factory=dict)
    """The types that are written at fields."""


@dataclass(eq=False)
class Module:
    """A parsed file. ``exports`` maps a name to the local one; ``passed_on`` to where it really stands."""

    path: Path
    source: Source
    tree: Tree
    data: bytes
    imports: dict[str, Import] = field(default_factory=dict)
    exports: dict[str, str] = field(default_factory=dict)
    passed_on: dict[str, Import] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    _functions: dict[int, Function] = field(default_factory=dict)
    _lines: list[bytes] | None = None

    def __post_init__(self) -> None:
        if not self.source.text.isascii():
            self._lines = self.data.split(b"\n")
        for node in self.tree.root_node.named_children:
            if node.type == "import_statement":
                self._import(node)
            elif node.type == "export_statement":
                self._export(node)

    def place(self, node: Node) -> Place:
        """Where a node stands."""
        start, end = node.start_point, node.end_point
        return Place(
            self.source.path,
            start[0] + 1,
            self._column(start[0], start[1]),
            end[0] + 1,
            self._column(end[0], end[1]),
        )

    def _column(self, row: int, column: int) -> int:
        if self._lines is None or row >= len(self._lines):
            return column + 1
        return len(self._lines[row][:column].decode("utf-8", "replace")) + 1

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def label(self, node: Node) -> str:
        """The source of a node in one short line."""
        text = self.data[node.start_byte : min(node.end_byte, node.start_byte + 400)].decode(
            "utf-8", "replace"
        )
        text = _SPACE.sub(" ", text)
        return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"

    def function(self, node: Node, name: str, owner: Class | None = None) -> Function:
        """The function a node defines; the same one for the same node."""
        found = self._functions.get(node.id)
        if found is None:
            words = {child.type for child in node.children[:4]}
            kind = "get" if "get" in words else "static" if "static" in words else ""
            found = Function(self, node, name, owner, kind, "async" in words)
            self._functions[node.id] = found
        return found

    def _import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        if source is None:
            return
        specifier = unquoted(self.text(source))
        for clause in node.named_children:
            if clause.type != "import_clause":
                continue
            for part in clause.named_children:
                if part.type == "identifier":
                    self.imports[self.text(part)] = Import(specifier, "default")
                elif part.type == "namespace_import" and part.named_children:
                    self.imports[self.text(part.named_children[-1])] = Import(specifier, "*")
                elif part.type == "named_imports":
                    for local, name in self._pairs(part):
                        self.imports[local] = Import(specifier, name)

    def _pairs(self, node: Node) -> list[tuple[str, str]]:
        """(alias, name) of the specifiers in braces."""
        found = []
        for part in node.named_children:
            name = part.child_by_field_name("name")
            if name is not None:
                alias = part.child_by_field_name("alias") or name
                found.append((unquoted(self.text(alias)), unquoted(self.text(name))))
        return found

    def _export(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        specifier = unquoted(self.text(source)) if source is not None else ""
        declaration = node.child_by_field_name("declaration")
        if declaration is not None:
            is_default = any(child.type == "default" for child in node.children)
            for name in self._declared(declaration):
                self.exports["default" if is_default else name] = name
        clause = next((child for child in node.named_children if child.type == "export_clause"), None)
        if clause is not None:
            for alias, name in self._pairs(clause):
                if specifier:
                    self.passed_on[alias] = Import(specifier, name)
                else:
                    self.exports[alias] = name
        elif specifier and declaration is None:
            named = next((child for child in node.named_children if child.type == "namespace_export"), None)
            if named is not None and named.named_children:
                self.passed_on[self.text(named.named_children[-1])] = Import(specifier, "*")
            else:
                self.stars.append(specifier)

    def _declared(self, node: Node) -> list[str]:
        if node.type in {"lexical_declaration", "variable_declaration"}:
            names = (child.child_by_field_name("name") for child in node.named_children)
            return [self.text(name) for name in names if name is not None and name.type == "identifier"]
        name = node.child_by_field_name("name")
        return [self.text(name)] if name is not None else []


def unquoted(text: str) -> str:
    """A string literal without its quotes."""
    return text[1:-1] if len(text) > 1 and text[0] in "\"'`" else text
