"""The events by which vLLM and SGLang tell what their caches hold, read from their bytes.

A message is msgpack: a batch with a time and events, each an array that begins with its name or a map with
``type``; both forms are in use, and newer ones have more fields. What is not known is passed over. What the
events mean is `kv_index`'s business. Source of the forms: ``distributed/kv_events.py`` of vLLM;
``disaggregation/kv_events.py`` and ``mem_cache/events.py`` of SGLang, whose arrays end with the memory, or
with a map that holds ``cache_salt``, and whose maps have ``cache_salt`` beside the other fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgpack  # type: ignore[import-untyped]  # has neither types nor stubs

from promptcache_gateway.errors import GatewayError

Hash = bytes | int

_STORED = ("block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium", "lora_name")
_STORED_LATER = ("extra_keys", "group_idx")
_REMOVED = ("block_hashes", "medium", "group_idx", "remaining_copy_counts")


class KvEventError(GatewayError):
    """A message is no batch of events."""


@dataclass(frozen=True, slots=True)
class PagesStored:
    """Pages one behind the other.

    Attributes:
        hashes: the engine's own names of them.
        parent: the page before the first; None: they begin a prompt.
        tokens: their tokens, ``page_size`` each.
        page_size: tokens a page holds.
        lora: the adapter's name they were computed with, or None.
        salt: the cache salt they were computed with; None where that is not told.
        extra: what else went into a page's name, one entry a page, empty where nothing did or it is not told.
        copy: where this copy lies: the memory and the group of layers.
        component: the kind of layers, where the engine tells of each apart ("" where it does not).
    """

    hashes: tuple[Hash, ...]
    parent: Hash | None
    tokens: tuple[int, ...]
    page_size: int
    lora: str | None = None
    salt: str | None = None
    extra: tuple[str, ...] = ()
    copy: tuple[str, int] = ("", 0)
    component: str = ""


@dataclass(frozen=True, slots=True)
class PagesRemoved:
    """Pages of which this copy is gone."""

    hashes: tuple[Hash, ...]
    copy: tuple[str, int] = ("", 0)


@dataclass(frozen=True, slots=True)
class CacheCleared:
    """Everything is gone."""


KvEvent = PagesStored | PagesRemoved | CacheCleared


def read_batch(payload: bytes) -> tuple[KvEvent, ...]:
    """The events of a message, in order.

    Raises:
        KvEventError: it is no batch of events.
    """
    try:
        batch = msgpack.unpackb(payload, raw=False, strict_map_key=False)
        events = batch["events"] if isinstance(batch, dict) else batch[1]
        read = [_event(event) for event in events]
    except (ValueError, TypeError, KeyError, IndexError, msgpack.UnpackException) as error:
        raise KvEventError("A message of a replica is no batch of KV events.") from error
    return tuple(event for event in read if event is not None)


def _event(event: Any) -> KvEvent | None:
    if isinstance(event, dict):
        name, fields = event["type"], event
    else:
        name, values = event[0], event[1:]
        names = (*_STORED, *_STORED_LATER) if name == "BlockStored" else _REMOVED
        fields = dict(zip(names, values, strict=False))
        if name == "BlockStored" and fields.get("lora_id") is None:
            fields |= _sglangs(values[len(_STORED) - 1 :])
    if name == "BlockStored":
        return _stored(fields)
    if name == "BlockRemoved":
        return PagesRemoved(_without_copies(fields), _copy(fields))
    return CacheCleared() if name == "AllBlocksCleared" else None


def _sglangs(rest: list[Any]) -> dict[str, Any]:
    """What SGLang puts behind the memory, where an adapter's name would stand: a component, a map."""
    told: dict[str, Any] = {}
    for value in rest[:2]:
        if isinstance(value, dict):
            told |= {"lora_name": None, "extra_keys": None, "cache_salt": value.get("cache_salt")}
        elif isinstance(value, str):
            told |= {"lora_name": None, "component_type": value}
    return told


def _stored(fields: dict[str, Any]) -> PagesStored:
    hashes, size = _hashes(fields["block_hashes"]), int(fields["block_size"])
    tokens = tuple(map(int, fields["token_ids"]))
    if size < 1 or len(tokens) != size * len(hashes):
        raise ValueError("tokens do not fill the pages")
    lora = fields.get("lora_name")
    if lora is None and fields.get("lora_id") is not None:
        lora = f"#{fields['lora_id']}"
    if lora is not None and not isinstance(lora, str):
        raise TypeError("an adapter's name is no text")
    parent = fields.get("parent_block_hash")
    if parent is not None:
        (parent,) = _hashes((parent,))
    salt, extra = _extra(fields.get("extra_keys"), len(hashes), lora, first=parent is None)
    if isinstance(fields.get("cache_salt"), str):
        salt = fields["cache_salt"]
    component = str(fields.get("component_type") or "")
    return PagesStored(hashes, parent, tokens, size, lora, salt, extra, _copy(fields), component)


def _extra(keys: Any, pages: int, lora: str | None, *, first: bool) -> tuple[str | None, tuple[str, ...]]:
    """The salt, which only the first page of a prompt has, and the rest of each page's keys as text.

    A key is a pair with its kind, or, before there were kinds, the bare value: an adapter's name, a salt.
    """
    if keys is None:
        return None, ()
    salt, rest = "", []
    for number, entry in enumerate([*keys, *[None] * pages][:pages]):
        kept = []
        for key in entry or ():
            kind, value = (key[0], key[1]) if isinstance(key, list | tuple) and len(key) > 1 else ("", key)
            if kind == "lora" or (not kind and value == lora):
                continue
            if first and not number and isinstance(value, str) and kind in {"cache_salt", ""}:
                salt = value
            else:
                kept.append(repr(key))
        rest.append("\x1e".join(kept))
    return salt, tuple(rest) if any(rest) else ()


def _hashes(values: Any) -> tuple[Hash, ...]:
    if not all(isinstance(one, bytes | int) for one in values):
        raise TypeError("a page's name is no hash")
    return tuple(values)


def _without_copies(fields: dict[str, Any]) -> tuple[Hash, ...]:
    """The pages of which, where it is told, no other copy is left in the same place."""
    hashes = _hashes(fields["block_hashes"])
    left = fields.get("remaining_copy_counts") or ()
    return tuple(name for at, name in enumerate(hashes) if at >= len(left) or not left[at])


def _copy(fields: dict[str, Any]) -> tuple[str, int]:
    return str(fields.get("medium") or "GPU"), int(fields.get("group_idx") or 0)
