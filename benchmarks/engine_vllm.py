"""vLLM's CPU build as one of the engines ``engine_worker.py`` runs (a peer, never a dependency).

Only the peer's environment can import vLLM, and only when the adapter is made. Its engine core is a process
of its own; calls are blocking and may come from several threads.
"""

import asyncio
import itertools
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

BLOCK = 32  # the size at which its CPU build is best; it takes no smaller one, its default is 128
POOL_GIB = 2


class Vllm:
    """vLLM's engine on a folder of Hugging Face's form, with its prefix cache on."""

    def __init__(self, model: str, threads: int, dtype: str, context: int, parallel: int) -> None:
        told = {
            "OMP_NUM_THREADS": str(threads),
            "VLLM_CPU_OMP_THREADS_BIND": "0" if threads == 1 else f"0-{threads - 1}",
            "VLLM_CPU_KVCACHE_SPACE": str(POOL_GIB),
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        os.environ.update(told)  # it reads them when imported, and so does its core's process
        import vllm  # noqa: PLC0415 - only the peer's environment has it
        from transformers import AutoTokenizer  # noqa: PLC0415
        from vllm.engine.arg_utils import AsyncEngineArgs  # noqa: PLC0415
        from vllm.sampling_params import RequestOutputKind  # noqa: PLC0415
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

        arguments = AsyncEngineArgs(
            model=model,
            dtype=dtype,
            max_model_len=context,
            max_num_seqs=parallel,
            block_size=BLOCK,
            enable_prefix_caching=True,
            disable_log_stats=True,
        )
        self._tokenizer = AutoTokenizer.from_pretrained(model)
        self._params = vllm.SamplingParams
        self._last = RequestOutputKind.FINAL_ONLY
        self._numbers = itertools.count()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._engine = self._wait(_made(AsyncLLM, arguments))
        self.name = f"vLLM {vllm.__version__}, {dtype}, block {BLOCK}"

    def complete(self, prompt: list[int], tokens: int) -> Any:
        """The request's output, with ``num_cached_tokens`` and the answer's ``outputs[0].token_ids``."""
        return self._wait(self._generate(prompt, tokens))

    def converse(self, system: str, turns: Sequence[str], tokens: int) -> dict[str, Any]:
        """One conversation, continued by token ids, so that no miss comes from tokenizing again."""
        ids, prompts, cached = self._encode(system), [], 0
        for turn in turns:
            ids = ids + self._encode(turn)
            prompts.append(ids)
            answer = self.complete(ids, tokens)
            cached += answer.num_cached_tokens or 0
            ids = ids + list(answer.outputs[0].token_ids)
        return {"prompt_tokens": sum(map(len, prompts)), "cached_tokens": cached, "prompts": prompts}

    def close(self) -> None:
        """End the core's process."""
        self._engine.shutdown()

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    async def _generate(self, prompt: list[int], tokens: int) -> Any:
        params = self._params(
            temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False, output_kind=self._last
        )
        last = None
        asked = {"prompt_token_ids": prompt}
        async for output in self._engine.generate(asked, params, str(next(self._numbers))):
            last = output
        return last

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _made(engine: Any, arguments: Any) -> Any:
    return engine.from_engine_args(arguments)
