"""Compile every Triton kernel, as shipped, for every target, and write what each takes into ``kernels.md``.

    python benchmarks/kernels.py [--targets cuda:90,hip:gfx942] [--jobs 2] [--write]

No GPU is needed: Triton brings the assemblers. A program that spills is marked; the exit status is then 1.
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
import triton

from promptcache_engine.kernels.triton import shipped
from promptcache_engine.kernels.triton.ahead import Resources, compile_ahead
from promptcache_engine.kernels.triton.launch import Target

REPORT = Path(__file__).with_name("kernels.md")
COMBINED = (
    (torch.bfloat16, None), (torch.float32, None), (torch.float8_e4m3fn, torch.float16),
    (torch.int8, torch.float16), (torch.int8, torch.float32),
)  # fmt: skip
"""Dtypes of pages and queries: over coded pages float16 takes more than bfloat16, over its own as much."""

MARK = "<!-- made by benchmarks/kernels.py -->"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile every kernel ahead of time.")
    parser.add_argument("--targets", default=",".join(name_of(target) for target in shipped.TARGETS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile")
    parser.add_argument("--write", action="store_true", help="put the table into kernels.md")
    args = parser.parse_args()
    try:
        targets = targets_named(args.targets)
    except ValueError as error:
        parser.error(str(error))
    if args.write and len(targets) < len(shipped.TARGETS):
        parser.error("--write replaces the whole table: leave --targets out")
    count = sum(1 for _ in launches(targets[0]))
    places = [(target, place) for place in range(count) for target in targets]
    rows: dict[tuple[str, str], dict[Target, Resources]] = {}
    with ProcessPoolExecutor(args.jobs) as pool:
        for (target, _), (key, found) in zip(places, pool.map(compiled, places), strict=True):
            rows.setdefault(key, {})[target] = found
            print(name_of(target), *key, cell(found), file=sys.stderr)
    text = "\n".join(table(rows, targets))
    print(text)
    if args.write:
        kept = REPORT.read_text(encoding="utf-8").partition(MARK)[0]
        REPORT.write_text(f"{kept}{MARK}\n\n{text}\n", encoding="utf-8")
    spilling = [key for key, found in rows.items() if any(each.spilled for each in found.values())]
    return 1 if spilling else 0


def compiled(where: tuple[Target, int]) -> tuple[tuple[str, str], Resources]:
    """What one of a target's launches is and takes; launches do not go to other processes."""
    target, place = where
    each = list(launches(target))[place]
    return (each.operation, each.variant), compile_ahead(each.launch, target)


def launches(target: Target) -> Iterator[shipped.Shipped]:
    """Attention by head size, all else, then what can be set together, under the heaviest rules."""
    for dim in shipped.DIMS:
        yield from shipped.attention_launches(target, dim, torch.bfloat16)
    for coding in (torch.bfloat16, torch.float8_e4m3fn, torch.int8):
        yield from shipped.row_launches(128, coding)
    yield from shipped.other_launches(torch.bfloat16)
    for dim in (256, 128, 64):
        for coding, asked in COMBINED if dim > 64 else COMBINED[1:4:2]:
            for exact in (False, True):
                yield from shipped.attention_launches(
                    target, dim, coding, asked=asked, gemma=True, deterministic=exact
                )


def table(rows: dict[tuple[str, str], dict[Target, Resources]], targets: list[Target]) -> Iterator[str]:
    """The report's lines: registers of a thread / bytes shared, with spills marked."""
    made = f"triton {triton.__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    yield f"{len(rows) * len(targets)} programs; {made}."
    yield "Each cell: registers a thread / bytes shared."
    yield ""
    yield "| kernel | variant | " + " | ".join(name_of(target) for target in targets) + " |"
    yield "|---|---|" + "---|" * len(targets)
    for (operation, variant), found in rows.items():
        cells = [cell(found[target]) if target in found else "" for target in targets]
        yield f"| {operation} | {variant} | " + " | ".join(cells) + " |"


def cell(resources: Resources) -> str:
    spilled = f" **spills {resources.spilled}**" if resources.spilled else ""
    return f"{resources.registers} / {resources.shared:,}{spilled}"


def name_of(target: Target) -> str:
    return f"{target.kind}:{target.arch}"


def targets_named(names: str) -> list[Target]:
    """The shipped targets of these names, in the table's order; ``hip:gfx942`` is ``hip:942``.

    Raises:
        ValueError: one is none of them.
    """
    known = {name_of(target): target for target in shipped.TARGETS}
    asked = [name.strip().replace(":gfx", ":") for name in names.split(",")]
    if unknown := [name for name in asked if name not in known]:
        raise ValueError(f"no such target: {', '.join(unknown)}; there are {', '.join(known)}")
    return [target for name, target in known.items() if name in asked]


if __name__ == "__main__":
    sys.exit(main())
