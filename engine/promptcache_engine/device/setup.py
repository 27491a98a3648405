"""What happens on a GPU before the first request: kernels are compiled, decode steps recorded.

Where Triton does not compute there is nothing to do, and nothing here imports Triton.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from promptcache_engine.choosing import Draw
from promptcache_engine.config import EngineConfig, SamplingParams
from promptcache_engine.device.graphs import CudaRecorder
from promptcache_engine.device.transfers import current
from promptcache_engine.errors import ConfigError
from promptcache_engine.info import EngineInfo, WarmUp
from promptcache_engine.models import KVPool, LoadedModel
from promptcache_engine.runner import ModelRunner

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


def prepare(
    config: EngineConfig, loaded: LoadedModel, pool: KVPool, info: EngineInfo
) -> tuple[Device | None, EngineInfo]:
    """Compile and record what steps need, and note it in ``info``; None where Triton does not compute.

    Raises:
        ConfigError: ``cuda_graphs`` is ``on`` and not all of them can be recorded.
    """
    on_gpu = pool.k.device.type == "cuda" and loaded.model.operations.name == "triton"
    if config.cuda_graphs == "on" and not on_gpu:
        remedy = "Use auto: decode steps are recorded where Triton's kernels compute on a GPU"
        raise ConfigError("cuda_graphs", "on", remedy)
    if loaded.model.operations.name != "triton":
        return None, info
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
        if not on_gpu:
            return device, info
        report = steps.warm_up(
            config.max_batch_tokens, lambda logits, shaped: device.draw(logits, shaped, _DRAWN, (1, 2))
        )
        if config.cuda_graphs != "off":
            recorded = steps.record(CudaRecorder(steps.device))
            report = replace(recorded, compile_seconds=report.compile_seconds)
    _tell(report)
    if config.cuda_graphs == "on" and report.graphs_missing:
        remedy = f"{report.graphs_missing} decode steps could not be recorded, the log says why: use auto"
        raise ConfigError("cuda_graphs", "on", remedy)
    return device, replace(info, warm_up=report)


def _tell(report: WarmUp) -> None:
    _log.info(
        "kernels ready in %.1f s; %d decode graphs, up to %d sequences of %d tokens, in %.1f s and %d MiB",
        report.compile_seconds,
        report.graphs,
        max(report.graph_batches, default=0),
        max(report.graph_contexts, default=0),
        report.graph_seconds,
        report.graph_bytes >> 20,
    )
