"""Schemas of answers that are sorted, although the model writes properties in the order of the schema."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from promptcache_lint.findings import Severity
from promptcache_lint.readers.python.conversations.facts import called_name, constant, spell
from promptcache_lint.readers.python.conversations.named import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.prompts import Practice
    from promptcache_lint.readers.python.conversations.facts import Facts

__all__ = ["schemas"]

_ANSWERS = {
    *("response_format", "text_format", "output_format", "response_schema", "guided_json", "json_schema"),
    *("format", "input_schema", "output_schema", "structured_output", "response_json_schema"),
}
_SORTS = re.compile(
    r"(?:.*\.)?_?(?:deep_|recursive(?:ly)?_)?sort(?:ed)?_?(?:keys|dict|schema|recursive(?:ly)?|json|properties)"
    r"|(?:.*\.)?_?canonical\w*|(?:.*\.)?_?(?:order|normali[sz]e)_keys"
)
_SAYS = (
    "`{}` sorts a schema whose order has meaning: the model fills in the properties in this order, "
    "so that an answer may come before its reasons."
)


def schemas(facts: Facts) -> Iterator[Practice]:
    """PC207."""
    for node in facts.of(ast.Call, ast.Dict):
        match node:
            case ast.Call(func=ast.Name(id="sorted"), args=[inner, *_]) if _is_properties(inner):
                # Names alone, as in a list of what is required or for comparing, are no schema.
                if _makes_dict(node, facts):
                    yield facts.practice("PC207", Severity.WARNING, node, _SAYS.format(facts.label(node)))
            case ast.Call():
                for keyword in node.keywords:
                    if keyword.arg in _ANSWERS:
                        yield from _sorted_in(keyword.value, facts)
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if key is not None and constant(key) in _ANSWERS | {"schema"}:
                        yield from _sorted_in(value, facts)


def _is_properties(node: ast.expr) -> bool:
    """``schema["properties"].items()`` and the like."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
        node = node.func.value
        if isinstance(node, ast.Call) and node.args:
            return constant(node.args[0]) == "properties"
    return spell(node).rpartition(".")[2] in {"properties", "model_fields"}


def _makes_dict(node: ast.AST, facts: Facts) -> bool:
    outer = facts.parents.get(node)
    return isinstance(outer, ast.comprehension) or (
        isinstance(outer, ast.Call) and called_name(outer) == "dict"
    )


def _sorted_in(value: ast.expr, facts: Facts) -> Iterator[Practice]:
    """A sorting call in what is sent as a schema; one over properties is found by itself."""
    value = resolved(value, facts)
    if not isinstance(value, ast.Call):
        return
    if _SORTS.fullmatch(called_name(value)) or _dumps_and_loads(value):
        yield facts.practice("PC207", Severity.WARNING, value, _SAYS.format(facts.label(value)))


def _dumps_and_loads(node: ast.Call) -> bool:
    """``json.loads(json.dumps(schema, sort_keys=True))``."""
    return any(
        keyword.arg == "sort_keys" and constant(keyword.value) is True
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call)
        for keyword in inner.keywords
    )
