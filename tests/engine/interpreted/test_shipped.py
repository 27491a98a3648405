"""What is compiled ahead of time is what an engine launches: the same kernels, dtypes and constants."""

import inspect

import pytest
import torch

from promptcache_engine import EngineConfig
from promptcache_engine.kernels.triton import shipped
from promptcache_engine.kernels.triton.launch import Launch, Target
from promptcache_engine.models.testing import tiny_model
from promptcache_engine.models.triton_operations import TritonOperations
from tests.engine.scenario import Request, run

_RULES = {"windowed", "softcap", "capped"}
"""Constants by which a shipped program may do more: of these the heaviest are compiled."""

_SIZES = {
    "_KV_HEADS": 2, "_HEADS": 4, "_HIDDEN": 64, "_INNER": 64, "_LAYERS": 2, "_SLOTS": 160,
}  # fmt: skip
"""Those of the tiny models."""


def form(launch: Launch) -> tuple[object, ...]:
    """What a launch is compiled for, but for facts about its integers."""
    function = launch.kernel.fn  # type: ignore[attr-defined]
    kinds = tuple(
        (name, each.dtype if isinstance(each, torch.Tensor) else type(each))
        for name, each in zip(inspect.signature(function).parameters, launch.arguments, strict=False)
    )
    constants = tuple(sorted((name, each) for name, each in launch.constants.items() if name not in _RULES))
    return function.__name__, kinds, constants, launch.options


@pytest.mark.parametrize(
    ("family", "windows", "dtype", "kv_dtype", "coding"),
    [
        ("llama", (), torch.float16, "auto", torch.float16),
        ("gemma3", (5, None), torch.float16, "int8", torch.int8),
        ("gemma2", (5, None), torch.bfloat16, "fp8", torch.float8_e4m3fn),
    ],
)
def test_what_an_engine_launches_is_shipped(
    family: str,
    windows: tuple[int | None, ...],
    dtype: torch.dtype,
    kv_dtype: str,
    coding: torch.dtype,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launched: dict[tuple[object, ...], None] = {}
    really = Launch.run

    def note(launch: Launch) -> None:
        if 0 not in launch.grid:
            launched.setdefault(form(launch))
        really(launch)

    monkeypatch.setattr(Launch, "run", note)
    loaded = tiny_model(
        family=family, layer_windows=windows, dtype=dtype, operations=TritonOperations(), hidden_size=64
    )
    config = EngineConfig(
        page_size=4, kv_cache_tokens=160, max_batch_tokens=16, max_running=2, kv_dtype=kv_dtype
    )
    run(loaded, [Request(list(range(40, 48)), 2, at_step=0)], config=config)
    for name, size in _SIZES.items():
        monkeypatch.setattr(shipped, name, size)
    here = Target("cpu")
    known = [
        *shipped.attention_launches(here, 16, coding, asked=dtype, group=2, page_size=4),
        *shipped.row_launches(16, coding, asked=dtype),
        *shipped.other_launches(dtype),
        *shipped.slot_launches(),
    ]
    forms = {form(each.launch) for each in known}
    missing = [each for each in launched if each not in forms]
    assert not missing
    kernels = {name for name, *_ in launched}
    assert {"_norm_row", "_turn_head", "_attend_chunk", "_attend_split", "_merge_splits"} < kernels
