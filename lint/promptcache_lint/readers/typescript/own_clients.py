"""The program's own clients: classes that ask a model, where a type names one and nothing else is known.

So a prompt that is handed to a method of such a class is followed to the request. A type that names any other
class, or an interface, says nothing here: what its objects do is not known from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.values import Instance, Ref, Thing
from promptcache_lint.readers.typescript.module import Class

if TYPE_CHECKING:
    from tree_sitter import Node

    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.machine import Machine
    from promptcache_lint.readers.typescript.module import Module

__all__ = ["OwnClients"]

_REQUEST = re.compile(
    r"\.(?:chat\s*\.completions|messages|responses|completions|models|chats|conversations)"
    r"\s*\.(?:create|stream|parse|generateContent|generateContentStream|runTools)\("
    r"|\b(?:generate|stream)(?:Text|Object)\(|\bConverse(?:Stream)?Command\(|\.generateContent(?:Stream)?\("
)
_NOTHING = {"null", "undefined"}
_DEEPEST = 6


class OwnClients:
    """The classes of a program whose methods ask a model."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[Class, bool] = {}

    def instead(self, value: Value, said: Node | None, module: Module) -> Value:
        """A value, or an object of the client that a type (``said``) names where nothing is known of it."""
        unknown = isinstance(value, Thing) and not value.traits and value.constant in {None, "undefined"}
        if said is None or not unknown:
            return value
        cls = self._named(said, module)
        return value if cls is None else Instance(cls)

    def field(self, value: Value | None, cls: Class, name: str) -> Value | None:
        """The value of a class's field, or an object of the client that its type names."""
        found = self.instead(value or Thing(), cls.types.get(name), cls.module)
        return found if isinstance(found, Instance) else value

    def _named(self, said: Node, module: Module) -> Class | None:
        """The client that a type names: by itself, or as one that may be missing."""
        match said.type:
            case "type_annotation" | "parenthesized_type" if said.named_children:
                return self._named(said.named_children[0], module)
            case "union_type":
                kinds = [kind for kind in said.named_children if module.text(kind) not in _NOTHING]
                return self._named(kinds[0], module) if len(kinds) == 1 else None
            case "type_identifier":
                cls = self._class(module.text(said), module)
                return cls if cls is not None and self._asks(cls, 0) else None
            case _:
                return None

    def _class(self, name: str, module: Module) -> Class | None:
        value = self._machine.module_frame(module).names.get(name)
        if value is None and name in module.imports:
            value = self._machine.imported(module, name)
        return value.target if isinstance(value, Ref) and isinstance(value.target, Class) else None

    def _asks(self, cls: Class, depth: int) -> bool:
        """Whether a method of the class, or of its bases in the tree, makes a request to a model."""
        if cls not in self._known:
            base = self._machine.objects.base(cls) if depth < _DEEPEST else None
            own = _REQUEST.search(cls.module.text(cls.node)) is not None
            self._known[cls] = own or (base is not None and self._asks(base, depth + 1))
        return self._known[cls]
