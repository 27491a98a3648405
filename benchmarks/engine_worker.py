"""One engine in a process of its own, told by ``engine.py`` what to compute; answers with seconds and counts.

    python engine_worker.py ours-native|ours-torch|llama.cpp MODEL.gguf THREADS

Reads one JSON object a line and answers with one. It imports nothing of an engine it does not run, so that
peers may live in other environments. Seconds of CPU are those of the process and its children.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

CONTEXT = 4096
PARALLEL = 8


class Adapter(Protocol):
    """What every engine is asked for."""

    name: str

    def complete(self, prompt: list[int], tokens: int) -> None:
        """Compute ``tokens`` tokens after ``prompt``, greedily, whatever they are."""

    def converse(self, system: str, turns: Sequence[str], tokens: int) -> dict[str, Any]:
        """One conversation; returns prompt_tokens, cached_tokens and, where known, the ids of each prompt."""


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


def main() -> None:
    kind, model, threads = sys.argv[1:4]
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what an engine prints must not come between the answers
    engine: Adapter
    if kind == "llama.cpp":
        engine = LlamaCpp(model, int(threads))
    else:
        engine = Ours(model, int(threads), kind.removeprefix("ours-"))
    print(json.dumps({"name": engine.name, "cpu": cpu_seconds()}), file=replies)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(timed(lambda asked=asked: perform(engine, asked))), file=replies)
    os._exit(0)  # no engine is waited for


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
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
