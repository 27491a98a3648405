"""Evidence in the tool list: another order, another set, or a definition that changed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from promptcache.divergence.change import Change
from promptcache.divergence.evidence import Finding, alike
from promptcache.divergence.json_text import json_finding
from promptcache.divergence.text import drift_finding, volatile_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache.segments import Segment

__all__ = ["tool_findings", "tool_name"]

_LISTS = frozenset({"enum", "examples"})
_VALUES = _LISTS | {"default", "const"}
_DEEPEST = 64  # levels of a schema that are looked into


def tool_name(segment: Segment) -> str:
    """Return the name of a tool in any dialect, or the text itself where it has none."""
    tool = json.loads(segment.text)
    inner = tool.get("function")
    name = tool.get("name") or (inner.get("name") if isinstance(inner, dict) else None) or tool.get("type")
    return str(name) if name else segment.text


def tool_findings(earlier: Sequence[Segment], later: Sequence[Segment]) -> list[Finding]:
    """Explain how the tool list changed; an empty list when it did not.

    Details: ``added``, ``removed``, ``modified`` (names), ``reordered`` and ``same_set``.
    """
    if [tool.text for tool in earlier] == [tool.text for tool in later]:
        return []
    old, new = _by_name(earlier), _by_name(later)
    common = [name for name in old if name in new]
    modified = [name for name in common if old[name].text != new[name].text]
    added, removed = [name for name in new if name not in old], [name for name in old if name not in new]
    reordered = common != [name for name in new if name in old]
    details = {
        "added": added,
        "removed": removed,
        "modified": modified,
        "reordered": reordered,
        "same_set": not added and not removed,
    }
    order = list(new)
    findings = [
        replace(found, segment=order.index(name))
        for name in modified
        for found in _edit_findings(old[name], new[name], details)
    ]
    if added or removed:
        findings.append(Finding("PC302", details, segment=_first_unlike(list(old), order)))
    if reordered:
        findings.append(Finding("PC301", details, segment=_first_unlike(list(old), order)))
    return _first_difference_first(findings, earlier, later)


def _first_unlike(old: Sequence[str], new: Sequence[str]) -> int:
    """Where two lists of names first differ."""
    return next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )


def _by_name(tools: Sequence[Segment]) -> dict[str, Segment]:
    named: dict[str, Segment] = {}
    for tool in tools:
        name = tool_name(tool)
        while name in named:  # two tools of one name: keep both, in order
            name += "'"
        named[name] = tool
    return named


def _edit_findings(old: Segment, new: Segment, details: dict[str, object]) -> list[Finding]:
    """Explain one definition that changed: written differently, holding a value that does, or edited."""
    change = Change.between(old.text, new.text)
    sure = json_finding(change) or drift_finding(change)
    if sure:
        return [Finding(sure.code, {**details, **sure.details})]
    volatile = volatile_findings(change)
    if volatile:
        return [*(replace(found, details=details) for found in volatile), Finding("PC303", details)]
    leaves = list(_changed_leaves(json.loads(old.text), json.loads(new.text)))
    filled_in = bool(leaves) and all(_is_value(*leaf) for leaf in leaves)
    return [Finding("PC303" if filled_in else "PC302", details)]


def _changed_leaves(
    old: object, new: object, key: str = "", depth: int = 0
) -> Iterator[tuple[str, object, object]]:
    """What differs between two definitions, by the key it stands under; a list of choices is one leaf."""
    if isinstance(old, dict) and isinstance(new, dict) and depth < _DEEPEST:
        for name in dict.fromkeys([*old, *new]):
            yield from _changed_leaves(old.get(name), new.get(name), name, depth + 1)
        return
    as_long = isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
    if as_long and key not in _LISTS and depth < _DEEPEST:
        for one, other in zip(cast("list[object]", old), cast("list[object]", new), strict=True):
            yield from _changed_leaves(one, other, key, depth + 1)
    elif old != new:
        yield key, old, new


def _is_value(key: str, old: object, new: object) -> bool:
    """Whether a difference is of a value that is put in: one in a sentence, a default, a list to choose from.

    Other sentences, and parameters that come and go, are another version of the tool.
    """
    if old is None or new is None:
        return False
    if isinstance(old, str) and isinstance(new, str) and key not in _VALUES:
        return Change.between(old, new).is_value and alike(old, new)
    return key in _VALUES


def _first_difference_first(
    findings: list[Finding], earlier: Sequence[Segment], later: Sequence[Segment]
) -> list[Finding]:
    """Put order or set first when the first differing place holds two different tools."""
    pair = next(((a, b) for a, b in zip(earlier, later, strict=False) if a.text != b.text), None)
    if pair is not None and tool_name(pair[0]) == tool_name(pair[1]):
        return findings
    whole = [found for found in findings if found.code in {"PC301", "PC302"}]
    return whole + [found for found in findings if found not in whole]
