"""Which backend computes: triton on a GPU, torch elsewhere in silence, an error where it cannot be as asked.

Whole models on Triton's kernels run in a process of their own, for there Triton interprets them.
"""

import importlib.util
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from promptcache_engine import ConfigError, EngineConfig, attention_backend
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.models.torch_operations import TorchOperations

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("interpreted")
CPU, GPU = torch.device("cpu"), torch.device("cuda")

with_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")


@pytest.fixture(autouse=True)
def not_interpreting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


@with_triton
def test_models_on_interpreted_kernels() -> None:
    command = [sys.executable, "-m", "pytest", str(FOLDER), "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""}
    env.pop("PYTEST_XDIST_WORKER", None)
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert re.search(r"\d+ passed", run.stdout)
    assert "skipped" not in run.stdout


@pytest.mark.parametrize("name", ["auto", "torch"])
def test_a_cpu_has_torch_in_silence(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert attention_backend.find(EngineConfig(attention_backend=name), CPU).name == "torch"
    assert caplog.records == []


def able(_device: torch.device) -> None:
    """A trial that finds nothing in the way."""


def broken(device: torch.device) -> str:
    return f"no compiler for {device}; install one"


@with_triton
def test_a_gpu_has_triton() -> None:
    assert attention_backend.find(EngineConfig(), GPU, hindrance=able).name == "triton"
    asked = EngineConfig(attention_backend="torch")
    assert attention_backend.find(asked, GPU, hindrance=able).name == "torch"


@with_triton
def test_triton_by_name_says_why_it_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r"run on a GPU and the device is cpu") as caught:
        attention_backend.find(EngineConfig(attention_backend="triton"), CPU)
    assert (caught.value.field, caught.value.value) == ("attention_backend", "triton")


@with_triton
def test_the_interpreter_is_not_taken_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert attention_backend.find(EngineConfig(), CPU, hindrance=able).name == "torch"
    named = EngineConfig(attention_backend="triton")
    assert attention_backend.find(named, CPU, hindrance=able).name == "triton"


def test_a_gpu_on_which_triton_cannot_compute(caplog: pytest.LogCaptureFixture) -> None:
    found = attention_backend.find(EngineConfig(), GPU, hindrance=broken)
    assert (found.name, found.because) == ("torch", "no compiler for cuda; install one")
    assert [each.getMessage() for each in caplog.records] == [f"{found.because}; torch computes on cuda"]
    with pytest.raises(ConfigError, match="Use auto or torch: no compiler for cuda; install one") as caught:
        attention_backend.find(EngineConfig(attention_backend="triton"), GPU, hindrance=broken)
    assert (caught.value.field, caught.value.value) == ("attention_backend", "triton")


@with_triton
def test_pages_of_another_dtype(caplog: pytest.LogCaptureFixture) -> None:
    def found(**options: str) -> str:
        return attention_backend.find(EngineConfig(**options), GPU, hindrance=able).name  # type: ignore[arg-type]

    assert found(kv_dtype="float16") == "torch"
    assert "leave kv_dtype at auto" in caplog.text
    with pytest.raises(ConfigError, match="leave kv_dtype at auto"):
        found(kv_dtype="float16", attention_backend="triton")
    assert found(kv_dtype="float32") == "triton"
    assert found(kv_dtype="fp8") == "triton"


class Claimed(TorchOperations):
    """Torch's operations by the name of Triton's, which no GPU is needed for."""

    name = "triton"


def test_heads_that_the_kernels_do_not_take(caplog: pytest.LogCaptureFixture) -> None:
    said = "up to 256 values, this model's have 258"
    model = tiny_model(hidden_size=256, num_heads=1, num_kv_heads=1, num_layers=1, operations=Claimed()).model
    attention_backend.settle(EngineConfig(), model)
    assert model.operations.name == "triton"
    model = tiny_model(hidden_size=258, num_heads=1, num_kv_heads=1, num_layers=1, operations=Claimed()).model
    with pytest.raises(ConfigError, match=said):
        attention_backend.settle(EngineConfig(attention_backend="triton"), model)
    attention_backend.settle(EngineConfig(), model)
    assert model.operations.name == "torch"
    assert said in model.operations.because
    assert said in caplog.text


def test_what_keys_and_values_are_kept_in() -> None:
    model = tiny_model().model
    assert attention_backend.kept_dtype(EngineConfig(), model) == torch.bfloat16
    model.use(Claimed())
    assert attention_backend.kept_dtype(EngineConfig(), model) == torch.float32
    with pytest.raises(ConfigError, match="Use auto, float32, fp8 or int8"):
        attention_backend.kept_dtype(EngineConfig(kv_dtype="float16"), model)


def test_eight_bits_ask_for_heads_that_can_be_coded() -> None:
    model = tiny_model(num_heads=2, num_kv_heads=1).model
    assert attention_backend.kept_dtype(EngineConfig(kv_dtype="fp8"), model) == torch.float8_e4m3fn
    assert attention_backend.kept_dtype(EngineConfig(kv_dtype="int8"), model) == torch.int8
    with pytest.raises(ConfigError, match="heads of 8 values"):
        attention_backend.kept_dtype(EngineConfig(kv_dtype="int8"), tiny_model().model)


def test_contradictions_and_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="native computes on a CPU"):
        EngineConfig(attention_backend="triton", decode_kernel="native")
    with pytest.raises(ConfigError, match="auto, triton, torch"):
        EngineConfig(attention_backend="flash")
