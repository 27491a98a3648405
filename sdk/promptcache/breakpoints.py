"""Every breakpoint in a request body, with its place, in the order in which a provider reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptcache.shapes import BREAKPOINT_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Breakpoint", "breakpoints_in"]

_DEFAULT_TTL = {"cache_control": "5m", "prompt_cache_breakpoint": "30m"}


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """One breakpoint: its ``path``, the ``key`` that sets it and its lifetime (``5m``, ``1h``, …).

    ``mark`` is what was written there, ``part`` what it stands on, ``role`` that of the message around it.
    """

    path: str
    key: str
    ttl: str
    role: str = field(default="", compare=False)
    mark: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    part: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


def breakpoints_in(body: Mapping[str, Any]) -> tuple[Breakpoint, ...]:
    """Return the marks on tools, system blocks, messages and their blocks, and on the body itself.

    Only places where a mark has a meaning are looked at: a tool's schema may use the same word freely.
    """
    found: list[Breakpoint] = []
    for name in ("tools", "system", "messages", "input"):
        parts = body.get(name)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            found += _on(part, f"{name}[{index}]", "")
    found += _own(body, "", "")
    return tuple(found)


def _on(part: object, path: str, role: str) -> Iterator[Breakpoint]:
    """The marks inside a part come before its own: they end a shorter prefix."""
    if not isinstance(part, Mapping):
        return
    own = part.get("role")
    role = own if isinstance(own, str) else role
    content = part.get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        yield from _on(block, f"{path}.content[{index}]", role)
    yield from _own(part, path, role)


def _own(part: Mapping[str, Any], path: str, role: str) -> Iterator[Breakpoint]:
    for key in BREAKPOINT_KEYS:
        mark = part.get(key)
        if isinstance(mark, Mapping):
            ttl = str(mark.get("ttl") or _DEFAULT_TTL[key])
            yield Breakpoint(path or key, key, ttl, role, mark, part)
