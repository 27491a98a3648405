"""Engines for tests: on a tiny random model, and on the default model where its file is at hand."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from promptcache_engine import Engine, EngineConfig
from promptcache_engine.hub import PACKAGED_MODELS, model_cache_dir, resolve_model
from promptcache_engine.kernels.native import Library, NativeUnavailableError, load_library
from promptcache_engine.models import LoadedModel, load_model
from promptcache_engine.models.testing import tiny_model

DEFAULT_MODEL = "smollm2-135m-instruct"
MakeEngine = Callable[..., Engine]


@pytest.fixture(autouse=True)
def _one_thread_for_tiny_tensors(request: pytest.FixtureRequest) -> Iterator[None]:
    """Waking threads costs more than a tiny model's products; real models keep theirs."""
    threads = torch.get_num_threads()
    if request.node.get_closest_marker("model") is None:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny() -> LoadedModel:
    """A seeded model of some thousand parameters over bytes."""
    return tiny_model(seed=0)


@pytest.fixture
def make_engine(tiny: LoadedModel) -> Iterator[MakeEngine]:
    """Start engines on the tiny model; all are closed in the end."""
    with contextlib.ExitStack() as stack:

        def make(loaded: LoadedModel = tiny, **fields: Any) -> Engine:
            fields = {"kv_cache_tokens": 4096, "model": "tiny", **fields}
            return stack.enter_context(Engine.from_loaded(loaded, EngineConfig(**fields)))

        yield make


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The native decode step, compiled once; tests that need it are skipped where it cannot be."""
    try:
        return load_library(folder=tmp_path_factory.mktemp("native"))
    except NativeUnavailableError as error:
        pytest.skip(error.reason)


@pytest.fixture(scope="session")
def default_model_path() -> Path:
    """The default model's file; tests that need it are skipped where it was not downloaded."""
    packaged = PACKAGED_MODELS[DEFAULT_MODEL]
    if not (model_cache_dir() / packaged.filename).is_file():
        pytest.skip(f"{packaged.filename} is not in the model cache; `make test` downloads it")
    return resolve_model(DEFAULT_MODEL)


@pytest.fixture(scope="session")
def default_model(default_model_path: Path) -> LoadedModel:
    """The default model in float32 on the CPU."""
    return load_model(default_model_path, dtype=torch.float32, device="cpu")


@pytest.fixture
def real_engine(default_model: LoadedModel) -> Iterator[Engine]:
    """A fresh engine on the default model."""
    with Engine.from_loaded(default_model, EngineConfig(kv_cache_tokens=8192)) as engine:
        yield engine
