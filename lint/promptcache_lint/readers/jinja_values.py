"""What a Jinja2 expression carries: the traits of its value, from the names, calls and filters in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jinja2 import nodes

from promptcache_lint.prompts import Hole, Trait, flatten
from promptcache_lint.readers.placeholders import date_only

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.prompts import Part
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["Scope", "Traits", "evaluate", "mapping_order", "spell"]

Traits = tuple[Trait, ...]

_DATE_FILTERS = {
    "strftime",
    "date",
    "datetime",
    "format_date",
    "format_datetime",
    "dateformat",
    "format_time",
}
_DATE_METHODS = {"strftime", "format"}
_SORTING = {"sort", "dictsort", "tojson"}
"""Jinja2's own ``tojson`` sorts its keys."""
_CONSUMING = {"length", "count", "sum", "min", "max", "default_if_none", "bool", "first_if"}


@dataclass
class Scope:
    """The names a template has defined so far: with values, or (macros, set blocks) with parts."""

    vocabulary: Vocabulary
    values: dict[str, Traits] = field(default_factory=dict)
    blocks: dict[str, tuple[Part, ...]] = field(default_factory=dict)
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: dict[str, Traits] = field(default_factory=dict)
    """What is known of single members (``ns.now``): shared, as namespaces are."""

    def child(self) -> Scope:
        """A scope inside this one."""
        copies = dict(self.values), dict(self.blocks), dict(self.parameters)
        return Scope(self.vocabulary, *copies, self.attributes)

    def set(self, name: str, node: nodes.Node, place: Place) -> None:
        """Note what ``{% set name = … %}`` means, member by member where the members are written down."""
        for member in [each for each in self.attributes if each.startswith((f"{name}.", f"{name}["))]:
            del self.attributes[member]
        match node:
            case nodes.Call(node=nodes.Name(name="namespace" | "dict"), args=[], kwargs=pairs):
                members = [(pair.key, pair.value) for pair in pairs]
            case nodes.Dict(items=items) if all(isinstance(pair.key, nodes.Const) for pair in items):
                members = [(str(pair.key.as_const()), pair.value) for pair in items]
            case _:
                self.values[name] = evaluate(node, self, place)
                return
        found = {key: evaluate(value, self, place) for key, value in members}
        for key, traits in found.items():
            self.attributes[f"{name}.{key}"] = self.attributes[f"{name}[{key!r}]"] = traits
        self.values[name] = _union(*found.values())

    def unknown(self, name: str) -> None:
        """Forget what ``name`` meant outside."""
        self.values.pop(name, None)
        self.blocks.pop(name, None)

    def block_of(self, node: nodes.Node) -> tuple[Part, ...] | None:
        """The parts that ``node`` renders, where it is a call of a macro or a name set by a block."""
        while isinstance(node, nodes.Filter) and node.node is not None:
            node = node.node
        target = node.node if isinstance(node, nodes.Call) else node
        if isinstance(target, nodes.Name | nodes.Getattr):
            return self.blocks.get(spell(target))
        return None


def spell(node: nodes.Node) -> str:
    """The expression as text, short: what a person recognises in the template."""
    match node:
        case nodes.Name():
            return str(node.name)
        case nodes.Const():
            return repr(node.value)
        case nodes.Getattr():
            return f"{spell(node.node)}.{node.attr}"
        case nodes.Getitem():
            return f"{spell(node.node)}[{spell(node.arg)}]"
        case nodes.Call():
            return f"{spell(node.node)}({', '.join(spell(argument) for argument in node.args)})"
        case nodes.Filter():
            return f"{spell(node.node)} | {node.name}" if node.node is not None else str(node.name)
        case nodes.Test():
            return f"{spell(node.node)} is {node.name}"
        case nodes.Not():
            return f"not {spell(node.node)}"
        case nodes.Compare():
            return spell(node.expr) + " …"
        case nodes.BinExpr():
            return f"{spell(node.left)} {node.operator} {spell(node.right)}"
        case nodes.List() | nodes.Tuple():
            return "[…]"
        case _:
            return type(node).__name__.lower()


def evaluate(node: nodes.Node | None, scope: Scope, place: Place) -> Traits:
    """The traits of the value of ``node``, which stands at ``place``."""
    match node:
        case nodes.Name():
            return _name(node.name, spell(node), scope, place)
        case nodes.Getattr() | nodes.Getitem():
            return _member(node, scope, place)
        case nodes.Call():
            return _call(node, scope, place)
        case nodes.Filter():
            return _filter(node, scope, place)
        case nodes.CondExpr():
            return _union(evaluate(node.expr1, scope, place), evaluate(node.expr2, scope, place))
        case nodes.Compare() | nodes.Test() | nodes.Not():
            return ()
        case None:
            return ()
        case _:
            return _union(*(evaluate(child, scope, place) for child in node.iter_child_nodes()))


