"""The engine's benchmark: what it counts as reusable, whose CPU seconds it adds up, and how it drives vLLM.

A package of vLLM's names, written for the test, stands for the peer; the real one is never installed here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import engine as benchmark
from benchmarks import engine_worker as worker

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

FAKE = {
    "transformers.py": """
class AutoTokenizer:
    from_pretrained = classmethod(lambda cls, model: cls())
    def encode(self, text, add_special_tokens):
        assert add_special_tokens is False
        return [ord(each) for each in text]
""",
    "vllm/__init__.py": """
import os
__version__ = os.environ["VLLM_CPU_OMP_THREADS_BIND"] + "/" + os.environ["OMP_NUM_THREADS"]
from types import SimpleNamespace
class SamplingParams(SimpleNamespace): pass
""",
    "vllm/engine/arg_utils.py": """
from types import SimpleNamespace
class AsyncEngineArgs(SimpleNamespace): pass
""",
    "vllm/sampling_params.py": """
class RequestOutputKind:
    FINAL_ONLY = "last"
""",
    "vllm/v1/engine/async_llm.py": """
import kernels  # the benchmarks' own module of that name must not hide it
import asyncio
from types import SimpleNamespace
class AsyncLLM:
    def __init__(self, arguments):
        self.arguments, self.known, self.loop = arguments, [], asyncio.get_running_loop()
    from_engine_args = classmethod(lambda cls, arguments: cls(arguments))
    async def generate(self, prompt, params, name):
        assert self.arguments.enable_prefix_caching and self.arguments.dtype == "float32"
        assert params.ignore_eos and params.temperature == 0 and params.output_kind == "last"
        assert self.loop is asyncio.get_running_loop()
        ids, answer = prompt["prompt_token_ids"], [7] * params.max_tokens
        hits = [known for known in self.known if ids[:len(known)] == known]
        self.known.append(ids + answer)
        yield SimpleNamespace(
            num_cached_tokens=max(map(len, hits), default=None), outputs=[SimpleNamespace(token_ids=answer)]
        )
    def shutdown(self):
        import sys
        print("shut down", file=sys.stderr)
""",
    "kernels.py": "",
}


def test_vllm_is_driven_by_token_ids_and_its_hits_are_added_up(tmp_path: Path) -> None:
    for name, text in FAKE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    asked = [
        {"op": "complete", "prompt": [1, 2], "tokens": 1},
        {"op": "converse", "system": "abc", "conversations": [["de", "f", "gh"]], "tokens": 2},
    ]
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "engine_worker.py"), "vllm-float32", "folder", "2"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        input="".join(json.dumps(each) + "\n" for each in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    hello, complete, converse = map(json.loads, done.stdout.splitlines())
    assert hello["name"] == "vLLM 0-1/2, float32, block 32"
    assert complete["result"] is None
    first = [*map(ord, "abcde")]
    second = [*first, 7, 7, ord("f")]
    prompts = [first, second, [*second, 7, 7, *map(ord, "gh")]]
    assert converse["result"] == [{"prompt_tokens": 5 + 8 + 12, "cached_tokens": 7 + 10, "prompts": prompts}]
    assert "shut down" in done.stderr


def test_the_token_exact_bound_counts_what_the_first_turns_share_and_all_of_a_conversation_so_far() -> None:
    answer = [9] * benchmark.ANSWER
    one = [[1, 2, 3, 4], [1, 2, 3, 4, *answer, 5]]
    other = [[1, 2, 8], [1, 2, 8, *answer, 5]]
    assert benchmark.reusable([one, other]) == 2 + (4 + benchmark.ANSWER - 1) + (3 + benchmark.ANSWER - 1)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Processes are found in /proc")
def test_cpu_seconds_are_those_of_processes_that_still_run_too() -> None:
    spin = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    middle = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    before = worker.cpu_seconds()
    child = subprocess.Popen(
        [sys.executable, "-c", middle], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert len(worker.descendants(os.getpid())) >= 2
    assert worker.cpu_seconds() - before >= 0.3
    child.communicate("\n")
    assert child.pid not in worker.descendants(os.getpid())
    assert worker.cpu_seconds() - before >= 0.3
    assert worker.clock(child.pid) == 0.0
