"""What happens before an engine can start: device, threads, model, chat template, the pool of KV, a worker.

How large the pool is, is decided in ``memory``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import torch

from promptcache_engine import attention_backend, decode_kernel
from promptcache_engine.cache import PrefixCache
from promptcache_engine.choosing import draw_on_host
from promptcache_engine.config import EngineConfig
from promptcache_engine.core import EngineCore
from promptcache_engine.cores import usable_cores
from promptcache_engine.device.setup import Device
from promptcache_engine.errors import ConfigError
from promptcache_engine.hub import resolve_model
from promptcache_engine.info import EngineInfo
from promptcache_engine.kernels import coded
from promptcache_engine.memory import available_bytes, pool_pages, window_pages
from promptcache_engine.models import ChatTemplate, KVPool, LoadedModel, load_model
from promptcache_engine.runner import ModelRunner
from promptcache_engine.scheduler import Scheduler
from promptcache_engine.worker import Worker

Progress: TypeAlias = Callable[[str], None]


def silent(_line: str) -> None:
    """The progress of an engine nobody watches."""


def use_threads(config: EngineConfig) -> None:
    """Set torch's number of CPU threads, one number for the whole process.

    Without a word from the configuration it is torch's own, but no more than the cores this process may use:
    threads that wait for each other on one core are much slower than one.
    """
    if config.threads is not None:
        torch.set_num_threads(config.threads)
        return
    cores = usable_cores()
    if cores is not None and torch.get_num_threads() > cores:
        torch.set_num_threads(cores)


def load(config: EngineConfig, on_progress: Progress) -> LoadedModel:
    """Find the configured model's file and load it.

    Raises:
        ConfigError: the device, the attention backend or the decode kernel cannot be used.
        ModelUnavailableError: the hub cannot provide the file.
        ModelError: the file cannot be served.
    """
    device = _device(config.device)
    path = resolve_model(config.model, progress=on_progress)
    on_progress(f"loading {path.name} as {config.dtype} on {device}")
    dtype: torch.dtype = getattr(torch, config.dtype)
    operations = attention_backend.find(config, device)
    library = None if operations.name == "triton" else decode_kernel.find(config, device)
    loaded = load_model(
        path,
        dtype=dtype,
        device=device,
        deterministic=config.deterministic,
        library=library,
        operations=operations,
    )
    attention_backend.settle(config, loaded.model)
    decode_kernel.add(config, loaded.model, library)
    return loaded


def read_chat_template(config: EngineConfig, loaded: LoadedModel) -> ChatTemplate | None:
    """Return the configured template, or the model's own where none is configured.

    Raises:
        ConfigError: the template's file cannot be read.
        ChatTemplateError: the template does not compile.
    """
    text = config.chat_template
    if text is None:
        return loaded.chat_template
    if "{" not in text:
        try:
            text = Path(text).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            remedy = f"Give a readable file or the template itself ({error})"
            raise ConfigError("chat_template", config.chat_template, remedy) from error
    return loaded.compile_chat_template(text)


def make_pool(config: EngineConfig, loaded: LoadedModel) -> tuple[KVPool, EngineInfo]:
    """Allocate the pool of KV and say what the engine can hold.

    Raises:
        ConfigError: the configuration asks for what the model or this machine does not have.
    """
    model = loaded.model
    if config.deterministic and not model.deterministic:
        raise ConfigError("deterministic", config.deterministic, "Load the model with deterministic=True")
    trained = loaded.config.context_length
    if config.max_context is not None and config.max_context > trained:
        raise ConfigError("max_context", config.max_context, f"The model was trained for {trained} tokens")
    context = config.max_context or trained
    kv_dtype = attention_backend.kept_dtype(config, model)
    slot_width = coded.slot_width(loaded.config.num_kv_heads, loaded.config.head_dim, kv_dtype)
    num_pages = pool_pages(
        config,
        context_length=context,
        model=loaded.config,
        slot_bytes=slot_width * kv_dtype.itemsize,
        available=available_bytes(model.device),
    )
    windowed = window_pages(
        config, context_length=context, windows=loaded.config.windows, num_pages=num_pages
    )
    info = EngineInfo(
        model_name=Path(config.model).name.removesuffix(".gguf"),
        architecture=loaded.config.architecture,
        context_length=min(context, num_pages * config.page_size),
        vocab_size=loaded.config.vocab_size,
        dtype=str(model.dtype).removeprefix("torch."),
        kv_dtype=str(kv_dtype).removeprefix("torch."),
        device=str(model.device),
        num_pages=num_pages,
        page_size=config.page_size,
        attention_backend=model.operations.name,
        attention_fallback=model.operations.because,
        decode_kernel=decode_kernel.name(model),
        window_pools=tuple(zip(loaded.config.windows, windowed, strict=True)) if windowed else (),
    )
    # One slot more than there are pages: the runner's, to try the model with.
    pool = KVPool(
        loaded.config,
        num_pages * config.page_size + 1,
        kv_dtype,
        model.device,
        window_slots=[pages * config.page_size + 1 for pages in windowed],
        copy=model.operations.copy_slots,
    )
    return pool, info


def make_worker(
    config: EngineConfig,
    loaded: LoadedModel,
    pool: KVPool,
    info: EngineInfo,
    on_death: Callable[[], None],
    *,
    device: Device | None,
) -> Worker:
    """Put a worker together, with an empty cache over ``pool``; ``on_death`` is called if it dies.

    ``device`` computes and draws; None: the model does as it is, and the host.
    """
    # Nobody reads the cache's event log yet; kept, it would only grow.
    sizes = [(keys.shape[1] - 1) // info.page_size for keys, _ in pool.windowed]
    cache = PrefixCache(
        info.num_pages,
        info.page_size,
        policy=config.eviction_policy,
        share_on_admission=False,
        event_limit=0,
        window_pools=list(zip(loaded.config.windows, sizes, strict=True)) if sizes else [],
    )
    scheduler = Scheduler(
        cache,
        max_batch_tokens=config.max_batch_tokens,
        max_running=config.max_running,
        policy=config.scheduling_policy,
        keep_preempted=config.preemption == "keep",
    )
    make_runner = ModelRunner if device is None else device.make_runner
    runner = make_runner(
        loaded.model,
        pool,
        page_size=info.page_size,
        max_length=info.context_length,
        scratch_slot=info.num_pages * info.page_size,
        windows=cache.windows.pools,
    )
    draw = draw_on_host if device is None else device.draw
    core = EngineCore(scheduler, runner, eos_token_ids=loaded.tokenizer.eos_token_ids, draw=draw)
    return Worker(core, max_running=config.max_running, max_waiting=config.max_waiting, on_death=on_death)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError("device", name, "Use auto, cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device", name, "Torch finds no CUDA GPU here: use cpu, or install torch for CUDA")
    return device
