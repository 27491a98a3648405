"""Kernels compiled for devices that are not here, as they are shipped: none keeps registers in memory.

Every kernel is compiled for one target here, attention for all; ``benchmarks/kernels.py`` compiles the rest.
"""

import importlib.util
import os

import pytest
import torch

if importlib.util.find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("Triton is not installed, or interprets in this process", allow_module_level=True)

from promptcache_engine.kernels.triton import shipped
from promptcache_engine.kernels.triton.ahead import compile_ahead
from promptcache_engine.kernels.triton.launch import Target

SHARED = {80: 163 << 10, 90: 227 << 10, 100: 227 << 10, 942: 64 << 10}
"""Bytes that a program may share, from the makers' tables of each architecture."""

CHOSEN = [(target, 128, torch.bfloat16) for target in shipped.TARGETS] + [
    (Target("cuda", 80), 256, torch.int8),
    (Target("cuda", 90), 64, torch.float8_e4m3fn),
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))


def check(each: shipped.Shipped, target: Target) -> None:
    resources = compile_ahead(each.launch, target)
    assert resources.spilled == 0, f"{each.operation} ({each.variant}) spills"
    assert resources.shared <= SHARED[target.arch]
    assert 0 < resources.registers <= (255 if target.kind == "cuda" else 512)


@pytest.mark.parametrize(("target", "dim", "coding"), CHOSEN, ids=str)
def test_attention_compiles_everywhere_without_spills(target: Target, dim: int, coding: torch.dtype) -> None:
    for each in shipped.attention_launches(target, dim, coding):
        check(each, target)


@pytest.mark.parametrize("coding", [torch.bfloat16, torch.float8_e4m3fn, torch.int8], ids=str)
def test_rows_compile_without_spills(coding: torch.dtype) -> None:
    for target in (Target("cuda", 90), Target("hip", 942)):
        for each in shipped.row_launches(128, coding):
            check(each, target)


@pytest.mark.parametrize("target", [Target("cuda", 80), Target("hip", 942)], ids=str)
def test_the_others_compile_without_spills(target: Target) -> None:
    for each in shipped.other_launches(torch.bfloat16):
        check(each, target)


def test_every_operation_is_among_the_shipped() -> None:
    from promptcache_engine.kernels import triton

    launches = [*shipped.attention_launches(Target("cuda", 90), 64, torch.bfloat16)]
    launches += [*shipped.row_launches(64, torch.bfloat16), *shipped.other_launches(torch.bfloat16)]
    assert {each.operation.partition(",")[0] for each in launches} == set(triton.__all__)