def _name(name: str, label: str, scope: Scope, place: Place) -> Traits:
    if name in scope.values:
        return tuple(trait.through(place) for trait in scope.values[name])
    if name in scope.blocks:
        return _of_parts(scope.blocks[name], place)
    mark = scope.vocabulary.name(name)
    return (Trait(mark, place, label),) if mark else ()


def _of_parts(parts: tuple[Part, ...], place: Place) -> Traits:
    """What the text of a macro or of a block that is set carries."""
    holes = (part for part in flatten(parts) if isinstance(part, Hole))
    return _union(
        *(tuple(trait.through(hole.place).through(place) for trait in hole.traits) for hole in holes)
    )


def _member(node: nodes.Getattr | nodes.Getitem, scope: Scope, place: Place) -> Traits:
    label = spell(node)
    if label in scope.attributes:
        return tuple(trait.through(place) for trait in scope.attributes[label])
    if label in scope.values:
        return scope.values[label]
    root: nodes.Node = node
    while isinstance(root, nodes.Getattr | nodes.Getitem):
        root = root.node
    if isinstance(root, nodes.Name) and root.name in scope.values:
        return tuple(trait.through(place) for trait in scope.values[root.name])
    if not isinstance(root, nodes.Name):
        return evaluate(root, scope, place)
    mark = scope.vocabulary.name(label.replace("'", ""))
    return (Trait(mark, place, label),) if mark else ()


def _call(node: nodes.Call, scope: Scope, place: Place) -> Traits:
    label = spell(node)
    target = node.node
    block = scope.block_of(node)
    if block is not None:
        return _of_parts(block, place)
    if isinstance(target, nodes.Getattr):
        receiver = evaluate(target.node, scope, place)
        if target.attr in _DATE_METHODS:
            return _with_format(receiver, node.args, scope)
        if receiver:
            return receiver
    known = scope.values.get(f"{spell(target)}()")
    if known is not None:
        return tuple(trait.through(place) for trait in known)
    mark = scope.vocabulary.name(spell(target)) or scope.vocabulary.call(spell(target))
    if mark is not None:
        own = Trait(mark, place, label)
        return _with_format((own,), node.args, scope) if mark.code in {"PC101", "PC109"} else (own,)
    given = [*node.args, *(pair.value for pair in node.kwargs)]
    return _union(*(evaluate(argument, scope, place) for argument in given))


def _with_format(traits: Traits, arguments: list[nodes.Expr], scope: Scope) -> Traits:
    pattern = next(
        (a.value for a in arguments if isinstance(a, nodes.Const) and isinstance(a.value, str)), None
    )
    if pattern is None:
        return traits
    kept = ((trait, date_only(trait.mark, pattern, scope.vocabulary)) for trait in traits)
    return tuple(replace(trait, mark=mark) for trait, mark in kept if mark is not None)


def _filter(node: nodes.Filter, scope: Scope, place: Place) -> Traits:
    traits = evaluate(node.node, scope, place)
    mark = scope.vocabulary.filter(node.name)
    if mark is not None:
        return (Trait(mark, place, spell(node)),)
    if node.name in _SORTING:
        return tuple(trait for trait in traits if not trait.mark.order)
    if node.name in _CONSUMING:
        return ()
    if node.name in _DATE_FILTERS and isinstance(node.node, nodes.Const):
        return _dated(node, str(node.node.value), scope, place)
    if node.name in _DATE_FILTERS:
        return _with_format(traits, node.args, scope)
    return traits


def _dated(node: nodes.Filter, text: str, scope: Scope, place: Place) -> Traits:
    """A filter of dates on a text: ``'now'|date('H:i')``, or the format itself (``'%H:%M'|strftime``)."""
    mark = scope.vocabulary.name("now")
    own = () if mark is None else (Trait(mark, place, spell(node)),)
    if text.strip().lower() in {"now", "today"}:
        return _with_format(own, node.args, scope)
    if node.name == "strftime" and "%" in text:
        moment = _union(*(evaluate(argument, scope, place) for argument in node.args))
        return _with_format(moment if node.args else own, [node.node] if node.node else [], scope)
    return ()


def mapping_order(node: nodes.Node, scope: Scope, place: Place) -> Traits:
    """The trait of a loop over the entries of a mapping that comes from outside; sorted ones have none."""
    mark = scope.vocabulary.mark("PC204")
    match node:
        case nodes.Call(node=nodes.Getattr(attr="items" | "values" | "keys", node=owner)):
            pass
        case nodes.Filter(name="items" | "list" | "xmlattr", node=owner):
            if node.name == "list":
                return mapping_order(owner, scope, place) if owner is not None else ()
        case _:
            return ()
    root: nodes.Node | None = owner
    while isinstance(root, nodes.Getattr | nodes.Getitem):
        root = root.node
    if (
        mark is None
        or not isinstance(root, nodes.Name)
        or root.name in scope.values
        or root.name in scope.blocks
    ):
        return ()  # written down in the template, in the order it is written in
    return (Trait(mark, place, spell(node)),)


def _union(*groups: Traits) -> Traits:
    return tuple(dict.fromkeys(trait for group in groups for trait in group))
