"""The GPU benchmark in small and interpreted: what it computes is right, what is wrong it says."""

import importlib.util
import io
import json
import math
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
KERNELS = {
    "add_rms_norm", "copy_slots", "decode_attention", "extend_attention", "gather_slots, scatter_slots",
    "gelu_mul", "rms_norm", "rotary_write", "sample_tokens", "silu_mul", "extend_attention, keys divided",
    "divided equals whole", "chunked equals whole",
}  # fmt: skip

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")


def benchmark(*options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    plain = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    env = {**plain, "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-m", "benchmarks.gpu", *options]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_it_runs_in_small_and_finds_everything_right(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    run = benchmark("--tiny", "--interpret", "--out", str(out), TRITON_INTERPRET="1")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    report = json.loads(out.read_text(encoding="utf-8"))
    assert {row["operation"] for row in report["correct"]} == KERNELS
    assert all(row["right"] for row in report["correct"])
    speeds = [row["operation"] for row in report["speed"]]
    assert speeds == [
        "copy", "matmul", "decode_attention", "extend_attention", "extend_attention, short chunk",
    ]  # fmt: skip
    judged = [(row["operation"], row["right"]) for row in report["engine"]]
    assert judged == [
        ("draws", True), ("warm up", True), ("first token", True), ("decode", True), ("decode", True),
        ("decode", True), ("waits", True), ("warm equals cold", True),
        ("chunked equals whole", True),
    ]  # fmt: skip
    assert report["machine"].startswith("interpreted, no GPU")
    assert report["not_run"][0] == "tiles: not asked for"
    assert "need a GPU" in report["not_run"][1]


def test_a_checkout_with_torch_triton_and_numpy_is_enough() -> None:
    """Nothing is installed but what torch itself brings: no promptcache, no tokenizers, no llguidance."""
    code = (
        "import sys\n"
        f"sys.path[:] = [{str(ROOT)!r}, *(each for each in sys.path if each.endswith('-packages') or"
        " each.startswith(sys.base_prefix))]\n"
        "sys.modules.update(dict.fromkeys(('tokenizers', 'safetensors', 'huggingface_hub', 'llguidance')))\n"
        "from benchmarks import gpu, gpu_correct, gpu_engine, gpu_speed, gpu_tiles\n"
        "print(gpu_engine.Engine.__module__)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout == "promptcache_engine.engine\n", run.stderr[-2000:]


@pytest.mark.parametrize(
    ("ends", "fault"),
    [
        ("", ""),
        ("raise SystemExit(3)", "status 3"),
        ("import os; os.abort()", "status -6"),
        ("import time; time.sleep(600)", "stopped after"),
    ],
)
def test_a_part_that_ends_early_keeps_its_rows(ends: str, fault: str) -> None:
    """The last line is cut in the middle, as by a process that dies while it writes."""
    from benchmarks import gpu_parts

    code = (
        "import sys; from benchmarks import gpu_parts; file = open(sys.argv[1], 'a');"
        "gpu_parts.write(iter([{'operation': 'one', 'us': 1.5}]), file);"
        "file.write('{\"oper'); file.flush();" + ends
    )
    rows, found = gpu_parts.collect(lambda path: [sys.executable, "-c", code, str(path)], 20)
    assert rows == [{"operation": "one", "us": 1.5}]
    assert fault in found
    assert bool(found) == bool(fault)


def test_what_a_part_has_started_ends_with_it(tmp_path: Path) -> None:
    """Compilers of a part that was stopped would hold memory of the device that the next is timed on."""
    from benchmarks import gpu_parts

    held = tmp_path / "held"
    os.mkfifo(held)
    code = "import subprocess, sys; subprocess.Popen(['sleep', '600'], stdout=open(sys.argv[1], 'w'))"
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert gpu_parts.collect(lambda _: [sys.executable, "-c", code, str(held)], 60) == ([], "")
        ended, _, _ = select.select([reader], [], [], 30)  # nobody holds the other end any more
        assert ended
    finally:
        os.close(reader)


def test_an_error_is_a_row_among_others() -> None:
    from benchmarks import gpu_parts

    def broken(number: int) -> gpu_parts.Row:
        raise ValueError(f"not {number}")

    rows = [*gpu_parts.attempt("one", broken, 1), *gpu_parts.attempt("two", lambda: [{"us": 2}, {"us": 3}])]
    assert rows == [
        {"operation": "one", "right": False, "because": "ValueError: not 1"},
        {"us": 2},
        {"us": 3},
    ]


def test_what_is_no_number_is_null() -> None:
    from benchmarks import gpu_parts

    file, nan = io.StringIO(), float("nan")
    gpu_parts.write(iter([{"error": nan, "of": [1.5, -math.inf], "more": {"us": nan, "n": 3}}]), file)
    row = json.loads(file.getvalue(), parse_constant=pytest.fail)
    assert row == {"error": None, "of": [1.5, None], "more": {"us": None, "n": 3}}
    assert json.loads(gpu_parts.text_of({"rows": [row]}, indent=1)) == {"rows": [row]}


def test_it_says_what_is_wrong() -> None:
    from benchmarks import gpu_correct

    right = torch.ones(3)
    for found in (right + 1e-3, torch.tensor([1.0, float("nan"), 1.0])):
        assert gpu_correct._row("any", "", found, right, 1e-4)["right"] is False
    assert gpu_correct._row("any", "", right + 1e-5, right, 1e-4)["right"] is True


def test_the_first_token_is_judged_by_the_rest_alone() -> None:
    """What the products behind a long prefix explain stands beside the target and does not move it."""
    from benchmarks import gpu_engine

    judged = [gpu_engine._judged(ratio, 3.0) for ratio in (1.2, 3.5, 4.0)]
    assert [(each["target_met"], each["met_beyond_arithmetic"]) for each in judged] == [
        (True, True), (False, True), (False, False),
    ]  # fmt: skip
    assert {each["target"] for each in judged} == {1.3}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tiny", "--interpret"], "set TRITON_INTERPRET=1"),
        pytest.param(
            [], "no GPU here", marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
        ),
    ],
)
def test_it_needs_a_gpu_or_the_interpreter(options: list[str], said: str) -> None:
    run = benchmark(*options)
    assert run.returncode == 2
    assert said in run.stderr
