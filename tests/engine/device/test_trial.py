"""What stands in the way of Triton's kernels is found before a model is loaded, and said in one line."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from promptcache_engine.device import trial

GPU = torch.device("cuda")

with_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")


def test_triton_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert "not installed" in (trial.hindrance(GPU) or "")


def test_triton_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setitem(sys.modules, "promptcache_engine.kernels.triton", None)
    monkeypatch.delattr("promptcache_engine.kernels.triton", raising=False)
    assert "cannot be imported (" in (trial.hindrance(GPU) or "")


@with_triton
def test_a_gpu_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (7, 5))
    assert "this GPU has 7.5" in (trial.hindrance(GPU) or "")


@with_triton
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_launch_that_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert trial.hindrance(torch.device("cpu")) == "Triton's kernels run on a GPU and the device is cpu"
    reason = trial.hindrance(GPU)
    assert reason is not None
    assert reason.startswith("Triton cannot compile and run a kernel on cuda (")
    assert "\n" not in reason


@with_triton
def test_a_folder_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from promptcache_engine.kernels.triton import gates
    from promptcache_engine.kernels.triton.ahead import compile_ahead
    from promptcache_engine.kernels.triton.launch import Target

    taken = tmp_path / "a file"
    taken.touch()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(taken))
    gate_up, out = torch.empty(1, 64, device="meta"), torch.empty(1, 32, device="meta")
    with pytest.raises(OSError, match="Not a directory") as caught:
        compile_ahead(gates.plan(gate_up, out, gelu=False), Target("cuda", 90))
    assert "TRITON_CACHE_DIR" in trial.remedy(caught.value)


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (RuntimeError("Failed to find C compiler. Please specify via CC"), "install gcc"),
        (RuntimeError("Cannot find ptxas"), "TRITON_PTXAS_PATH"),
        (PermissionError(13, "Permission denied", "/opt/triton/bin/ptxas"), "TRITON_PTXAS_PATH"),
        (FileNotFoundError(2, "No such file or directory", "nocc"), "CC names the C compiler"),
        (subprocess.CalledProcessError(1, ["/usr/bin/gcc", "main.c"]), "python3-dev"),
        (PermissionError(13, "Permission denied", "/root/.triton"), "TRITON_CACHE_DIR"),
        (OSError(28, "No space left on device"), "TRITON_CACHE_DIR"),
        (ImportError("x.so: failed to map segment from shared object"), "TRITON_CACHE_DIR"),
        (RuntimeError("out of resource: shared memory, Required: 110592"), "share less memory"),
        (ValueError("anything else"), "install the Triton that came with this torch"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_helps_goes_by_what_failed(error: Exception, helps: str) -> None:
    assert helps in trial.remedy(error)


def test_long_errors_are_cut_to_a_line() -> None:
    assert trial.told(ValueError("a\n  b")) == "ValueError: a b"
    assert trial.told(ValueError()) == "ValueError"
    assert len(trial.told(ValueError("word " * 200))) == 240
