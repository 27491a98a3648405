"""What separates two equal prompts from each other; it leaves the separation itself to the radix tree.

Two prompts share pages only inside one namespace. A plain string is a namespace of its own (a salt, a
tenant); ``Namespace`` names the parts a server usually has to keep apart. A plain string never equals a
``Namespace``, and equal text in two different fields gives two different namespaces.
"""

import hashlib
from dataclasses import dataclass, fields

from promptcache_engine.cache.errors import CacheConfigError


@dataclass(frozen=True, slots=True)
class Namespace:
    """The parts that make a namespace; an empty part is "none".

    ``salt`` isolates tenants, ``adapter`` and ``adapter_version`` name a LoRA adapter and its content,
    ``weights`` the version of the model's weights, ``tokenizer`` the tokenizer that gave the ids. Raises
    CacheConfigError for a part that is no text.
    """

    salt: str = ""
    adapter: str = ""
    adapter_version: str = ""
    weights: str = ""
    tokenizer: str = ""

    def __post_init__(self) -> None:
        for part in fields(self):
            if not isinstance(getattr(self, part.name), str):
                raise CacheConfigError(part.name, getattr(self, part.name), "Use a text; empty is none.")


def namespace_seed(namespace: str | Namespace) -> bytes:
    """Return the 32 bytes that start the key chain of ``namespace``: SHA-256 over tagged, length-prefixed
    parts."""
    if isinstance(namespace, str):
        parts = [("plain", namespace)]
    else:
        parts = [(field.name, getattr(namespace, field.name)) for field in fields(namespace)]
    digest = hashlib.sha256(b"promptcache.namespace.v1")
    for name, value in parts:
        for text in (name, value):
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.digest()
