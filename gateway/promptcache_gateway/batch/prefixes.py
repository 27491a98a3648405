"""Orders requests so that those which begin alike run one after the other, and says who waits for whom.

A prompt's text is cut, in the order in which a provider matches it, into pieces of fixed length, and a short
digest is kept of each that covers everything up to it. Two prompts share as many pieces as their keys have
digests in common. The keys form a trie; walking it depth first computes every prefix once and keeps it in
use until all who need it have run. A key is a hundredth of its prompt.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from promptcache.errors import MalformedRequestError
from promptcache.segments import cut_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH = 8
"""Bytes of a digest in a key."""

FREE = -1
"""Of a request that waits for nobody."""

_FINE, _FINE_UNTIL = 128, 2_048  # characters: eight pages of a server's cache
_MEDIUM, _MEDIUM_UNTIL = 512, 32_768  # the step of hosted providers, 128 tokens
_COARSE = 2_048
_WORTH_WAITING = 512  # characters; below that no hosted provider caches anything


def prefix_key(payload: Mapping[str, Any]) -> bytes:
    """A request's key: the digest of its model, then one for each piece of its prompt.

    A body that cannot be cut has the model's alone: its order does not matter, and its server judges it.
    """
    digest = blake2b(str(payload.get("model") or "").encode("utf-8", "replace"), digest_size=WIDTH).digest()
    digests = [digest]
    text = _text(payload)
    begin = 0
    while (end := begin + _step(begin)) <= len(text):
        piece = text[begin:end].encode("utf-8", "surrogatepass")
        digest = blake2b(digest + piece, digest_size=WIDTH).digest()
        digests.append(digest)
        begin = end
    return b"".join(digests)


def characters(pieces: int) -> int:
    """How many characters of a prompt so many digests of its key cover, the model's among them.

    >>> characters(0), characters(1), characters(17), characters(18)
    (0, 0, 2048, 2560)
    """
    fine, medium = _FINE_UNTIL // _FINE, (_MEDIUM_UNTIL - _FINE_UNTIL) // _MEDIUM
    left = max(0, pieces - 1)
    return (
        min(left, fine) * _FINE
        + min(max(0, left - fine), medium) * _MEDIUM
        + max(0, left - fine - medium) * _COARSE
    )


def prefix_order(keys: Sequence[bytes], members: Sequence[int]) -> array[int]:
    """``members`` (indices of ``keys``) in the order of their prefixes, ties in the order given.

    Prompts that are wholly the beginning of others come before those.
    """
    ordered: array[int] = array("q")
    waiting: list[Sequence[int]] = [members] if len(members) else []
    while waiting:
        group = waiting.pop()
        if len(group) == 1:
            ordered.append(group[0])
            continue
        depth = shared(min(keys[index] for index in group), max(keys[index] for index in group)) * WIDTH
        children: dict[bytes, array[int]] = {}
        for index in group:
            digest = keys[index][depth : depth + WIDTH]
            if digest:
                children.setdefault(digest, array("q")).append(index)
            else:
                ordered.append(index)  # it ends here
        waiting += reversed(children.values())
    return ordered


def shared(one: bytes, other: bytes) -> int:
    """How many digests two keys have in common from their beginning."""
    low, high = 0, min(len(one), len(other)) // WIDTH
    while low < high:
        middle = (low + high + 1) // 2
        if one[: middle * WIDTH] == other[: middle * WIDTH]:
            low = middle
        else:
            high = middle - 1
    return low


def shares(keys: Sequence[bytes], order: Sequence[int]) -> array[int]:
    """For each place in the order, the characters its prompt has in common with an earlier one.

    That is what it shares with the one just before: nothing earlier shares more.
    """
    found: array[int] = array("q")
    for place, index in enumerate(order):
        pieces = shared(keys[order[place - 1]], keys[index]) if place else 0
        found.append(characters(pieces))
    return found


def leaders(common: Sequence[int]) -> array[int]:
    """For each place in the order, the place of the first request with the prefix it shares, or `FREE`.

    ``common`` is what `shares` returns.

    >>> list(leaders([0, 4096, 4096, 0, 8192, 4096]))
    [-1, 0, 0, -1, 3, 3]
    """
    found: array[int] = array("q")
    rising: list[int] = []  # places whose shares rise: the last one below a share begins its prefix
    for place, characters_shared in enumerate(common):
        while rising and common[rising[-1]] >= characters_shared and rising[-1] > 0:
            rising.pop()
        found.append(rising[-1] if rising and characters_shared >= _WORTH_WAITING else FREE)
        rising.append(place)
    return found


def _step(begin: int) -> int:
    if begin < _FINE_UNTIL:
        return _FINE
    return _MEDIUM if begin < _MEDIUM_UNTIL else _COARSE


def _text(payload: Mapping[str, Any]) -> str:
    try:
        segments = cut_request(payload)
    except MalformedRequestError:
        return ""
    return "\0".join(f"{segment.path}\0{segment.extra}\0{segment.text}" for segment in segments)
