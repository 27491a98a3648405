"""A prompt as routing sees it: chained keys of its pieces, and how many tokens they stand for.

A key covers its piece and everything before it, so that equal keys are equal prefixes. Keys are seeded with
the tenant and the model: what belongs to others is never matched, and no text can be read from them. They are
the same in every process, so that several gateways can share what they know.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from promptcache.errors import PromptCacheError
from promptcache.segments import cut_request

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = bytes | int

PIECE_BYTES = 512
"""Bytes of a prompt that one key stands for: some 128 tokens of English."""

TOKENS_PER_BYTE = 0.25
"""Tokens a byte makes where nothing has been learned yet."""

KEY_TOKENS = PIECE_BYTES * TOKENS_PER_BYTE
"""Tokens that a key stands for where nothing has been learned yet."""

_KEY_BYTES = 8
_SEPARATOR = "\x1e"


@dataclass(frozen=True, slots=True)
class Prefix:
    """What is to be found warm.

    Attributes:
        keys: chained keys in the prompt's order; the rest that fills no piece has none.
        key_tokens: tokens that one key stands for.
        tokens: tokens of the whole prompt.
        session: whom it belongs to, where the caller said so; already scoped by tenant.
        lifetime_s: seconds a cached prefix lives after its last use; None: until it is evicted.
        token_ids: the prompt's tokens, where the caller sent tokens.
        namespace: the upstream's cache salt, where it sets one.
        model: the model asked for.
    """

    keys: tuple[Key, ...] = ()
    key_tokens: float = KEY_TOKENS
    tokens: float = 0.0
    session: Key | None = None
    lifetime_s: float | None = None
    token_ids: tuple[int, ...] = ()
    namespace: str = ""
    model: str = ""

    def tokens_of(self, matched: int) -> float:
        """Tokens that ``matched`` leading keys stand for, never more than there are."""
        return min(self.tokens, matched * self.key_tokens)


def read_prefix(
    payload: Mapping[str, Any],
    *,
    tenant: str,
    model: str,
    session: str | None = None,
    lifetime_s: float | None = None,
    tokens_per_byte: float = TOKENS_PER_BYTE,
    namespace: str = "",
) -> Prefix:
    """The prefix of a request's body; one of no known shape has no keys and only its session.

    Args:
        payload: the decoded body, in any of the known shapes.
        tenant: whom it belongs to; prefixes of different tenants never match.
        model: the model asked for.
        session: what the caller calls its conversation.
        lifetime_s: seconds a cached prefix lives.
        tokens_per_byte: what has been learned of the fleet's tokenizer.
        namespace: the cache salt, where there is one; prefixes of different ones never match.
    """
    seed = blake2b(f"{tenant}\0{model}\0{namespace}".encode("utf-8", "replace"), digest_size=16).digest()
    pinned = None if session is None else _digest(seed + b"session" + session.encode("utf-8", "replace"))
    ids = _token_ids(payload.get("prompt"))
    data = _token_bytes(ids) if ids else _text(payload)
    ratio = 1 / _ID_BYTES if ids else tokens_per_byte
    return Prefix(
        chained_keys(data, seed),
        PIECE_BYTES * ratio,
        len(data) * ratio,
        pinned,
        lifetime_s,
        ids,
        namespace,
        model,
    )


def chained_keys(data: bytes, seed: bytes = b"") -> tuple[bytes, ...]:
    """A key for each whole piece of ``data``, chained from ``seed``."""
    running = blake2b(seed, digest_size=_KEY_BYTES)
    keys: list[bytes] = []
    for at in range(0, len(data) - PIECE_BYTES + 1, PIECE_BYTES):
        running.update(data[at : at + PIECE_BYTES])
        keys.append(running.copy().digest())
    return tuple(keys)


_ID_BYTES = 4


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_KEY_BYTES).digest()


def _text(payload: Mapping[str, Any]) -> bytes:
    """The prompt's text in the order in which a provider matches it; empty where it cannot be cut."""
    try:
        segments = cut_request(payload)
    except PromptCacheError:
        return b""
    return _SEPARATOR.join([one.text + one.extra for one in segments]).encode("utf-8", "surrogatepass")


def _token_ids(prompt: object) -> tuple[int, ...]:
    """The tokens of a completion's prompt, where it is one list of them."""
    if not isinstance(prompt, list) or not prompt:
        return ()
    if not all(type(one) is int and 0 <= one < 2**31 for one in prompt):
        return ()
    return tuple(prompt)


def _token_bytes(ids: tuple[int, ...]) -> bytes:
    return b"".join([one.to_bytes(_ID_BYTES, "little") for one in ids])
