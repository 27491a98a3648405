"""A gateway over the built-in engine with a tiny model whose answers are equal to the bit."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.models.testing import tiny_model
from promptcache_gateway.settings import EngineSettings, Settings
from promptcache_gateway.upstreams.local import LocalUpstream
from tests.gateway.serving import Served, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODEL = "tiny"


@contextmanager
def served_engine(data_dir: Path) -> Iterator[Served]:
    config = EngineConfig(model=MODEL, kv_cache_tokens=16_384, deterministic=True)
    engine = Engine.from_loaded(tiny_model(seed=0, deterministic=True), config)
    upstream = LocalUpstream(EngineSettings(model=MODEL), engine)
    with serve(Settings(data_dir=data_dir), upstream=upstream) as running:
        yield running
