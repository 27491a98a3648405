"""A provider whose tokens are those of a tokenizer: how many bytes one takes depends on what is written.

Words are cut into pieces, digits into groups, characters of the wide scripts count singly, a picture has
tokens that its bytes say nothing of. What is cached is honest, as `scenes` has it: whole steps, by model and
cache key, for the lifetime. It knows nothing of segments' meaning, templates or causes.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from promptcache.segments import cut_request
from tests.gateway.observe.scenes import Provider

if TYPE_CHECKING:
    from promptcache.segments import Segment
    from promptcache.usage import Usage

Body = dict[str, Any]

PICTURE = 1_000
"""Tokens of a picture."""


class Tokenizer:
    """Cuts texts: words into pieces of so many letters, numbers into groups, wide characters into so many."""

    def __init__(self, letters: int = 6, digits: int = 3, wide: int = 1) -> None:
        self._wide = wide
        self._piece = re.compile(
            rf" ?[A-Za-z]{{1,{letters}}}|\d{{1,{digits}}}|[ \t]+|\n+|[^\sA-Za-z0-9]", re.ASCII
        )

    def cut(self, text: str) -> list[str]:
        """The tokens of a text."""
        tokens: list[str] = []
        for piece in self._piece.findall(text):
            tokens += [piece] * (self._wide if ord(piece[0]) >= 0x800 else 1)
        return tokens

    def cut_segment(self, segment: Segment) -> list[str]:
        """The tokens of a piece of a prompt, with its markup."""
        if '{"' in segment.text and ('"type":"image' in segment.text):
            name = hashlib.sha256(segment.text.encode()).hexdigest()
            return [f"{name}{number}" for number in range(PICTURE)]
        return ["<|start|>", *self.cut(segment.text), *self.cut(segment.extra), "<|end|>"]


class WrittenProvider(Provider):
    """A simulated upstream that counts what its tokenizer cuts."""

    def __init__(self, tokenizer: Tokenizer | None = None, **known: Any) -> None:
        super().__init__(**known)
        self.tokenizer = tokenizer if tokenizer is not None else Tokenizer()
        self._pages: dict[bytes, float] = {}

    def forget(self) -> None:
        """Lose everything, as caches may."""
        self._pages.clear()

    def serve(self, body: Body, now: float) -> Usage:
        """Compute a prompt, reading the pages that are still there, and keep all of its pages."""
        tokens = [token for segment in cut_request(body) for token in self.tokenizer.cut_segment(segment)]
        step = self.granularity or 1
        settings = [str(body.get(name)) for name in ("model", "prompt_cache_key", "reasoning_effort")]
        page = "\0".join(settings).encode()
        pages = []
        for start in range(0, len(tokens) - step + 1, step):
            page = hashlib.sha256(page + "\0".join(tokens[start : start + step]).encode()).digest()
            pages.append(page)
        read = 0
        while read < len(pages) and now - self._pages.get(pages[read], float("-inf")) <= self.lifetime_s:
            read += 1
        self._pages.update(dict.fromkeys(pages, now))
        cached = read * step if read * step < len(tokens) else (read - 1) * step
        return self.usage(len(tokens), cached if cached >= self.minimum else 0)
