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


@with_triton
def test_a_gpu_has_triton() -> None:
    assert attention_backend.find(EngineConfig(), GPU).name == "triton"
    assert attention_backend.find(EngineConfig(attention_backend="torch"), GPU).name == "torch"


@with_triton
def test_triton_by_name_says_why_it_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r"run on a GPU and the device is cpu") as caught:
        attention_backend.find(EngineConfig(attention_backend="triton"), CPU)
    assert (caught.value.field, caught.value.value) == ("attention_backend", "triton")


@with_triton
def test_the_interpreter_is_not_taken_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert attention_backend.find(EngineConfig(), CPU).name == "torch"
    assert attention_backend.find(EngineConfig(attention_backend="triton"), CPU).name == "triton"


@pytest.mark.parametrize("missing", ["not installed", "broken"])
def test_a_gpu_without_triton(
    missing: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "promptcache_engine.attention_backend")
    if missing == "broken":
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
        monkeypatch.setitem(sys.modules, "promptcache_engine.models.triton_operations", None)
        said = "cannot be imported"
    else:
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
        said = "not installed"
    assert attention_backend.find(EngineConfig(), GPU).name == "torch"
    (line,) = caplog.records
    assert said in line.getMessage()
    assert "torch computes on cuda" in line.getMessage()
    with pytest.raises(ConfigError, match=said):
        attention_backend.find(EngineConfig(attention_backend="triton"), GPU)


@with_triton
def test_pages_of_another_dtype(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "promptcache_engine.attention_backend")
    assert attention_backend.find(EngineConfig(kv_dtype="float16"), GPU).name == "torch"
    assert "leave kv_dtype at auto" in caplog.text
    with pytest.raises(ConfigError, match="leave kv_dtype at auto"):
        attention_backend.find(EngineConfig(kv_dtype="float16", attention_backend="triton"), GPU)
    assert attention_backend.find(EngineConfig(kv_dtype="float32"), GPU).name == "triton"
    assert attention_backend.find(EngineConfig(kv_dtype="fp8"), GPU).name == "triton"


@with_triton
def test_a_gpu_that_is_too_old(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "promptcache_engine.attention_backend")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (7, 5))
    assert attention_backend.find(EngineConfig(), GPU).name == "torch"
    assert "this GPU has 7.5" in caplog.text
    with pytest.raises(ConfigError, match=r"capability 8\.0 and later"):
        attention_backend.find(EngineConfig(attention_backend="triton"), GPU)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (8, 0))
    assert attention_backend.find(EngineConfig(), GPU).name == "triton"


class _Triton:
    name = "triton"


def test_what_keys_and_values_are_kept_in() -> None:
    model = tiny_model().model
    assert attention_backend.kept_dtype(EngineConfig(), model) == torch.bfloat16
    model.operations = _Triton()  # type: ignore[assignment]
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
