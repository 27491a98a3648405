"""Turns of conversations to keep, and a clock that is set by hand."""

from __future__ import annotations

from promptcache_gateway.kept import Kept

HOUR = 3600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def kept(name: str, previous: str | None = None, *, tenant: str = "t", size: int = 0) -> Kept:
    items = b'[{"role":"user","content":"%s"}]' % (name.encode() + b"x" * size)
    return Kept(name, tenant, previous, 0.0, items, b'{"output":[{"said":"%s"}]}' % name.encode())
