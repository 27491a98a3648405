"""One engine in a process of its own, told by ``engine.py`` what to compute; answers with seconds and counts.

    python engine_worker.py ours-native|ours-torch|llama.cpp|vllm|vllm-float32 MODEL THREADS

MODEL is a GGUF file, or for vLLM a folder of Hugging Face's form. Reads one JSON object a line and answers
with one. It imports nothing of an engine it does not run, so that peers may live in other environments.
Seconds of CPU are those of the process and all that descend from it.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

CONTEXT = 4096
PARALLEL = 8


class Adapter(Protocol):
    """What every engine is asked for."""

    name: str

    def complete(self, prompt: list[int], tokens: int) -> Any:
        """Compute ``tokens`` tokens after ``prompt``, greedily, whatever they are."""

    def converse(self, system: str, turns: Sequence[str], tokens: int) -> dict[str, Any]:
        """One conversation; returns prompt_tokens, cached_tokens and, where known, the ids of each prompt."""

    def close(self) -> None:
        """End the processes it started."""


class Ours:
    """This repository's engine."""

    def __init__(self, model: str, threads: int, kernel: str) -> None:
        from promptcache_engine import Engine, EngineConfig, SamplingParams  # noqa: PLC0415 - the peer's has none

        config = EngineConfig(
            model=model,
            threads=threads,
            decode_kernel=kernel,
            kv_cache_tokens=PARALLEL * CONTEXT,
            max_context=CONTEXT,
        )
        self._engine = Engine(config).start()
        self._params = SamplingParams
        self.name = f"promptcache, {self._engine.info.dtype}, decode {self._engine.info.decode_kernel}"

    def complete(self, prompt: list[int], tokens: int) -> None:
        self._engine.generate(prompt, self._params(temperature=0, max_tokens=tokens, ignore_eos=True))

    def converse(self, system: str, turns: Sequence[str], tokens: int) -> dict[str, Any]:
        encode, params = (
            self._engine.tokenizer.encode,
            self._params(temperature=0, max_tokens=tokens, ignore_eos=True),
        )
        ids, prompts, cached = list(encode(system)), [], 0
        for turn in turns:
            ids += encode(turn)
            prompts.append(list(ids))
            answer = self._engine.generate(ids, params)
            cached += answer.cached_tokens
            ids += answer.token_ids
        return {"prompt_tokens": sum(map(len, prompts)), "cached_tokens": cached, "prompts": prompts}

    def close(self) -> None:
        """It started none."""


class LlamaCpp:
    """llama.cpp's server inside the package xllamacpp."""

    def __init__(self, model: str, threads: int) -> None:
        import xllamacpp  # noqa: PLC0415 - only the peer's environment has it

        params = xllamacpp.CommonParams()
        params.model.path = model
        params.n_parallel, params.n_ctx, params.n_gpu_layers = PARALLEL, PARALLEL * CONTEXT, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        self._server = xllamacpp.Server(params)
        self.name = f"llama.cpp, xllamacpp {xllamacpp.__version__}"

    def complete(self, prompt: list[int] | str, tokens: int) -> dict[str, Any]:
        asked = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True}
        answer: dict[str, Any] = self._server.handle_completions({**asked, "cache_prompt": True})
        return answer

    def converse(self, system: str, turns: Sequence[str], tokens: int) -> dict[str, Any]:
        text, asked, cached = system, 0, 0
        for turn in turns:
            text += turn
            answer = self.complete(text, tokens)
            asked += answer["usage"]["prompt_tokens"]
            cached += answer["usage"]["prompt_tokens_details"]["cached_tokens"]
            text += answer["choices"][0]["text"]
        return {"prompt_tokens": asked, "cached_tokens": cached, "prompts": None}

    def close(self) -> None:
        """It started none."""


def main() -> None:
    kind, model, threads = sys.argv[1:4]
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what an engine prints must not come between the answers
    engine = made(kind, model, int(threads))
    print(json.dumps({"name": engine.name, "cpu": cpu_seconds()}), file=replies)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(timed(lambda asked=asked: perform(engine, asked))), file=replies)
    engine.close()
    os._exit(0)  # no thread is waited for


def made(kind: str, model: str, threads: int) -> Adapter:
    if kind == "llama.cpp":
        return LlamaCpp(model, threads)
    if kind in ("vllm", "vllm-float32"):
        import engine_vllm  # noqa: PLC0415 - the processes vLLM starts import this file again, without it

        here = str(Path(__file__).parent)
        sys.path[:] = [each for each in sys.path if each != here]  # what lies here hides packages of its own
        dtype = "bfloat16" if kind == "vllm" else "float32"
        return engine_vllm.Vllm(model, threads, dtype, CONTEXT, PARALLEL)
    return Ours(model, threads, kind.removeprefix("ours-"))


def perform(engine: Adapter, asked: dict[str, Any]) -> Any:
    if asked["op"] == "complete":
        engine.complete(asked["prompt"], asked["tokens"])
        return None
    with ThreadPoolExecutor(len(asked["conversations"])) as pool:
        running = [
            pool.submit(engine.converse, asked["system"], turns, asked["tokens"])
            for turns in asked["conversations"]
        ]
        return [each.result() for each in running]


def timed(work: Callable[[], Any]) -> dict[str, Any]:
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = work()
    return {"cpu": cpu_seconds() - cpu, "wall": time.perf_counter() - wall, "result": result}


def cpu_seconds() -> float:
    """Of this process and of all that descend from it, also of those that have ended and were waited for.

    The id of another process's clock is made as Linux makes it: clock_getcpuclockid(3).
    """
    ended = sum(os.times()[2:4])
    return time.process_time() + ended + sum(clock(each) for each in descendants(os.getpid()))


def clock(pid: int) -> float:
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it has ended
        return 0.0


def descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(each) for each in task.read_text(encoding="ascii").split()]
        except OSError:  # the thread has ended
            continue
        found += [each for child in children for each in (child, *descendants(child))]
    return found


if __name__ == "__main__":
    main()
