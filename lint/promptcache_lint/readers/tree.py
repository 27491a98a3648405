"""A tree of plain data with the place of every value: what JSON, YAML and TOML files have in common."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Entries", "Items", "Node", "Scalar"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, boolean or null; ``start`` and ``end`` are offsets of its text in the file."""

    value: object
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Node, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping; keys in the order of the file."""

    pairs: tuple[tuple[str, Node], ...]
    start: int
    end: int

    def get(self, key: str) -> Node | None:
        """The value under ``key``."""
        return next((value for name, value in self.pairs if name == key), None)

    def text(self, key: str) -> str | None:
        """The string under ``key``, or None where there is none."""
        node = self.get(key)
        return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


Node = Scalar | Items | Entries
