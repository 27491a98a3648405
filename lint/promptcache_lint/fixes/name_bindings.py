"""What names are bound to in a Python file, scope by scope: what a fix must know before it touches one."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Bound", "Names", "Scope"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_GROWING = {"add", "append", "update", "extend", "insert", "appendleft"}


@dataclass(frozen=True)
class Bound:
    """One way in which a name gets its value.

    ``value``: the expression it is set to; ``item_of``: the one whose items it is; ``annotation``: what is
    said of it. None of them: nothing is known.
    """

    value: ast.expr | None = None
    item_of: ast.expr | None = None
    annotation: ast.expr | None = None


@dataclass
class Scope:
    """A module, function or comprehension: its names, and what stands around it."""

    outer: Scope | None
    names: dict[str, list[Bound]] = field(default_factory=dict)

    def bound(self, name: str) -> tuple[Scope, list[Bound]] | None:
        """The scope that binds ``name`` and how; None for a builtin."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope, scope.names[name]
            scope = scope.outer
        return None

    def bind(self, name: str, bound: Bound) -> None:
        """One more way."""
        self.names.setdefault(name, []).append(bound)


class Names:
    """The scopes of a parsed file: `scope_of` says which one an expression stands in.

    ``added`` is what is put into a collection of that name, wherever; ``handed_on`` are names that other
    code gets to see; ``functions`` and ``attributes`` are known by their bare names.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(None)
        self.functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self.attributes: dict[str, list[Bound]] = {}
        self.imports: dict[str, str] = {}
        self.added: dict[str, list[tuple[str, ast.expr]]] = {}
        self.handed_on: set[str] = set()
        self._scopes: dict[int, Scope] = {}
        for child in tree.body:
            self._visit(child, self.module)

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope of an expression of the file."""
        return self._scopes.get(id(node), self.module)

    def is_builtin(self, name: str) -> bool:
        """Whether nothing in the file gives ``name`` another meaning, in any scope."""
        return name not in self._own_names

    @cached_property
    def _own_names(self) -> set[str]:
        scopes = {id(scope): scope for scope in (self.module, *self._scopes.values())}
        return {name for scope in scopes.values() for name in scope.names}

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        self._scopes[id(node)] = scope
        if isinstance(node, _FUNCTIONS):
            self._function(node, scope)
        elif isinstance(node, ast.ClassDef):
            scope.bind(node.name, Bound())
            self._class(node, scope)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            self._comprehension(node, scope)
        else:
            self._note(node, scope)
            for child in ast.iter_child_nodes(node):
                self._visit(child, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> None:
        inner = Scope(scope)
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            inner.bind(argument.arg, Bound(annotation=argument.annotation))
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                inner.bind(star.arg, Bound())
        if not isinstance(node, ast.Lambda):
            scope.bind(node.name, Bound())
            self.functions.setdefault(node.name, []).append(node)
            for decorator in node.decorator_list:
                self._visit(decorator, scope)
        for default in (*arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)):
            self._visit(default, scope)
        for child in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self._visit(child, inner)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        inner = Scope(scope)
        for child in ast.iter_child_nodes(node):
            self._visit(child, inner)
        for name, ways in inner.names.items():
            self.attributes.setdefault(name, []).extend(ways)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope
    ) -> None:
        inner = Scope(scope)
        for generator in node.generators:
            self._visit(generator.iter, inner if generator is not node.generators[0] else scope)
            for name in _names_in(generator.target):
                whole = isinstance(generator.target, ast.Name)
                inner.bind(name, Bound(item_of=generator.iter if whole else None))
            for test in generator.ifs:
                self._visit(test, inner)
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for result in results:
            self._visit(result, inner)

    def _note(self, node: ast.AST, scope: Scope) -> None:  # noqa: C901 - one case a kind of node
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assigned(target, Bound(value=value), scope)
            case ast.AnnAssign(target=target, annotation=annotation):
                self._assigned(target, Bound(annotation=annotation), scope)
            case ast.NamedExpr(target=target, value=value):
                self._assigned(target, Bound(value=value), scope)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                self.added.setdefault(name, []).append(("update", value))
            case ast.AugAssign(target=target):
                self._assigned(target, Bound(), scope)
            case ast.For(target=target, iter=iterable):
                self._assigned(target, Bound(item_of=iterable), scope)
            case ast.Import(names=names):
                for alias in names:
                    name = alias.asname or alias.name.split(".")[0]
                    self.imports[name] = alias.name if alias.asname else name
                    scope.bind(name, Bound())
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    self.imports[alias.asname or alias.name] = f"{module}.{alias.name}"
                    scope.bind(alias.asname or alias.name, Bound())
            case ast.Call():
                self._call(node)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                if name not in scope.names:  # bound in a way that is not followed
                    scope.bind(name, Bound())
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                scope.bind(name, Bound())
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    scope.bind(name, Bound())
                    self.module.bind(name, Bound())
            case _:
                pass

    def _call(self, node: ast.Call) -> None:
        """What a call adds to a name, and which names it hands to code that may."""
        match node.func:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if method in _GROWING and node.args:
                self.added.setdefault(name, []).append((method, node.args[-1]))
            case _:
                self.handed_on |= {one.id for one in node.args if isinstance(one, ast.Name)}

    def _assigned(self, target: ast.expr, bound: Bound, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.bind(name, bound)
            case ast.Attribute(attr=name):
                self.attributes.setdefault(name, []).append(bound)
            case _:
                for name in _names_in(target):
                    scope.bind(name, Bound())


def _names_in(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
