"""The program's own clients: classes that ask a model, where an annotation or a signature names one.

So a prompt that is handed to a method of such a class is followed to the request. The same goes for a class
with a method that gives a prompt, and without fields that each object may be given otherwise. An annotation
that names any other class says nothing here: what its objects hold is not known from their type. Where none
is written, `made_clients` looks at what is made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.callees import is_request
from promptcache_lint.readers.python.made_clients import MadeClients
from promptcache_lint.readers.python.program import Class
from promptcache_lint.readers.python.values import Instance, Thing
from promptcache_lint.readers.python.walking import nodes_of
from promptcache_lint.wording import role_of_name

if TYPE_CHECKING:
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.program import Function, Module
    from promptcache_lint.readers.python.values import Value

__all__ = ["OwnClients"]

_OBJECTS = ("ompletion", "messages", "responses", "models", "converse")
_VERBS = (
    *("create", "stream", "parse", "generate_content", "count_tokens", "completion", "responses", "converse"),
)
"""Of these each request to a model has one (see `is_request`): what is asked, and how."""


class OwnClients:
    """The classes of a program whose methods ask a model."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._known: dict[Class, bool] = {}
        self._meant: dict[ast.expr, Instance | None] = {}
        self._made = MadeClients(machine.program, self._asks, machine.objects.bases)

    def forget(self) -> None:
        """Let go of all classes."""
        self._known.clear()
        self._meant.clear()
        self._made.forget()

    def instead(self, value: Value, annotation: ast.expr | None, module: Module) -> Value:
        """A value, or an object of the client that ``annotation`` names where nothing is known of it."""
        if annotation is None or not _is_unknown(value):
            return value
        if annotation not in self._meant:
            self._meant[annotation] = None  # what an annotation finds whose meaning is being looked up
            self._meant[annotation] = self._named(annotation, module)
        return self._meant[annotation] or value

    def returned(self, value: Value, function: Function) -> Value:
        """The result of a call, or an object of the client that the function names as such, or makes."""
        returns = None if isinstance(function.node, ast.Lambda) else function.node.returns
        if returns is not None or not _is_unknown(value):
            return self.instead(value, returns, function.module)
        made = self._made.made_by(function)
        return value if made is None else Instance(made)

    def field(self, value: Value | None, cls: Class, name: str) -> Value | None:
        """The value of a class's field, or an object of the client that it is by annotation, or as made."""
        for node in cls.node.body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=target), annotation=annotation) if target == name:
                    found = self.instead(value or Thing(), annotation, cls.module)
                    return found if isinstance(found, Instance) else value
        made = self._made.kept(cls, name) if value is not None and _is_unknown(value) else None
        return value if made is None else Instance(made)

    def _named(self, annotation: ast.expr | None, module: Module) -> Instance | None:
        match annotation:
            case ast.Name(id=name):
                cls = module.classes.get(name) or self._imported(module.imports.get(name), module)
                return Instance(cls) if cls is not None and self._matters(cls) else None
            case ast.Attribute(value=ast.Name(id=first), attr=name) if first in module.imports:
                cls = self._imported(f"{module.imports[first]}.{name}", module)
                return Instance(cls) if cls is not None and self._matters(cls) else None
            case ast.Constant(value=str() as text):
                return self._named(_parsed(text), module)
            case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
                return self._named(left, module)
            case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
                return self._named(inner, module)
            case _:
                return None

    def _imported(self, dotted: str | None, module: Module) -> Class | None:
        found = self._machine.program.resolve(dotted, module) if dotted else None
        return found if isinstance(found, Class) else None

    def _matters(self, cls: Class) -> bool:
        """Whether a class asks a model, or has a method of its own whose name says that it gives a prompt."""
        if self._asks(cls) or any(default is not None for default in cls.fields.values()):
            return self._asks(cls)
        return any(
            role_of_name(name) in {"system", "prompt"} and "abstractmethod" not in method.decorators
            for name, method in cls.methods.items()
        )

    def _asks(self, cls: Class) -> bool:
        """Whether a method of the class, or of its bases in the tree, makes a request to a model."""
        if cls not in self._known:
            self._known[cls] = False  # what a class that derives from itself finds
            text = cls.module.segment(cls.node)
            own = _may_ask(text) and any(map(_is_request, nodes_of(cls.node)))
            self._known[cls] = own or any(map(self._asks, self._machine.objects.bases(cls)))
        return self._known[cls]


def _is_unknown(value: Value) -> bool:
    return isinstance(value, Thing) and not value.traits and value.constant in {None, "None"}


def _may_ask(text: str) -> bool:
    """Whether the words of a request stand in a class at all."""
    return any(word in text for word in _OBJECTS) and any(word in text for word in _VERBS)


def _is_request(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and is_request(node)


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
