"""Kernels and engine on one GPU: are they right, how near to the hardware's limit, what does a hit save.

    python benchmarks/gpu.py [--out report.json]
    TRITON_INTERPRET=1 python benchmarks/gpu.py --tiny --interpret

One report, under eight minutes on one H200, without a network, with nothing but torch, triton, numpy and the
product. The exit status is 1 where a result is wrong or missing. ``--tiny --interpret`` runs the same code in
small on a CPU: its results are checked as on a GPU, its times mean nothing. The parts are ``gpu_correct``,
``gpu_speed`` and ``gpu_engine``; asked for by name, ``gpu_tiles``. Each has a process of its own and a limit
of time; what is not run, and why, stands in the report.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a file
sys.path += [] if find_spec("promptcache_engine") else [str(ROOT / "engine")]  # not installed

from benchmarks import gpu_parts  # noqa: E402
from benchmarks.gpu_parts import Row  # noqa: E402

LIMITS = {"correct": 190.0, "speed": 100.0, "engine": 180.0, "tiles": 200.0}
"""Seconds that each part may take on a GPU; without tiles less than eight minutes."""

INTERPRETED_LIMIT = 1800.0
NEEDS_GPU = "decode without graphs, replayed equals launched, waits, compiling at the start: they need a GPU"


def main() -> int:
    """Run the parts that were asked for and print one report."""
    args = _arguments()
    if args.only is not None:
        with args.rows.open("a", encoding="utf-8") as file:
            gpu_parts.write(_rows(args), file)
        return 0
    report: dict[str, Any] = {"machine": _machine(interpreted=args.interpret), "tiny": args.tiny}
    missing = [f"{name}: not asked for" for name in LIMITS if name not in args.parts]
    begun = time.monotonic()
    for name in args.parts:
        print(f"## {name}", flush=True)
        limit = INTERPRETED_LIMIT if args.interpret else LIMITS[name]
        report[name], fault = gpu_parts.collect(partial(_command, args, name), limit)
        if fault:
            missing.append(f"{name}: {fault}, after {len(report[name])} rows")
            report[name].append({"operation": name, "right": False, "because": fault})
            print(fault, flush=True)
    report["not_run"] = missing + [NEEDS_GPU] * args.interpret
    report["seconds"] = round(time.monotonic() - begun, 1)
    rows = [row for name in args.parts for row in report[name]]
    wrong = [row for row in rows if row.get("right") is False]
    missed = [row for row in rows if row.get("target_met") is False]
    for reason in report["not_run"]:
        print(f"not run: {reason}")
    print(f"{report['machine']}: {len(wrong)} wrong, {len(missed)} targets missed, {report['seconds']} s")
    if args.out is not None:
        args.out.write_text(gpu_parts.text_of(report, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kernels and engine on one GPU.")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--interpret", action="store_true", help="on a CPU, kernels interpreted")
    parser.add_argument("--parts", default="correct,speed,engine", help="of correct, speed, engine, tiles")
    parser.add_argument("--out", type=Path, help="write the report there as JSON, too")
    parser.add_argument("--only", choices=LIMITS, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.interpret and os.environ.get("TRITON_INTERPRET") != "1":
        parser.error("set TRITON_INTERPRET=1 before Python starts")
    if args.interpret and (reason := _hindrance()):
        parser.error(reason)
    if not args.interpret and not torch.cuda.is_available():
        parser.error("torch finds no GPU here; --tiny --interpret tries the script on a CPU")
    args.parts = args.parts.split(",")
    if unknown := set(args.parts) - set(LIMITS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return args


def _hindrance() -> str | None:
    """Why Triton cannot interpret here, if so."""
    triton, numpy = (tuple(map(int, version(name).split(".")[:2])) for name in ("triton", "numpy"))
    if triton < (3, 7) and numpy >= (2, 4):
        return "Triton 3.6 interprets with NumPy before 2.4 only: install triton>=3.7 or numpy<2.4"
    return None


def _command(args: argparse.Namespace, name: str, rows: Path) -> list[str]:
    """What runs one part in a process of its own."""
    options = ["--tiny"] * args.tiny + ["--interpret"] * args.interpret
    return [sys.executable, __file__, *options, "--only", name, "--rows", str(rows)]


def _rows(args: argparse.Namespace) -> Iterator[Row]:
    """One part's rows, as it finds them."""
    from benchmarks import gpu_correct, gpu_engine, gpu_speed, gpu_tiles  # noqa: PLC0415 - they import Triton

    parts: dict[str, Callable[..., Iterator[Row]]] = {
        "correct": gpu_correct.run,
        "speed": gpu_speed.run,
        "engine": gpu_engine.run,
        "tiles": gpu_tiles.run,
    }
    return parts[args.only](torch.device("cpu" if args.interpret else "cuda"), tiny=args.tiny)


def _machine(*, interpreted: bool) -> str:
    import triton  # noqa: PLC0415 - not before the arguments are known to be good

    name = "interpreted, no GPU" if interpreted else torch.cuda.get_device_name()
    return (
        f"{name}, torch {torch.__version__}, triton {triton.__version__}, Python {platform.python_version()}"
    )


if __name__ == "__main__":
    sys.exit(main())
