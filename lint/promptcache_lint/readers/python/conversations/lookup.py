"""What the calls of a function mean in its tree: functions and methods of this module and of others.

The class of ``self.memory`` is told by its annotation, or by what the methods of its owner assign. Where an
import leads is `program`'s business.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.readers.python.given_values import given_values, variable_of
from promptcache_lint.readers.python.modules import add_imports
from promptcache_lint.readers.python.program import Class, Function, Module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptcache_lint.readers.python.program import Definition, Program

__all__ = ["Lookup"]

_DEEPEST = 4
_OWN = {"self", "cls"}
_WRAPPERS = {"Optional", "Annotated", "ClassVar", "Final", "Type", "type"}


class Lookup:
    """Answers for one module; each name is looked up once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._of_attributes: dict[tuple[Class, str], Class | None] = {}
        self._of_names: dict[tuple[Module, Function | None, str], Class | None] = {}
        self._imported: dict[Function, dict[str, str]] = {}

    def called(self, call: ast.Call, module: Module, function: Function | None) -> Function | None:
        """The function or method of the tree that a call in ``function`` runs; of a class: none."""
        match call.func:
            case ast.Name(id=name):
                if function is not None and _is_own(name, function) and name not in self._imports(function):
                    return None
                found = self._named(name, module, function)
            case ast.Attribute(value=owner, attr=name):
                cls = self.class_of(owner, module, function)
                if cls is not None:
                    return self.method(cls, name)
                found = self._in_module(owner, name, module, function)
            case _:
                return None
        return found if isinstance(found, Function) else None

    def method(self, cls: Class, name: str) -> Function | None:
        """A method of a class, or of its bases in the tree."""
        found = (owner.methods.get(name) for owner in self.bases(cls))
        return next((method for method in found if method is not None), None)

    def bases(self, cls: Class) -> Iterator[Class]:
        """A class and its bases in the tree, the nearest first."""
        pending, seen = [cls], {cls}
        while pending:
            at = pending.pop(0)
            yield at
            for base in at.node.bases:
                found = self._named(base.id, at.module, None) if isinstance(base, ast.Name) else None
                if isinstance(found, Class) and found not in seen:
                    seen.add(found)
                    pending.append(found)

    def class_of(
        self, node: ast.expr | None, module: Module, function: Function | None, room: int = _DEEPEST
    ) -> Class | None:
        """The class of the tree that an expression is an object of, or that it names."""
        if room < 0:
            return None
        match node:
            case ast.Name(id=name) if name in _OWN and function is not None:
                return function.owner
            case ast.Name(id=name):
                return self._of_name(name, module, function, room)
            case ast.Attribute(value=owner, attr=name):
                cls = self.class_of(owner, module, function, room - 1)
                return self._of_attribute(cls, name, room) if cls is not None else None
            case ast.Await(value=inner):
                return self.class_of(inner, module, function, room)
            case ast.Call():
                return self._made(node, module, function, room)
            case ast.BoolOp(op=ast.Or(), values=values):
                return self._first(values, module, function, room)
            case ast.IfExp(body=first, orelse=second):
                return self._first([first, second], module, function, room)
            case _:
                return None

    def _first(
        self, values: Iterable[ast.expr], module: Module, function: Function | None, room: int
    ) -> Class | None:
        found = (self.class_of(value, module, function, room - 1) for value in values)
        return next((cls for cls in found if cls is not None), None)

    def _made(self, call: ast.Call, module: Module, function: Function | None, room: int) -> Class | None:
        """The class of what a call makes: of a class, or of a function that says what it gives back."""
        for keyword in call.keywords:
            if keyword.arg == "default_factory":  # ``field(default_factory=Memory)``
                return self.class_of(keyword.value, module, function, room - 1)
        if isinstance(call.func, ast.Name):
            made = self._named(call.func.id, module, function)
            if isinstance(made, Class):
                return made
        elif isinstance(call.func, ast.Attribute):
            made = self._in_module(call.func.value, call.func.attr, module, function)
            if isinstance(made, Class):
                return made
        target = self.called(call, module, function)
        if target is None or isinstance(target.node, ast.Lambda):
            return None
        if target.node.returns is not None:
            return self._annotated(target.node.returns, target.module, target.owner)
        returned = (
            n.value for n in target.kinds.get(ast.Return, ()) if isinstance(n, ast.Return) and n.value
        )
        return self._first(list(returned), target.module, target, room - 1)

    def _of_name(self, name: str, module: Module, function: Function | None, room: int) -> Class | None:
        key = (module, function, name)
        if key not in self._of_names:
            self._of_names[key] = None  # what a name finds that is made of itself
            self._of_names[key] = self._of_variable(name, module, function, room)
        return self._of_names[key]

    def _of_variable(self, name: str, module: Module, function: Function | None, room: int) -> Class | None:
        if function is not None and not isinstance(function.node, ast.Lambda):
            for parameter, default in function.parameters:
                if parameter.arg == name:
                    given = self._annotated(parameter.annotation, module, function.owner)
                    return given or self.class_of(default, module, None, room - 1)
            if name in function.bound:
                return self._first(given_values(name, function), module, function, room)
        own = module.classes.get(name)
        if own is not None:
            return own
        dotted = (self._imports(function).get(name) if function is not None else None) or module.imports.get(
            name
        )
        if dotted:
            return self._of_import(self.program.resolve(dotted, module), room)
        return self._first(_of_body(name, module), module, None, room)

    def _of_import(self, found: Definition | None, room: int) -> Class | None:
        match found:
            case Class():
                return found
            case (Module() as other, str() as variable):
                return self._first(_of_body(variable, other), other, None, room)
            case _:
                return None

    def _of_attribute(self, cls: Class, name: str, room: int) -> Class | None:
        key = (cls, name)
        if key not in self._of_attributes:
            self._of_attributes[key] = None
            self._of_attributes[key] = self._of_field(cls, name, room)
        return self._of_attributes[key]

    def _of_field(self, cls: Class, name: str, room: int) -> Class | None:
        for owner in self.bases(cls):
            for statement in owner.node.body:
                match statement:
                    case ast.AnnAssign(target=ast.Name(id=target)) if target == name:
                        return self._annotated(statement.annotation, owner.module, owner)
            if name in owner.fields:
                return self.class_of(owner.fields[name], owner.module, None, room - 1)
            for method in owner.methods.values():
                if name not in method.attributes:
                    continue
                found = self._annotation_in(name, method) or self._first(
                    given_values(f"self.{name}", method), method.module, method, room
                )
                if found is not None:
                    return found
        return None

    def _annotation_in(self, name: str, method: Function) -> Class | None:
        for node in method.kinds.get(ast.AnnAssign, ()):
            if isinstance(node, ast.AnnAssign) and variable_of(node.target) == f"self.{name}":
                return self._annotated(node.annotation, method.module, method.owner)
        return None

    def _annotated(self, node: ast.expr | None, module: Module, owner: Class | None) -> Class | None:
        """The class that an annotation names."""
        match node:
            case ast.Constant(value=str() as text) if text.isidentifier():
                return self._annotated(ast.Name(id=text), module, owner)
            case ast.Name(id="Self"):
                return owner
            case ast.Name(id=name):
                found = self._named(name, module, None)
            case ast.Attribute(value=value, attr=name):
                found = self._in_module(value, name, module, None)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._annotated(left, module, owner) or self._annotated(right, module, owner)
            case ast.Subscript(value=ast.Name(id=outer) | ast.Attribute(attr=outer), slice=inner):
                first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
                return self._annotated(first, module, owner) if outer in _WRAPPERS else None
            case _:
                return None
        return found if isinstance(found, Class) else None

    def _named(self, name: str, module: Module, function: Function | None) -> Definition | None:
        dotted = self._imports(function).get(name) if function is not None else None
        own = module.functions.get(name) or module.classes.get(name) if dotted is None else None
        dotted = dotted or module.imports.get(name)
        return own or (self.program.resolve(dotted, module) if dotted else None)

    def _imports(self, function: Function) -> dict[str, str]:
        """What a function imports itself, as it does where two modules import each other."""
        if function not in self._imported:
            found = self._imported[function] = {}
            for node in (*function.kinds.get(ast.ImportFrom, ()), *function.kinds.get(ast.Import, ())):
                if isinstance(node, ast.ImportFrom | ast.Import):
                    add_imports(found, node)
        return self._imported[function]

    def _in_module(
        self, node: ast.expr, name: str, module: Module, function: Function | None
    ) -> Definition | None:
        """What ``memory.trim`` means, where ``memory`` is a module of the tree."""
        dotted = _dotted(node)
        imports = module.imports if function is None else {**module.imports, **self._imports(function)}
        if not dotted or dotted.partition(".")[0] not in imports:
            return None
        found = self.program.resolve(imports.get(dotted, dotted), module)
        return self.program.member(found, [name]) if isinstance(found, Module) else None


def _is_own(name: str, function: Function) -> bool:
    """Whether a name in a function is its own: a parameter, a variable, or what is defined in it."""
    if name in function.bound or any(parameter.arg == name for parameter, _ in function.parameters):
        return True
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    inner = (node for kind in kinds for node in function.kinds.get(kind, ()) if node is not function.node)
    return any(getattr(node, "name", "") == name for node in inner)


def _of_body(name: str, module: Module) -> list[ast.expr]:
    """What a variable of the module is given in its body."""
    found = []
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)]) | ast.AnnAssign(target=ast.Name(id=target)):
                if target == name and node.value is not None:
                    found.append(node.value)
            case _:
                continue
    return found


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            inner = _dotted(value)
            return f"{inner}.{name}" if inner else ""
        case _:
            return ""
