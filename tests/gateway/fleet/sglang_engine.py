"""SGLang's prefix cache as far as its KV events go, in the three forms that its versions have sent.

A radix tree whose nodes are runs of whole pages; pages are named by a chain of SHA-256 over their tokens, of
which the first eight bytes are told as a signed integer. Prompts of different salts never share a node.

- ``untold``: arrays that end with the memory; a salt goes neither into the names nor into the events.
- ``array``: the salt begins the chain of names, and a salted array has a map with ``cache_salt`` behind it.
- ``map``: every event is a map with ``type``, and the salt one of its members.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgpack

if TYPE_CHECKING:
    from collections.abc import Iterable

Form = Literal["untold", "array", "map"]
Page = tuple[int, ...]


@dataclass
class Node:
    """A run of pages behind its parent's."""

    parent: Node | None
    salt: str = ""
    pages: list[Page] = field(default_factory=list)
    names: list[bytes] = field(default_factory=list)
    children: dict[tuple[str, Page], Node] = field(default_factory=dict)
    used: int = 0


class SglangEngine:
    """The cache.

    Args:
        capacity: pages it holds.
        page_size: tokens a page holds.
        form: how its events are written.
    """

    def __init__(self, capacity: int = 64, page_size: int = 4, form: Form = "array") -> None:
        self.capacity, self.page_size, self.form = capacity, page_size, form
        self.root = Node(None)
        self.size = self.time = 0
        self.batches: list[bytes] = []
        self._events: list[Any] = []

    def begin(self) -> None:
        """What it tells first: its cache is empty."""
        self._events.append(self._event("AllBlocksCleared", {}))
        self._flush()

    def clear(self) -> None:
        self.root, self.size = Node(None), 0
        self.begin()

    def run(self, tokens: Iterable[int], salt: str = "") -> int:
        """Compute a prompt; returns how many of its tokens were cached."""
        ids, size = list(tokens), self.page_size
        pages = [tuple(ids[at : at + size]) for at in range(0, len(ids) - size + 1, size)]
        self.time += 1
        node, matched = self._walk(pages, salt)
        hit = min(matched, (len(ids) - 1) // size)
        if matched < len(pages):
            self._insert(node, pages[matched:], salt)
        while self.size > self.capacity:
            self._evict()
        self._flush()
        return hit * size

    def _walk(self, pages: list[Page], salt: str) -> tuple[Node, int]:
        node, at = self.root, 0
        while at < len(pages) and (child := node.children.get((salt, pages[at]))) is not None:
            child.used = self.time
            same = 0
            while (
                same < len(child.pages) and at + same < len(pages) and child.pages[same] == pages[at + same]
            ):
                same += 1
            node = self._split(child, same) if same < len(child.pages) else child
            at += same
        return node, at

    def _split(self, child: Node, at: int) -> Node:
        """A node's first pages as one of their own; nothing is told of it, for nothing came or went."""
        assert child.parent is not None
        upper = Node(child.parent, child.salt, child.pages[:at], child.names[:at], used=child.used)
        child.parent.children[child.salt, child.pages[0]] = upper
        child.parent, child.pages, child.names = upper, child.pages[at:], child.names[at:]
        upper.children[child.salt, child.pages[0]] = child
        return upper

    def _insert(self, parent: Node, pages: list[Page], salt: str) -> None:
        node = Node(parent, salt, pages, used=self.time)
        name = parent.names[-1] if parent.names else self._seed(salt)
        for page in pages:
            words = b"".join(token.to_bytes(4, "little") for token in page)
            name = hashlib.sha256(name + words).digest()
            node.names.append(name)
        parent.children[salt, pages[0]] = node
        self.size += len(pages)
        told = {
            "block_hashes": [_told(name) for name in node.names],
            "parent_block_hash": _told(parent.names[-1]) if parent.names else None,
            "token_ids": [token for page in pages for token in page],
            "block_size": self.page_size,
            "lora_id": None,
            "medium": "GPU",
        }
        if salt and self.form == "array":
            told["metadata"] = {"cache_salt": salt}
        elif self.form == "map":
            told |= {"cache_salt": salt} if salt else {}
            told["session_id"] = None
        self._events.append(self._event("BlockStored", told))

    def _seed(self, salt: str) -> bytes:
        if not salt or self.form == "untold":
            return b""
        return hashlib.sha256(b"sglang-cache-salt-v1\0" + salt.encode()).digest()

    def _evict(self) -> None:
        """Drop the leaf that was not used for longest."""
        leaves, todo = [], [self.root]
        while todo:
            node = todo.pop()
            todo += node.children.values()
            leaves += [node] if node.parent is not None and not node.children else []
        leaf = min(leaves, key=lambda node: node.used)
        assert leaf.parent is not None
        del leaf.parent.children[leaf.salt, leaf.pages[0]]
        self.size -= len(leaf.pages)
        names = [_told(name) for name in leaf.names]
        self._events.append(self._event("BlockRemoved", {"block_hashes": names, "medium": "GPU"}))

    def _event(self, name: str, fields: dict[str, Any]) -> Any:
        return {"type": name, **fields} if self.form == "map" else [name, *fields.values()]

    def _flush(self) -> None:
        if self._events:
            self.batches.append(msgpack.packb([1.5, self._events, 0]))
            self._events = []


def _told(name: bytes) -> int:
    return int.from_bytes(name[:8], "big", signed=True)
