"""Which Python values have no order of their own, and of which it is proven that ``sorted`` can give one.

Strings, numbers and paths compare with their like; mappings, None, mixtures and objects may not. What is
not proven here is not sorted without being asked.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.fixes.name_bindings import Names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.fixes.name_bindings import Bound

__all__ = ["STRING_METHODS", "Values"]

STRING_METHODS = {
    "upper",
    "lower",
    "title",
    "capitalize",
    "strip",
    "lstrip",
    "rstrip",
    "casefold",
    "swapcase",
    "zfill",
    "removeprefix",
    "removesuffix",
    "ljust",
    "rjust",
}
_TEXT_METHODS = STRING_METHODS | {"as_posix", "hexdigest", "isoformat", "strftime", "read_text"}  # fmt: skip
_SPLITTING = {"split", "rsplit", "splitlines"}
_SPELLING = {"str", "repr", "format", "chr", "ascii", "hex"}
_COUNTING = {"int", "float", "len", "ord", "abs"}
_WRAPPING = {"list", "tuple", "set", "frozenset", "sorted", "iter"}
_UNITING = {"union", "symmetric_difference"}
_LISTINGS = {
    "listdir": "text", "iglob": "text", "scandir": "entry",
    "glob": "path", "rglob": "path", "iterdir": "path",
}  # fmt: skip
_COLLECTIONS = {
    "list", "set", "frozenset", "tuple", "Iterable", "Sequence", "Collection", "AbstractSet", "MutableSet",
    "Set", "FrozenSet", "List", "Tuple", "dict", "Dict", "Mapping", "Iterator", "KeysView",
}  # fmt: skip
_SETS = {"set", "frozenset", "AbstractSet", "MutableSet", "Set", "FrozenSet"}
_TYPES = {"str": "text", "int": "number", "float": "number", "Path": "path", "PurePath": "path"}
_TEXT, _NUMBER, _ANY = "text", "number", "any"
_DEEPEST = 12


class Values:
    """Answers about expressions of one parsed file; kinds are ``text``, ``number``, ``path``, ``entry``."""

    def __init__(self, tree: ast.Module) -> None:
        self.names = Names(tree)
        self._depth = 0

    def unordered(self, node: ast.expr) -> bool:
        """Whether what stands there comes out in an order that nothing defines."""
        if self._depth > _DEEPEST:
            return False
        self._depth += 1
        try:
            return self._unordered(node)
        finally:
            self._depth -= 1

    def _unordered(self, node: ast.expr) -> bool:
        match node:
            case ast.Set() | ast.SetComp():
                return True
            case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub(), right=right):
                return self.unordered(left) or (not isinstance(node.op, ast.Sub) and self.unordered(right))
            case ast.BoolOp(values=values):
                return all(self.unordered(value) or _empty(value) for value in values)
            case ast.IfExp(body=body, orelse=other):
                return all(self.unordered(value) or _empty(value) for value in (body, other))
            case ast.ListComp(generators=[only]) | ast.GeneratorExp(generators=[only]):
                return self.unordered(only.iter)
            case ast.Call():
                return self._unordered_call(node)
            case ast.Name(id=name):
                found = self.names.scope_of(node).bound(name)
                return found is not None and all(self._unordered_binding(one) for one in found[1])
            case ast.Attribute(attr=name):
                ways = self.names.attributes.get(name, [])
                return bool(ways) and all(self._unordered_binding(one) for one in ways)
            case _:
                return False

    def _unordered_call(self, node: ast.Call) -> bool:
        match node.func:
            case ast.Name(id="set" | "frozenset" as name):
                return self.names.is_builtin(name)
            case ast.Name(id="list" | "tuple" | "iter" | "map" | "filter" as name) if node.args:
                return self.names.is_builtin(name) and len(node.args) <= 2 and self.unordered(node.args[-1])
            case ast.Name(id=name) if name in self.names.functions:
                return all(self.unordered(value) for value in self._returned(name) or [ast.Constant(None)])
            case ast.Attribute(value=value, attr=method) if method in _UNITING | {"copy"}:
                return self.unordered(value)
            case ast.Attribute(value=value, attr="intersection" | "difference"):
                return self.unordered(value)
            case _:
                return self._listing(node) is not None

    def _unordered_binding(self, bound: Bound) -> bool:
        if bound.annotation is not None:
            return _root(bound.annotation) in _SETS
        return bound.value is not None and self.unordered(bound.value)

    def _listing(self, node: ast.Call) -> str | None:
        match node.func:
            case ast.Attribute(value=value, attr=name) if name in _LISTINGS:
                return _TEXT if isinstance(value, ast.Name) and value.id == "glob" else _LISTINGS[name]
            case ast.Name(id=name) if self.names.imports.get(name) in {
                "glob.glob",
                "glob.iglob",
                "os.listdir",
            }:
                return _TEXT
            case ast.Name(id=name) if self.names.imports.get(name) == "os.scandir":
                return "entry"
            case _:
                return None

    def items(self, node: ast.expr) -> str | None:
        """The one kind of all items of ``node``, None where that is not proven."""
        if self._depth > _DEEPEST:
            return None
        self._depth += 1
        try:
            return self._items(node)
        finally:
            self._depth -= 1

    def _items(self, node: ast.expr) -> str | None:
        match node:
            case ast.Set(elts=elements) | ast.List(elts=elements) | ast.Tuple(elts=elements):
                return _one(self._element(element) for element in elements)
            case ast.SetComp(elt=elt) | ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt):
                return self.value(elt)
            case ast.Dict(keys=keys):
                return _one(self.value(key) if key is not None else None for key in keys)
            case ast.DictComp(key=key):
                return self.value(key)
            case ast.BinOp(left=left, op=ast.Sub()):
                return self.items(left)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                return self.items(left) or self.items(right)
            case ast.BinOp(left=left, op=ast.BitOr() | ast.BitXor() | ast.Add(), right=right):
                return _one((self.items(left), self.items(right)))
            case ast.BoolOp(values=values):
                return _one(self.items(value) for value in values)
            case ast.IfExp(body=body, orelse=other):
                return _one((self.items(body), self.items(other)))
            case ast.Call():
                return self._items_of_call(node)
            case ast.Name(id=name):
                return self._items_of_name(name, node)
            case ast.Attribute(attr=name):
                return _one(_items_said(one.annotation) for one in self.names.attributes.get(name, []))
            case _:
                return _TEXT if self.value(node) == _TEXT else None

    def _element(self, node: ast.expr) -> str | None:
        return self.items(node.value) if isinstance(node, ast.Starred) else self.value(node)

    def _items_of_call(self, node: ast.Call) -> str | None:
        listing = self._listing(node)
        if listing is not None:
            return listing
        match node:
            case ast.Call(func=ast.Name(id=name), args=[]) if name in _WRAPPING:
                return _ANY
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _WRAPPING:
                return self.items(argument) if self.names.is_builtin(name) else None
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=made), _]):
                return self._made(made)
            case ast.Call(func=ast.Name(id="filter"), args=[_, argument]):
                return self.items(argument)
            case ast.Call(func=ast.Name(id=name)) if name in self.names.functions:
                said = [_items_said(each.returns) for each in self.names.functions[name]]
                return _one(said) or _one(self.items(value) for value in self._returned(name))
            case ast.Call(func=ast.Attribute(attr=method)) if method in _SPLITTING:
                return _TEXT
            case ast.Call(
                func=ast.Attribute(value=value, attr="difference" | "intersection" | "copy" | "keys")
            ):
                return self.items(value)
            case ast.Call(func=ast.Attribute(value=value, attr=method), args=others) if method in _UNITING:
                return _one(self.items(each) for each in (value, *others))
            case _:
                return None

    def _items_of_name(self, name: str, node: ast.Name) -> str | None:
        found = self.names.scope_of(node).bound(name)
        if found is None:
            return None
        kinds = [self._items_bound(one) for one in found[1]]
        for method, value in self.names.added.get(name, []):
            kinds.append(self.items(value) if method in {"update", "extend"} else self.value(value))
        if _ANY in kinds and name in self.names.handed_on and set(kinds) == {_ANY}:
            return None  # it is empty at first, and filled elsewhere
        return _one(kinds)

    def _items_bound(self, bound: Bound) -> str | None:
        if bound.annotation is not None:
            return _items_said(bound.annotation)
        return self.items(bound.value) if bound.value is not None else None

    def _returned(self, name: str) -> list[ast.expr]:
        """What the functions of that name return; nothing where one of them may return nothing."""
        values = [
            node.value
            for function in self.names.functions[name]
            for node in ast.walk(function)
            if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)
        ]
        return [value for value in values if value is not None] if None not in values else []

    def value(self, node: ast.expr) -> str | None:
        """The kind of a value, None where it is not proven."""
        match node:
            case ast.Constant(value=str()) | ast.JoinedStr():
                return _TEXT
            case ast.Constant(value=int() | float()):
                return _NUMBER
            case ast.BinOp(left=left, op=ast.Mod()) if self.value(left) == _TEXT:
                return _TEXT
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                kinds = {self.value(left), self.value(right)}
                return _TEXT if _TEXT in kinds else _one(kinds)
            case ast.IfExp(body=body, orelse=other):
                return _one((self.value(body), self.value(other)))
            case ast.Attribute(value=owner, attr="name" | "stem" | "suffix" | "path"):
                return _TEXT if self.value(owner) in {"path", "entry"} else None
            case ast.Call(func=ast.Name(id=name)):
                return self._made(name)
            case ast.Call(func=ast.Attribute(value=owner, attr=method)):
                if method in _TEXT_METHODS:
                    return _TEXT
                known = {"format", "join", "replace"}
                return _TEXT if method in known and self.value(owner) == _TEXT else None
            case ast.Name(id=name):
                found = self.names.scope_of(node).bound(name)
                return _one(self._bound_value(one) for one in found[1]) if found is not None else None
            case _:
                return None

    def _made(self, name: str) -> str | None:
        kind = _TEXT if name in _SPELLING else _NUMBER if name in _COUNTING else None
        return kind if self.names.is_builtin(name) else None

    def _bound_value(self, bound: Bound) -> str | None:
        if bound.annotation is not None:
            plain = isinstance(bound.annotation, ast.Name | ast.Attribute)
            return _TYPES.get(_root(bound.annotation) or "") if plain else None
        if bound.item_of is not None:
            return self.items(bound.item_of)
        if bound.value is None or self._depth > _DEEPEST:
            return None
        self._depth += 1
        try:
            return self.value(bound.value)
        finally:
            self._depth -= 1


def _one(kinds: Iterable[str | None]) -> str | None:
    """The kind that all share; an empty collection shares any."""
    found = set(kinds)
    if len(found) > 1:
        found.discard(_ANY)
    return found.pop() if len(found) == 1 else None


def _empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and not node.elts


def _items_said(annotation: ast.expr | None) -> str | None:
    """The kind of items that a type names: ``set[str]``; ``Optional`` is looked through."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _items_said(left)
        case ast.Subscript(value=value, slice=inner) if _root(value) == "Optional":
            return _items_said(inner)
        case ast.Subscript(value=value, slice=inner) if _root(value) in _COLLECTIONS:
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            several = isinstance(inner, ast.Tuple) and _root(value) in {"tuple", "Tuple"}
            rest = inner.elts[1:] if several and isinstance(inner, ast.Tuple) else []
            if any(not isinstance(each, ast.Constant) or each.value is not Ellipsis for each in rest):
                return None
            return _TYPES.get(_root(first) or "") if isinstance(first, ast.Name | ast.Attribute) else None
        case ast.Name(id="str"):
            return _TEXT
        case _:
            return None


def _root(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _root(value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _root(left)
        case _:
            return None
