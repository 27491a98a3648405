"""Orders in Python code: ``sort_keys=True`` for JSON, ``sorted(…)`` for what has no order."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import insertion, node_range, place_range, replacement
from promptcache_lint.fixes.fix import Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Place, Source

__all__ = ["propose"]

_GOING_THROUGH = {"list", "tuple", "enumerate", "reversed", "map", "filter"}
_NO_ORDER_TO_FIND = {"as_completed", "imap_unordered", "walk"}
"""Their items cannot be compared, or change what is done while going through them."""


def propose(finding: Finding, source: Source, tree: ast.Module) -> Iterator[Fix]:
    """Changes that give the value an order."""
    if finding.code == "PC201":
        yield from _sort_keys(finding, source, tree)
    else:
        yield from _sorted(finding, source, tree)


# --- JSON -----------------------------------------------------------------------------------------------


def _sort_keys(finding: Finding, source: Source, tree: ast.Module) -> Iterator[Fix]:
    for place in _places(finding, source):
        start, end = place_range(source, place)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _last_name(node.func) == "dumps":
                range_ = _reliable_range(source, node)
                if range_ is not None and start <= range_[0] and range_[1] <= end:
                    edit = _with_sorted_keys(source, node)
                    if edit is not None:
                        yield Fix("Sort the keys.", safe=True, edits=(edit,))


def _with_sorted_keys(source: Source, call: ast.Call) -> Edit | None:
    module = _module_of(call.func)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in keywords or not call.args or any(isinstance(value, ast.Starred) for value in call.args):
        return None
    if module == "orjson":
        flag = f"{module}.OPT_SORT_KEYS"
        if "option" in keywords:
            return insertion(source, node_range(source, keywords["option"])[1], f" | {flag}")
        return insertion(source, _arguments_end(source, call), f", option={flag}")
    if "sort_keys" in keywords:
        return replacement(source, *node_range(source, keywords["sort_keys"]), "True")
    return insertion(source, _arguments_end(source, call), ", sort_keys=True")


def _arguments_end(source: Source, call: ast.Call) -> int:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    end = max(node_range(source, value)[1] for value in values)
    # A last argument in parentheses of its own ends behind them.
    close = node_range(source, call)[1] - 1
    rest = source.text[end:close]
    return end + rest.rfind(")") + 1 if ")" in rest and "#" not in rest else end


def _module_of(node: ast.expr) -> str:
    match node:
        case ast.Attribute(value=ast.Name(id=name)):
            return name
        case _:
            return ""


# --- what has no order ----------------------------------------------------------------------------------


def _sorted(finding: Finding, source: Source, tree: ast.Module) -> Iterator[Fix]:
    places = [place_range(source, place) for place in _places(finding, source)]
    if not places:
        return
    origin = places[0]
    sites = [
        (range_, node)
        for node in _gone_through(tree)
        if (range_ := _reliable_range(source, node)) is not None and _last_call(node) not in _NO_ORDER_TO_FIND
    ]
    sites.sort(key=lambda site: _distance(site[0], origin, places[1:]))
    for (start, end), node in sites:
        yield _wrapped(source, start, end, node)
    listing = _listing_at(source, tree, origin)
    if listing is not None:
        yield _wrapped(source, *origin, listing)


def _wrapped(source: Source, start: int, end: int, node: ast.expr) -> Fix:
    key = ", key=lambda entry: entry.name" if _last_call(node) == "scandir" else ""
    text = source.text[start:end]
    return Fix(
        "Sort what has no order.", safe=True, edits=(replacement(source, start, end, f"sorted({text}{key})"),)
    )


def _gone_through(tree: ast.Module) -> Iterator[ast.expr]:
    """The expressions whose items are gone through in order."""
    for node in ast.walk(tree):
        match node:
            case ast.For(iter=iterable) | ast.comprehension(iter=iterable):
                yield iterable
            case ast.Call(func=ast.Attribute(attr="join"), args=[argument]):
                if not isinstance(argument, ast.GeneratorExp | ast.ListComp):
                    yield argument
            case ast.Call(func=ast.Name(id=name), args=[*_, argument]) if name in _GOING_THROUGH:
                yield argument
            case ast.Starred(value=value):
                yield value
            case ast.FormattedValue(value=value):
                yield value
            case ast.keyword(arg="tools", value=value):
                yield value
            case _:
                continue


def _distance(
    site: tuple[int, int], origin: tuple[int, int], others: list[tuple[int, int]]
) -> tuple[int, int]:
    """How near a site is to where the finding says the value comes from or passes by."""
    if site[0] <= origin[0] and origin[1] <= site[1]:
        return 0, site[1] - site[0]
    for start, end in others:
        if start <= site[0] and site[1] <= end:
            return 1, end - start
    return 2, min(abs(site[0] - start) for start, _ in (origin, *others))


def _listing_at(source: Source, tree: ast.Module, origin: tuple[int, int]) -> ast.expr | None:
    """The call of a listing that stands at the origin itself."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    listings = (node for node in calls if _last_call(node) not in {"set", "frozenset", *_NO_ORDER_TO_FIND})
    return next((node for node in listings if _reliable_range(source, node) == origin), None)


# --- trees ----------------------------------------------------------------------------------------------


def _places(finding: Finding, source: Source) -> list[Place]:
    """The places of a finding in this file, its origin first."""
    places = [finding.source, *finding.flow, finding.place]
    return list(dict.fromkeys(place for place in places if place is not None and place.path == source.path))


def _reliable_range(source: Source, node: ast.expr) -> tuple[int, int] | None:
    """The range of a node, if its text really is the node's: inside f-strings old Pythons lose count."""
    start, end = node_range(source, node)
    text = source.text[start:end]
    try:
        parsed = ast.parse(f"({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return (start, end) if ast.dump(parsed) == ast.dump(node) else None


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case _:
            return ""


def _last_call(node: ast.expr) -> str:
    return _last_name(node.func) if isinstance(node, ast.Call) else ""
