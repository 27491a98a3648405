"""The long run: the oracle's rules drawn by a plain generator, ten times as fast and in longer lives.

Hypothesis searches for the short life that breaks something; this walks on for as long as it is told:
``PROMPTCACHE_OPERATIONS=1000000 python -m pytest tests/engine/cache/test_long_run.py``. A failure names its
seed; ``PROMPTCACHE_FIRST_SEED=<seed> PROMPTCACHE_OPERATIONS=1`` repeats it.
"""

import os
import random

from promptcache_engine.cache import POLICIES, Hints
from tests.engine.cache.test_oracle import PLENTY, CacheLife

OPERATIONS = int(os.environ.get("PROMPTCACHE_OPERATIONS", "6000"))
FIRST_SEED = int(os.environ.get("PROMPTCACHE_FIRST_SEED", "0"))
LIFE = 200
"""Operations of one life."""

_NEED_RUNNING = ("append", "compute", "fork", "finish", "abort")
_RULES = (
    "admit",
    "admit",
    "admit",
    *_NEED_RUNNING,
    "append",
    "finish",
    "evict",
    "look",
    "mirror_events",
    "reset",
)


def test_a_cache_lives_long() -> None:
    lives = max(1, OPERATIONS // LIFE)
    counts: dict[str, int] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + lives):
        try:
            _live(random.Random(seed), counts)
        except AssertionError as error:
            raise AssertionError(f"the life of seed {seed} broke: {error}") from error
    assert sum(counts.values()) >= min(OPERATIONS, lives * LIFE)
    assert set(counts) == set(_RULES), counts


def _live(choose: random.Random, counts: dict[str, int]) -> None:
    life = _begun(choose)
    for _ in range(LIFE):
        name = choose.choice(_RULES)
        while name in _NEED_RUNNING and (not life.running or (name == "compute" and life.on_admission)):
            name = choose.choice(_RULES)
        getattr(life, name)(**_arguments(choose, name))
        life.everything_holds()
        counts[name] = counts.get(name, 0) + 1
    life.teardown()


def _begun(choose: random.Random) -> CacheLife:
    life = CacheLife()
    life.start(
        num_pages=choose.choice([2, 5, 9, 16, 40, PLENTY]),
        page_size=choose.randint(1, 5),
        partial=choose.random() < 0.5,
        on_admission=choose.random() < 0.5,
        remember=choose.choice([None, 0, 9]),
        policy=choose.choice(sorted(POLICIES)),
    )
    return life


def _arguments(choose: random.Random, name: str) -> dict[str, object]:
    """What hypothesis would draw for the rule ``name``."""
    if name in {"admit", "look"}:
        # Three tokens, the last of them rare: long shared prefixes, and places where they part.
        tokens = choose.choices([0, 1, 2], [6, 3, 1], k=choose.randint(1, choose.choice([6, 14, 30])))
        space = choose.choice(["", "", "tenant"])
        if name == "look":
            return {"tokens": tokens, "space": space, "touch": choose.random() < 0.5}
        image = choose.choice([(), (), (), ("red",), ("blue",)])
        return {"tokens": tokens, "image": image, "space": space, "hints": _hints(choose)}
    if name == "append":
        return {"pick": choose.randrange(64), "tokens": choose.choices([0, 1, 2], k=choose.randint(1, 4))}
    if name in {"compute", "finish"}:
        return {"pick": choose.randrange(64), "share": choose.random()}
    if name in {"fork", "abort"}:
        return {"pick": choose.randrange(64)}
    return {"pages": choose.choice([None, 0, 1, 2, 3, 4])} if name == "evict" else {}


def _hints(choose: random.Random) -> Hints:
    return Hints(
        turn=choose.choice([None, 1, 3]),
        after_tool_call=choose.random() < 0.3,
        priority=choose.randint(0, 2),
        keep_seconds=choose.choice([0.0, 0.0, 5.0]),
    )
