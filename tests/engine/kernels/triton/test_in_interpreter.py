"""Every kernel against its specification without a GPU: Triton interprets it, in a process of its own.

A kernel is bound to the interpreter or to the compiler when it is defined, so one process cannot do both.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
FOLDER = Path(__file__).with_name("interpreted")
MODULES = sorted(path.name for path in FOLDER.glob("test_*.py"))

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")


@pytest.mark.parametrize("module", MODULES)
def test_kernels_equal_their_specification_when_interpreted(module: str) -> None:
    command = [sys.executable, "-m", "pytest", str(FOLDER / module), "-q", "-p", "no:cacheprovider"]
    env = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""}
    env.pop("PYTEST_XDIST_WORKER", None)
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    assert re.search(r"\d+ passed", run.stdout)
    assert "skipped" not in run.stdout


def test_the_engine_does_not_import_triton_on_a_cpu() -> None:
    code = (
        "import sys, promptcache_engine, promptcache_engine.models, promptcache_engine.kernels.reference;"
        "from promptcache_engine.kernels import coded, reference_fused, reference_pages, reference_sampling;"
        "sys.exit('triton' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_kernels_refuse_a_device_they_do_not_run_on() -> None:
    code = (
        "import torch\n"
        "from promptcache_engine.kernels import triton\n"
        "ones, slots = torch.ones(1, 2), torch.zeros(1, dtype=torch.int64)\n"
        "options = {name: torch.ones(1) for name in ('heats', 'top_k', 'top_p', 'min_p', 'keys')}\n"
        "for work in (\n"
        "    lambda: triton.sample_tokens(ones, **options),\n"
        "    lambda: triton.silu_mul(ones),\n"
        "    lambda: triton.rms_norm(ones, ones[0], 1e-6),\n"
        "    lambda: triton.copy_slots(ones.view(1, 1, 2), slots, slots),\n"
        "):\n"
        "    try: work()\n"
        "    except ValueError as error: print(error)\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.count("run on a GPU, not on cpu") == 4
