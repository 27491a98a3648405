"""Orders in Python code: ``sort_keys=True`` for JSON, ``sorted(…)`` for what has no order."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import insertion, node_range, place_range, replacement
from promptcache_lint.fixes.fix import Edit, Fix
from promptcache_lint.fixes.order_sites import Site, sites_in
from promptcache_lint.fixes.orderable import Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Place, Source

__all__ = ["propose"]

_JSON = {"json", "simplejson", "ujson", "rapidjson", "orjson"}


def propose(finding: Finding, source: Source, tree: ast.Module) -> Iterator[Fix]:
    """Changes that give the value an order."""
    if finding.code == "PC201":
        yield from _sort_keys(finding, source, tree)
    else:
        yield from _sorted(finding, source, tree)


# --- JSON -----------------------------------------------------------------------------------------------


def _sort_keys(finding: Finding, source: Source, tree: ast.Module) -> Iterator[Fix]:
    values = Values(tree)
    for place in _places(finding, source):
        start, end = place_range(source, place)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _last_name(node.func) == "dumps":
                range_ = _reliable_range(source, node)
                if range_ is not None and start <= range_[0] and range_[1] <= end:
                    edit = _with_sorted_keys(source, node, values)
                    if edit is not None:
                        yield Fix("Sort the keys.", safe=True, edits=(edit,))


def _with_sorted_keys(source: Source, call: ast.Call, values: Values) -> Edit | None:
    called = _module_of(call.func)
    module = values.names.imports.get(called, called).partition(".")[0] or _imported_from(call.func, values)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if module not in _JSON or None in keywords or not call.args:
        return None
    if any(isinstance(value, ast.Starred) for value in call.args) or _mixed_keys(call.args[0], values):
        return None
    if module == "orjson":
        return _with_option(source, call, called, keywords.get("option"))
    if "sort_keys" in keywords:
        return replacement(source, *node_range(source, keywords["sort_keys"]), "True")
    return insertion(source, _arguments_end(source, call), ", sort_keys=True")


def _with_option(source: Source, call: ast.Call, called: str, option: ast.expr | None) -> Edit | None:
    """orjson's options are flags: one more, where those that are there can be read."""
    flag = f"{called}.OPT_SORT_KEYS"
    if not called or len(call.args) > 2:
        return None
    match option:
        case None:
            return insertion(source, _arguments_end(source, call), f", option={flag}")
        case ast.Constant(value=None):
            return replacement(source, *node_range(source, option), flag)
        case ast.Attribute() | ast.BinOp(op=ast.BitOr()):
            return insertion(source, node_range(source, option)[1], f" | {flag}")
        case _:
            return None


def _imported_from(node: ast.expr, values: Values) -> str:
    return values.names.imports.get(node.id, "").partition(".")[0] if isinstance(node, ast.Name) else ""


def _mixed_keys(node: ast.expr, values: Values) -> bool:
    """Whether it can be seen that the keys cannot be compared with each other."""
    return any(
        isinstance(inner, ast.Dict) and len(inner.keys) > 1 and _kinds_differ(inner.keys, values)
        for inner in ast.walk(node)
    )


def _kinds_differ(keys: list[ast.expr | None], values: Values) -> bool:
    said = [key for key in keys if isinstance(key, ast.Constant)]
    return len({values.value(key) for key in said}) > 1


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
    values = Values(tree)
    if not places or not values.names.is_builtin("sorted"):
        return
    origin = places[0]
    sites = [
        (range_, site)
        for site in sites_in(tree, values)
        if (range_ := _reliable_range(source, site.node)) is not None
    ]
    sites.sort(key=lambda found: _distance(found[0], origin, places[1:]))
    fixes = [_wrapped(source, range_, site) for range_, site in sites]
    listing = _listing_at(source, tree, origin)
    if listing is not None and values.unordered(listing):
        fixes.append(_wrapped(source, origin, Site(listing, values.items(listing))))
    yield from sorted(fixes, key=lambda fix: not fix.safe)


def _wrapped(source: Source, range_: tuple[int, int], site: Site) -> Fix:
    text = source.text[slice(*range_)]
    key = {"entry": ", key=lambda entry: entry.name", None: ", key=str"}.get(site.items, "")
    if isinstance(site.node, ast.GeneratorExp):  # its parentheses are those of the call around it
        content = f"(sorted({text}{key}))" if key else f"(sorted{text})"
    else:
        content = f"sorted({text}{key})"
    says = "Sort what has no order." if site.items else "Sort what has no order by what it reads as."
    return Fix(says, safe=site.items is not None, edits=(replacement(source, *range_, content),))


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
    listings = (node for node in calls if _last_call(node) not in {"set", "frozenset"})
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
