"""Chance that repeats itself: `random`, `uuid`, `secrets` and `os.urandom` draw from one seeded stream."""

from __future__ import annotations

import os
import random
import sys
import uuid
from typing import Any

__all__ = ["Chance"]

_NODE = 0x0242AC110002


class Chance:
    """Holds the stream and puts it in place of the system's."""

    def __init__(self, seed: int) -> None:
        self._stream = random.Random(seed)  # noqa: S311 - nothing secret is made of it

    def install(self) -> None:
        """Replace what draws by chance, for the rest of the process."""
        real_seed = random.Random.seed

        def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
            real_seed(generator, self._stream.getrandbits(64) if a is None else a, version)

        put: list[tuple[Any, str, Any]] = [
            (os, "urandom", self._stream.randbytes),
            (random, "_urandom", self._stream.randbytes),
            (random.Random, "seed", seed),
            # Without the system's own function, uuid1 is made of the clock, the node and chance.
            (uuid, "_generate_time_safe", None),
            (uuid, "_UuidCreate", None),
            (uuid, "_node", _NODE),
        ]
        for place, name, value in put:
            setattr(place, name, value)

    def restart(self, seed: int) -> None:
        """Begin the stream anew, and with it the generators that everybody shares."""
        self._stream.__init__(seed)  # type: ignore[misc]
        random.seed(seed)
        for name in ("_last_timestamp", "_last_timestamp_v7", "_last_counter_v7"):
            if hasattr(uuid, name):
                setattr(uuid, name, 0 if "counter" in name else None)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(seed % 2**32)
