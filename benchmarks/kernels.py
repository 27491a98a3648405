"""Compile every Triton kernel, as shipped, for every target, and write what each takes into ``kernels.md``.

    python benchmarks/kernels.py [--targets cuda:90,hip:gfx942] [--jobs 2] [--odd | --write]

With ``--odd`` a sample of other groups of heads and other pages is compiled instead, and only printed. No GPU
is needed: Triton brings the assemblers. A program that spills is marked; the exit status is then 1.
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
from promptcache_engine.kernels.triton.launch import Target, interpreting

REPORT = Path(__file__).with_name("kernels.md")
COMBINED = (
    (torch.bfloat16, None), (torch.float32, None), (torch.float8_e4m3fn, torch.float16),
    (torch.int8, torch.float16), (torch.int8, torch.float32),
)  # fmt: skip
"""Dtypes of pages and queries, the heaviest: over coded pages float16 takes more than bfloat16."""

LIGHTER = ((torch.float16, None), (torch.float8_e4m3fn, None), (torch.int8, None))
"""The other dtypes, for heads of 128; queries over coded pages are bfloat16."""

ODD = (
    (128, torch.bfloat16, None, False, False, 1, 1), (128, torch.bfloat16, None, False, False, 3, 3),
    (128, torch.bfloat16, None, True, False, 1, 1), (128, torch.bfloat16, None, True, False, 3, 3),
    (128, torch.bfloat16, None, True, True, 3, 1), (128, torch.bfloat16, None, False, False, 16, 8),
    (128, torch.bfloat16, None, False, False, 32, 128), (128, torch.float32, None, True, False, 3, 3),
    (128, torch.int8, torch.float16, True, False, 1, 1), (128, torch.int8, torch.float16, True, False, 3, 3),
    (128, torch.float8_e4m3fn, torch.float16, True, True, 3, 3),
    (80, torch.bfloat16, None, True, False, 7, 3), (96, torch.bfloat16, None, True, False, 1, 1),
    (64, torch.bfloat16, None, True, False, 3, 3), (64, torch.bfloat16, None, True, False, 7, 16),
    (64, torch.int8, torch.float16, True, False, 3, 1), (64, torch.float8_e4m3fn, None, True, True, 5, 3),
    (256, torch.bfloat16, None, True, False, 1, 1), (256, torch.bfloat16, None, True, False, 3, 3),
    (256, torch.bfloat16, None, True, True, 3, 3), (256, torch.bfloat16, None, True, False, 8, 1),
    (256, torch.int8, torch.float16, True, False, 3, 3), (256, torch.float8_e4m3fn, None, True, False, 8, 1),
)  # fmt: skip
"""Head size, dtypes of pages and queries, whether with window and soft cap, whether deterministic, query
heads to a head of keys, tokens a page."""

MARK = "<!-- made by benchmarks/kernels.py -->"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile every kernel ahead of time.")
    parser.add_argument("--targets", default=",".join(name_of(target) for target in shipped.TARGETS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that compile")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="put the table into kernels.md")
    choice.add_argument("--odd", action="store_true", help="other groups of heads and pages instead")
    args = parser.parse_args()
    try:
        targets = targets_named(args.targets)
    except ValueError as error:
        parser.error(str(error))
    if args.jobs < 1:
        parser.error(f"--jobs {args.jobs}: at least one process has to compile")
    if interpreting():
        parser.error(
            "TRITON_INTERPRET is set: Triton would interpret the kernels, not compile them; unset it"
        )
    if args.write and len(targets) < len(shipped.TARGETS):
        parser.error("--write replaces the whole table: leave --targets out")
    counts = {target: sum(1 for _ in launches(target, odd=args.odd)) for target in targets}
    places = [
        (target, place, args.odd)
        for place in range(max(counts.values()))
        for target in targets
        if place < counts[target]
    ]
    rows: dict[tuple[str, str], dict[Target, Resources]] = {}
    with ProcessPoolExecutor(args.jobs) as pool:
        for (target, *_), (key, found) in zip(places, pool.map(compiled, places), strict=True):
            rows.setdefault(key, {})[target] = found
            print(name_of(target), *key, cell(found), sep="\t", file=sys.stderr, flush=True)
    text = "\n".join(table(rows, targets))
    print(text)
    if args.write:
        kept = REPORT.read_text(encoding="utf-8").partition(MARK)[0]
        REPORT.write_text(f"{kept}{MARK}\n\n{text}\n", encoding="utf-8")
    spilling = [key for key, found in rows.items() if any(each.spilled for each in found.values())]
    return 1 if spilling else 0


def compiled(where: tuple[Target, int, bool]) -> tuple[tuple[str, str], Resources]:
    """What one of a target's launches is and takes; launches do not go to other processes."""
    target, place, odd = where
    each = list(launches(target, odd=odd))[place]
    return (each.operation, each.variant), compile_ahead(each.launch, target)


def launches(target: Target, *, odd: bool = False) -> Iterator[shipped.Shipped]:
    """Attention by head size, all else, then what can be set together, under the heaviest rules.

    What merges is among the launches of each dtype of pages, and one program for all of them.
    """
    if odd:
        yield from odd_launches(target)
        return
    for dim in shipped.DIMS:
        yield from shipped.attention_launches(target, dim, torch.bfloat16)
    for dim in shipped.DIMS:
        for coding in (torch.bfloat16, torch.float8_e4m3fn, torch.int8):
            yield from shipped.row_launches(dim, coding)
    for coding in (torch.float8_e4m3fn, torch.int8):
        yield from shipped.row_launches(128, coding, asked=torch.float16)
    yield from shipped.other_launches(torch.bfloat16)
    sets = [(dim, *pair) for dim in (256, 128, 64) for pair in COMBINED[: 5 if dim > 64 else 4]]
    for dim, coding, asked in [*sets, *((128, *pair) for pair in LIGHTER)]:
        for exact in (False, True):
            yield from shipped.attention_launches(
                target, dim, coding, asked=asked, gemma=True, deterministic=exact
            )
    if target.kind == "hip":
        yield from small_launches(target)


def small_launches(target: Target) -> Iterator[shipped.Shipped]:
    """What reads and writes pages in pools of less than 2 GiB, for which AMD devices have other programs."""
    for dim in shipped.DIMS:
        yield from shipped.attention_launches(target, dim, torch.bfloat16, small=True)
    for coding in (torch.bfloat16, torch.float8_e4m3fn, torch.int8):
        yield from shipped.row_launches(128, coding, small=True)
    yield from shipped.slot_launches(small=True)
    for dim in (256, 128):
        for coding, asked in (COMBINED[0], COMBINED[3]):
            yield from shipped.attention_launches(target, dim, coding, asked=asked, gemma=True, small=True)


def odd_launches(target: Target) -> Iterator[shipped.Shipped]:
    """A sample of other groups and pages; what merges knows of neither."""
    for dim, coding, asked, gemma, exact, group, page_size in ODD:
        for each in shipped.attention_launches(
            target,
            dim,
            coding,
            asked=asked,
            gemma=gemma,
            deterministic=exact,
            group=group,
            page_size=page_size,
        ):
            if not each.operation.endswith(", merging"):
                yield each


def table(rows: dict[tuple[str, str], dict[Target, Resources]], targets: list[Target]) -> Iterator[str]:
    """The report's lines: registers of a thread / bytes shared, with spills marked."""
    made = f"triton {triton.__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    yield f"{sum(map(len, rows.values()))} programs; {made}."
    yield "Each cell: registers a thread / bytes shared. Small pools are other programs for AMD devices only."
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
