"""The token ids of the latest prompts that went to the engine, to ask it how much of them it still has.

Ids only, in memory only, and at most a million of them. Which template a prompt belongs to, and how the
prompts hang together, is the admin API's.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_TOKENS = 1_000_000
_MOST_PROMPTS = 256


class Engine(Protocol):
    """The engine, as far as it is asked here."""

    def cached_prefixes(self, prompts: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """How many tokens of each prompt could be reused now."""
        ...


@dataclass(frozen=True, slots=True)
class KnownPrompt:
    """One prompt.

    Attributes:
        id: the gateway's id of the request.
        tenant: whom it belongs to.
        namespace: whose prefixes it may reuse.
        tokens: its token ids.
        cached_tokens: how many of them lie in the engine's cache; 0 until it was asked.
    """

    id: str
    tenant: str
    namespace: str
    tokens: array[int]
    cached_tokens: int = 0


class LatestPrompts:
    """A bounded memory of prompts, oldest out first. Safe to share between threads."""

    def __init__(self, most_tokens: int = _MOST_TOKENS, most_prompts: int = _MOST_PROMPTS) -> None:
        self._most_tokens = most_tokens
        self._most_prompts = most_prompts
        self._prompts: OrderedDict[str, KnownPrompt] = OrderedDict()
        self._tokens = 0
        self._lock = Lock()

    def add(self, request_id: str, tenant: str, namespace: str, tokens: Sequence[int]) -> None:
        """Remember a prompt; one that is longer than the whole memory is not kept."""
        if len(tokens) > self._most_tokens:
            return
        with self._lock:
            self._prompts[request_id] = KnownPrompt(request_id, tenant, namespace, array("i", tokens))
            self._tokens += len(tokens)
            while self._tokens > self._most_tokens or len(self._prompts) > self._most_prompts:
                self._tokens -= len(self._prompts.popitem(last=False)[1].tokens)

    def forget(self, tenant: str) -> None:
        """Forget a tenant's prompts."""
        with self._lock:
            for prompt in [known for known in self._prompts.values() if known.tenant == tenant]:
                self._tokens -= len(self._prompts.pop(prompt.id).tokens)

    def cached_in(self, engine: Engine) -> list[KnownPrompt]:
        """The prompts, newest first, with what the engine has of them now. Raises what the engine raises."""
        prompts = self.newest_first()
        found = engine.cached_prefixes([(prompt.tokens, prompt.namespace) for prompt in prompts])
        return [replace(prompt, cached_tokens=cached) for prompt, cached in zip(prompts, found, strict=True)]

    def newest_first(self) -> list[KnownPrompt]:
        """What is remembered."""
        with self._lock:
            return list(reversed(self._prompts.values()))
