"""The radix tree as the latest prompts draw it: what they share, by template, and what of it is cached now.

The engine's own tree also holds what older requests left behind; this one holds what can be named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEAST_SHARED = 16
"""Tokens that prompts have in common at least where they are drawn as one branch."""

_MOST_CHILDREN = 12
_DEEPEST = 24  # a long conversation is one branch behind another


class Prompt(Protocol):
    """A prompt of the engine's: see `upstreams.engine_prefixes.KnownPrompt`."""

    @property
    def id(self) -> str:
        """The gateway's id of the request."""
        ...

    @property
    def namespace(self) -> str:
        """Whose prefixes it may reuse."""
        ...

    @property
    def tokens(self) -> Sequence[int]:
        """Its token ids."""
        ...

    @property
    def cached_tokens(self) -> int:
        """How many of them lie in the cache."""
        ...


class Memory(Protocol):
    """What remembers prompts."""

    def forget(self, tenant: str) -> None:
        """Forget a tenant's prompts."""
        ...


@runtime_checkable
class PrefixHolder(Protocol):
    """An upstream that knows which prefixes it has."""

    @property
    def latest_prompts(self) -> Memory:
        """Where it remembers prompts."""
        ...

    async def cached_prompts(self) -> Sequence[Prompt]:
        """Its latest prompts, newest first."""
        ...


@dataclass(frozen=True, slots=True)
class _Leaf:
    template: str
    tokens: Sequence[int]
    cached: int


def prefix_tree(prompts: Sequence[Prompt], template_of: Callable[[str], str | None]) -> list[dict[str, Any]]:
    """Branches of ``{start, tokens, cached_tokens, prompts, templates, children}``, most prompts first.

    ``start`` is the first token's position; ``cached_tokens`` are those of the branch's own run. Prompts
    whose template is not known (any more) are left out; those of different namespaces never share a branch.
    """
    rooms: dict[str, list[_Leaf]] = {}
    for prompt in prompts:
        template = template_of(prompt.id)
        if template is not None and len(prompt.tokens):
            rooms.setdefault(prompt.namespace, []).append(
                _Leaf(template, prompt.tokens, prompt.cached_tokens)
            )
    return _cut([branch for leaves in rooms.values() for branch in _branches(leaves, 0, 1)])


def _branches(leaves: Sequence[_Leaf], start: int, depth: int) -> list[dict[str, Any]]:
    """The branches that begin at ``start``: prompts that go on alike there are one."""
    groups: dict[tuple[int, ...], list[_Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(tuple(leaf.tokens[start : start + LEAST_SHARED]), []).append(leaf)
    return [_branch(group, start, depth) for group in groups.values()]


def _branch(leaves: Sequence[_Leaf], start: int, depth: int) -> dict[str, Any]:
    end = _shared(leaves, start)
    going_on = [leaf for leaf in leaves if len(leaf.tokens) > end]
    goes_on = bool(going_on) and len(leaves) > 1 and depth < _DEEPEST
    cached = max(leaf.cached for leaf in leaves)
    return {
        "start": start,
        "tokens": end - start,
        "cached_tokens": max(0, min(cached, end) - start),
        "prompts": len(leaves),
        "templates": sorted({leaf.template for leaf in leaves}),
        "children": _cut(_branches(going_on, end, depth + 1)) if goes_on else [],
    }


def _shared(leaves: Sequence[_Leaf], start: int) -> int:
    """Where the first of the prompts parts from the others, or ends. They share what is before ``start``."""
    first = min((leaf.tokens for leaf in leaves), key=len)
    low, high = start, len(first)
    while low < high:
        middle = (low + high + 1) // 2
        if all(leaf.tokens[low:middle] == first[low:middle] for leaf in leaves):
            low = middle
        else:
            high = middle - 1
    return low


def _cut(branches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Branches in order; what is beyond the most that are drawn becomes one with the sums of the others."""
    ordered = sorted(branches, key=lambda branch: (-branch["prompts"], -branch["tokens"]))
    shown, rest = ordered[:_MOST_CHILDREN], ordered[_MOST_CHILDREN:]
    if rest:
        sums = {name: sum(branch[name] for branch in rest) for name in ("tokens", "cached_tokens", "prompts")}
        templates = sorted({name for branch in rest for name in branch["templates"]})
        shown.append(
            {"start": rest[0]["start"], **sums, "templates": templates, "children": [], "branches": len(rest)}
        )
    return shown
