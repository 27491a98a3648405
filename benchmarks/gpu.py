"""Kernels and engine on one GPU: are they right, how near to the hardware's limit, what does a hit save.

    python -m benchmarks.gpu [--out report.json]
    TRITON_INTERPRET=1 python -m benchmarks.gpu --tiny --interpret

One report, under eight minutes on one H200, without a network, with nothing but torch, triton, numpy and the
product. The exit status is 1 where a result is wrong. ``--tiny --interpret`` runs the same code in small on a
CPU: its results are checked as on a GPU, its times mean nothing. The parts are ``gpu_correct``, ``gpu_speed``
and ``gpu_engine``; asked for by name, ``gpu_tiles``.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Rows = list[dict[str, Any]]
Part = Callable[..., Rows]


def main() -> int:
    """Run the parts that were asked for and print one report."""
    parser = argparse.ArgumentParser(description="Kernels and engine on one GPU.")
    parser.add_argument("--tiny", action="store_true", help="small sizes, to try the script")
    parser.add_argument("--interpret", action="store_true", help="on a CPU, kernels interpreted")
    parser.add_argument("--parts", default="correct,speed,engine", help="of correct, speed, engine, tiles")
    parser.add_argument("--out", type=Path, help="write the report there as JSON, too")
    args = parser.parse_args()
    device = torch.device("cpu" if args.interpret else "cuda")
    if args.interpret and os.environ.get("TRITON_INTERPRET") != "1":
        parser.error("set TRITON_INTERPRET=1 before Python starts")
    if device.type == "cuda" and not torch.cuda.is_available():
        parser.error("torch finds no GPU here; --tiny --interpret tries the script on a CPU")

    from benchmarks import gpu_correct, gpu_engine, gpu_speed, gpu_tiles  # noqa: PLC0415 - they import Triton

    parts: dict[str, Part] = {
        "correct": gpu_correct.run,
        "speed": gpu_speed.run,
        "engine": gpu_engine.run,
        "tiles": gpu_tiles.run,
    }
    wanted = args.parts.split(",")
    if unknown := set(wanted) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    report: dict[str, Any] = {"machine": _machine(device), "tiny": args.tiny}
    begun = time.monotonic()
    for name in wanted:
        print(f"## {name}", flush=True)
        report[name] = parts[name](device, tiny=args.tiny)
        for row in report[name]:
            print("  ".join(f"{key}={_shown(value)}" for key, value in row.items()), flush=True)
    report["seconds"] = round(time.monotonic() - begun, 1)
    wrong = [row for name in wanted for row in report[name] if row.get("right") is False]
    missed = [row for name in wanted for row in report[name] if row.get("target_met") is False]
    print(f"{report['machine']}: {len(wrong)} wrong, {len(missed)} targets missed, {report['seconds']} s")
    if args.out is not None:
        args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def _machine(device: torch.device) -> str:
    import triton  # noqa: PLC0415 - not before the arguments are known to be good

    name = "interpreted, no GPU" if device.type == "cpu" else torch.cuda.get_device_name(device)
    return (
        f"{name}, torch {torch.__version__}, triton {triton.__version__}, Python {platform.python_version()}"
    )


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
