"""What happens on a GPU before the first request: kernels are compiled, decode steps recorded.

Where the kernels of a model cannot be compiled or run, torch computes it, unless Triton was asked for by
name. Where Triton does not compute there is nothing to do, and nothing here imports Triton.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import torch

from promptcache_engine import attention_backend
from promptcache_engine.choosing import Draw
from promptcache_engine.config import EngineConfig, SamplingParams
from promptcache_engine.device import trial
from promptcache_engine.device.graphs import CudaRecorder
from promptcache_engine.device.transfers import current
from promptcache_engine.errors import ConfigError
from promptcache_engine.info import EngineInfo, WarmUp
from promptcache_engine.models import DecoderModel, KVPool, LoadedModel
from promptcache_engine.runner import ModelRunner

if TYPE_CHECKING:
    from promptcache_engine.device.steps import DeviceSteps

_log = logging.getLogger(__name__)

_DRAWN = (
    SamplingParams(temperature=0),
    SamplingParams(temperature=0.5, top_k=2, top_p=0.5, min_p=0.01, logprobs=1),
)


@dataclass(frozen=True)
class Device:
    """What computes and draws on a GPU; it outlives workers.

    Attributes:
        make_runner: as ``ModelRunner``, for a worker whose cache is empty.
        draw: chooses tokens there.
    """

    make_runner: Callable[..., ModelRunner]
    draw: Draw


def first_steps(config: EngineConfig, steps: "DeviceSteps", draw: Draw) -> WarmUp | None:
    """Compute what compiles a model's kernels and record its decode steps; None where there is no GPU."""
    if steps.device.type != "cuda":
        return None
    report = steps.warm_up(
        config.max_batch_tokens, lambda logits, shaped: draw(logits, shaped, _DRAWN, (1, 2))
    )
    if config.cuda_graphs != "off":
        recorded = steps.record(CudaRecorder(steps.device))
        report = replace(recorded, compile_seconds=report.compile_seconds)
    from promptcache_engine.kernels.triton.compiled import programs  # noqa: PLC0415

    return replace(report, kernels=programs())


FirstSteps: TypeAlias = Callable[[EngineConfig, "DeviceSteps", Draw], WarmUp | None]
"""As ``first_steps``."""


def prepare(
    config: EngineConfig,
    loaded: LoadedModel,
    pool: KVPool,
    info: EngineInfo,
    *,
    begin: FirstSteps = first_steps,
) -> tuple[Device | None, EngineInfo]:
    """Compile and record what steps need, and note it in ``info``; None where Triton does not compute.

    Raises:
        ConfigError: ``cuda_graphs`` is ``on`` and not all of them can be recorded; ``triton`` is configured
            and the model's kernels cannot be compiled or run; the GPU's memory does not hold a step; or the
            GPU does not answer any more.
    """
    on_gpu = pool.k.device.type == "cuda" and loaded.model.operations.name == "triton"
    if config.cuda_graphs == "on" and not on_gpu:
        remedy = "Use auto: decode steps are recorded where Triton's kernels compute on a GPU"
        raise ConfigError("cuda_graphs", "on", remedy)
    if loaded.model.operations.name != "triton":
        return None, info
    try:
        device, report = _begin(config, loaded, pool, info, begin)
    except torch.OutOfMemoryError as error:
        remedy = "The GPU's memory holds no step beside them: give fewer, or a smaller max_batch_tokens"
        raise ConfigError("kv_cache_tokens", config.kv_cache_tokens, remedy) from error
    except Exception as error:  # noqa: BLE001 - compilers and drivers raise what they like
        return None, _without_triton(config, loaded.model, pool, info, error)
    if report is None:
        return device, info
    _tell(report)
    if config.cuda_graphs == "on" and report.graphs_missing:
        remedy = f"{report.graphs_missing} decode steps could not be recorded, the log says why: use auto"
        raise ConfigError("cuda_graphs", "on", remedy)
    return device, replace(info, warm_up=report)


def _begin(
    config: EngineConfig, loaded: LoadedModel, pool: KVPool, info: EngineInfo, begin: FirstSteps
) -> tuple[Device, WarmUp | None]:
    from promptcache_engine.device.draw import DeviceDraw  # noqa: PLC0415
    from promptcache_engine.device.runner import DeviceRunner  # noqa: PLC0415
    from promptcache_engine.device.steps import DeviceSteps  # noqa: PLC0415
    from promptcache_engine.kernels.triton import sample_tokens  # noqa: PLC0415

    with current(pool.k.device):
        steps = DeviceSteps(
            loaded.model,
            pool,
            page_size=info.page_size,
            max_length=info.context_length,
            max_running=config.max_running,
        )
        device = Device(partial(DeviceRunner, steps=steps), DeviceDraw(sample_tokens))
        return device, begin(config, steps, device.draw)


def _without_triton(
    config: EngineConfig, model: DecoderModel, pool: KVPool, info: EngineInfo, error: Exception
) -> EngineInfo:
    """Let torch compute after the first steps failed; raise ConfigError where it must not, or cannot."""
    reason = f"the model's kernels cannot be compiled and run ({trial.told(error)}); {trial.remedy(error)}"
    try:
        torch.zeros(1, device=pool.k.device).cpu()
    except RuntimeError:
        remedy = f"The GPU does not answer any more, use attention_backend='torch' or device='cpu': {reason}"
        raise ConfigError("device", info.device, remedy) from error
    if config.cuda_graphs == "on":
        raise ConfigError("cuda_graphs", "on", f"Use auto: {reason}") from error
    operations = attention_backend.instead(config, reason, pool.k.device)
    model.use(operations)
    pool.use_copy(operations.copy_slots)
    return replace(info, attention_backend=operations.name, attention_fallback=operations.because)


def _tell(report: WarmUp) -> None:
    _log.info(
        "kernels ready in %.1f s, %d programs (%s); "
        "%d decode graphs, up to %d sequences of %d tokens, in %.1f s and %d MiB",
        report.compile_seconds,
        sum(count for _, count in report.kernels),
        ", ".join(f"{name} {count}" for name, count in report.kernels),
        report.graphs,
        max(report.graph_batches, default=0),
        max(report.graph_contexts, default=0),
        report.graph_seconds,
        report.graph_bytes >> 20,
    )
