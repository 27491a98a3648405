"""What really fills the placeholders of templates written as literals: known values speak, not the names.

A template's placeholder is judged by its name as long as nothing shows its value. The interpreter records
each filling it sees; where a known value stands behind a placeholder wherever its template is used, that
value's own traits take the place of the name's. How a template is filled is left to `templates`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from promptcache_lint.prompts import Branch, Hole, Text, flatten
from promptcache_lint.readers.python.objects import settled
from promptcache_lint.readers.python.values import Map, Seq, Str, Thing, traits_of, union_of
from promptcache_lint.readers.wording_only import doubted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part, Prompt, Segment
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.modules import Module
    from promptcache_lint.readers.python.values import Traits, Value

__all__ = ["Bindings", "is_known"]

_Node = TypeVar("_Node", bound=ast.stmt)
_SAME_TEMPLATE = {
    *("replace", "format", "strip", "lstrip", "rstrip", "partial", "safe_substitute"),
    *("Template", "PromptTemplate", "ChatPromptTemplate", "from_template", "from_messages", "dedent"),
}
"""Calls that give back the template they are made on or given, with some placeholders still open."""


@dataclass(frozen=True, slots=True)
class _Binding:
    """One filling of a field: what came in, whether all of it is known, and the expression that did it."""

    known: bool
    traits: Traits
    use: Place


class Bindings:
    """The fillings of the fields of literals, by file, place of the literal, and field as written."""

    def __init__(self) -> None:
        self._of_file: dict[str, dict[tuple[Place, str], list[_Binding]]] = {}

    def record(
        self, literal: Text, field: str, filling: tuple[Part, ...], use: Place, frame: Frame, *, known: bool
    ) -> None:
        """A field of ``literal`` is filled by the expression at ``use``.

        Only what a function does by itself counts: what its callers hand to it depends on which are read.
        """
        path = literal.place.path
        if frame.depth or not literal.open or path != frame.module.source.path:
            return
        value: Value = Str(filling)
        if frame.at_module_level:
            value = settled(value)
        bindings = self._of_file.setdefault(path, {}).setdefault((literal.place, field), [])
        bindings.append(_Binding(known, traits_of(value), use))

    def judged(self, prompts: list[Prompt], module: Module) -> list[Prompt]:
        """The prompts of a module, with known values in the place of names; the records are given up."""
        bound = self._of_file.pop(module.source.path, {})
        if not bound:
            return prompts
        uses = _Uses(module)
        facts: dict[tuple[Place, str], Traits | None] = {}

        def fact(hole: Hole) -> Traits | None:
            key = next((key for key in bound if key[1] == hole.label and _inside(hole.place, key[0])), None)
            if key is None:
                return None
            if key not in facts:
                facts[key] = _fact(hole, key[0], bound[key], uses)
            return facts[key]

        def put(part: Part) -> Part:
            match part:
                case Hole():
                    traits = fact(part)
                    if traits is None:
                        return part
                    stability = max((trait.mark.stability for trait in traits), default=None)
                    return replace(part, traits=traits, stability=stability)
                case Branch():
                    return replace(part, options=tuple(tuple(map(put, option)) for option in part.options))
                case _:
                    return part

        def judge(prompt: Prompt, segment: Segment) -> Segment:
            parts = tuple(map(put, segment.parts))
            return replace(segment, parts=parts if prompt.certain else doubted(parts))

        return [replace(p, segments=tuple(judge(p, segment) for segment in p.segments)) for p in prompts]


def is_known(value: Value) -> bool:
    """Whether the program shows what a value is: a constant, one that never changes, or one of known kind."""
    match value:
        case Str(parts):
            return all(
                not isinstance(part, Hole) or any(not trait.guessed for trait in part.traits)
                for part in flatten(parts)
            )
        case Thing():
            shown = value.constant is not None or (value.settled and not value.traits)
            return shown or any(not trait.guessed for trait in value.traits)
        case Seq():
            return not value.partial and all(map(is_known, value.items))
        case Map():
            return not value.partial and all(is_known(item) for _, item in value.pairs)
        case _:
            return False


def _fact(hole: Hole, literal: Place, bindings: list[_Binding], uses: _Uses) -> Traits | None:
    """The traits of what fills a hole; None where its name must go on speaking for it."""
    seen = union_of(binding.traits for binding in bindings if binding.known)
    suspected = {trait.mark.code for trait in hole.traits}
    if suspected & {trait.mark.code for trait in seen if not trait.once}:
        return seen  # what the name says is so, and the way to it is known
    if not all(binding.known for binding in bindings):
        return None
    return seen if uses.all_in(literal, [binding.use for binding in bindings]) else None


def _inside(inner: Place, outer: Place) -> bool:
    return (
        inner.path == outer.path
        and (outer.row, outer.column) <= (inner.row, inner.column)
        and (inner.end_row, inner.end_column) <= (outer.end_row, outer.end_column)
    )


class _Uses:
    """Where a module uses the templates that it has given names."""

    def __init__(self, module: Module) -> None:
        self._module = module
        nodes = [*ast.walk(module.tree)]
        self._stores = [node for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)]
        self._functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    def all_in(self, literal: Place, uses: list[Place]) -> bool:
        """Whether the template in ``literal`` goes nowhere but into ``uses``, as far as its names show."""
        store = self._around(literal, self._stores)
        return store is None or self._followed(store, uses, set())

    def _followed(self, store: ast.stmt, uses: list[Place], seen: set[ast.stmt]) -> bool:
        stored = self._module.place(store)
        if store in seen or any(_inside(use, stored) for use in uses):
            return True
        seen.add(store)
        targets = store.targets if isinstance(store, ast.Assign) else [getattr(store, "target", None)]
        names = {
            target.id if isinstance(target, ast.Name) else target.attr
            for target in targets
            if isinstance(target, ast.Name | ast.Attribute)
        }
        if len(names) != len(targets):
            return False
        local = self._around(stored, self._functions) if isinstance(targets[0], ast.Name) else None
        loads = [node for node in ast.walk(local or self._module.tree) if _loads(node, names)]
        return all(self._is_seen(node, names, uses, seen) for node in loads)

    def _is_seen(self, load: ast.AST, names: set[str], uses: list[Place], seen: set[ast.stmt]) -> bool:
        place = self._module.place(load)
        if any(_inside(place, use) for use in uses):
            return True
        for store in self._stores:  # ``text = text.replace("{now}", now)`` stands before
            filled = self._module.place(store)
            stores = isinstance(store, ast.Assign) and any(_stores(target, names) for target in store.targets)
            if stores and filled.start < place.start and any(_inside(use, filled) for use in uses):
                return True
        store_around = self._around(place, self._stores)
        if store_around is None or not _is_template(store_around.value):
            return False
        return self._followed(store_around, uses, seen)

    def _around(self, place: Place, nodes: Sequence[_Node]) -> _Node | None:
        """The innermost node around a place."""
        return next((node for node in reversed(nodes) if _inside(place, self._module.place(node))), None)


def _loads(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Name(ctx=ast.Load()):
            return node.id in names
        case ast.Attribute(ctx=ast.Load()):
            return node.attr in names
        case _:
            return False


def _stores(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_template(node: ast.expr | None) -> bool:
    """Whether an expression is a template by another name, or with some of its placeholders filled."""
    match node:
        case ast.Name() | ast.Attribute():
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _SAME_TEMPLATE
        case _:
            return False
