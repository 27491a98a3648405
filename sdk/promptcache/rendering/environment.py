"""The Jinja2 environment of templates: nothing in it depends on anything but the variables.

Undefined names are errors, `tojson` writes canonical JSON, the `random` filter and `lipsum` are gone, sets
are sorted before a template sees them, wherever they come from, and an object without a text form of its own
cannot be written, alone or inside another value.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from jinja2 import BaseLoader, Environment, StrictUndefined, nodes
from jinja2.exceptions import TemplateRuntimeError
from jinja2.visitor import NodeTransformer

from promptcache.canonical import canonical_json
from promptcache.rendering.stable import stable, still

if TYPE_CHECKING:
    from collections.abc import Callable

_WRITING: Final = frozenset(
    {
        "capitalize",
        "center",
        "e",
        "escape",
        "forceescape",
        "format",
        "indent",
        "join",
        "lower",
        "pprint",
        "replace",
        "safe",
        "string",
        "striptags",
        "title",
        "trim",
        "truncate",
        "upper",
        "urlencode",
        "urlize",
        "wordcount",
        "wordwrap",
        "xmlattr",
    }
)
"""Filters that make a text of what they are given."""
_STABLE: Final = "_stable"
_STILL: Final = "_still"


def make_environment(loader: BaseLoader) -> Environment:
    """Return an environment for prompts: plain text, trailing newline kept, no chance."""
    environment = _Environment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        finalize=stable,
    )
    environment.filters["tojson"] = _tojson
    environment.filters.pop("random")
    environment.globals.pop("lipsum")
    for name, function in environment.filters.items():
        environment.filters[name] = _steadied(function, writes=name in _WRITING)
    environment.filters.update({_STABLE: stable, _STILL: still})
    return environment


def settled(value: Any) -> Any:
    """Return ``value`` with every set in it as a sorted list, and every tuple as a list."""
    if type(value) in (list, tuple):
        return [settled(item) for item in value]
    if type(value) is dict:
        return {key: settled(item) for key, item in value.items()}
    return [settled(item) for item in still(value)] if isinstance(value, (set, frozenset)) else value


class _Environment(Environment):
    """An environment in which sets have an order, and what is written into a text is looked at first."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return still(super().getattr(obj, attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return still(super().getitem(obj, argument))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Steadier().visit(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree


class _Steadier(NodeTransformer):
    """Puts a filter around what is written into a text without one, and around what a loop goes through."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        node.nodes = [_through(_STABLE, item) for item in node.nodes]
        return node

    def visit_Mod(self, node: nodes.Mod) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        node.right = _through(_STABLE, node.right)
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        if isinstance(node.node, nodes.Getattr) and node.node.attr in {"format", "join"}:
            node.args = [_through(_STABLE, item) for item in node.args]
            for keyword in node.kwargs:
                keyword.value = _through(_STABLE, keyword.value)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named by Jinja2
        self.generic_visit(node)
        node.iter = _through(_STILL, node.iter)
        return node


def _through(name: str, node: nodes.Node) -> nodes.Filter:
    assert isinstance(node, nodes.Expr)
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _steadied(function: Callable[..., Any], *, writes: bool) -> Callable[..., Any]:
    """Return a filter that is given sets in order, and no value whose text would change."""
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @functools.wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        given = list(args)
        if len(given) > place:
            value = still(given[place])
            if writes and isinstance(value, Iterator):
                value = list(value)
            given[place] = stable(value) if writes and not kwargs.get("attribute") else value
        if writes:
            given[place + 1 :] = [stable(item) for item in given[place + 1 :]]
        return function(*given, **kwargs)

    return filtered


def _tojson(value: Any, indent: int | None = None) -> str:
    if indent is not None:
        raise TemplateRuntimeError("tojson writes canonical JSON, which has no indent")
    return canonical_json(value).decode()
