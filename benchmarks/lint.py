"""How many lines of Python the linter reads in a second, on a tree that is made up or on one of yours.

    python benchmarks/lint.py [FOLDER] [--lines 100000] [--growth]

The made-up tree is one file in eight about prompts, with helpers in other modules, and seven of plain code.
``--growth`` copies the packages in FOLDER, again and again under new names, to trees of 10,000 to 500,000
lines, and reads each in a process of its own: seconds should grow no faster than lines, and memory must stay
bounded. CPU seconds of this process are measured, so that a busy machine does not count against the linter.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from promptcache_lint import lint_paths

PROMPT_FILE = '''
"""Agent {n}."""
from datetime import datetime

from helpers_{n} import describe, stamp

RULES = ["Be brief.", "Be polite.", "Never promise a date."]


class Agent{n}:
    """Answers questions."""

    def __init__(self, name, tools):
        self.name = name
        self.tools = sorted(tools)
        self.started = datetime.now()

    def build_system_prompt(self, shop):
        lines = [f"You are {{self.name}}, the clerk of {{shop}}."]
        for rule in RULES:
            lines.append("- " + rule)
        if self.tools:
            lines.append("Tools: " + ", ".join(self.tools))
        lines.append(describe(shop))
        return "\\n".join(lines) + stamp()

    def ask(self, client, question):
        messages = [
            {{"role": "system", "content": self.build_system_prompt("Lark")}},
            {{"role": "user", "content": f"{{question}} (asked at {{datetime.now():%H:%M}})"}},
        ]
        return client.chat.completions.create(model="m", messages=messages)
'''
HELPER_FILE = '''
"""Helpers of agent {n}."""
import time


def stamp():
    return f" ({{time.time()}})"


def describe(shop):
    return f"{{shop}} sells bicycles and repairs them."
'''
PLAIN_FILE = '''
"""Orders, part {n}."""
import logging
import math
from dataclasses import dataclass


@dataclass
class Order{n}:
    """One order."""

    number: int
    lines: list
    paid: bool = False

    def total(self):
        return sum(line.price * line.count for line in self.lines)

    def ship(self, carrier):
        if not self.paid:
            raise ValueError(f"order {{self.number}} is not paid")
        logging.info("shipping %s with %s", self.number, carrier)
        return carrier.book([line.article for line in self.lines], math.ceil(self.total()))


def find(orders, number):
    for order in orders:
        if order.number == number:
            return order
    return None
'''


def write_tree(folder: Path, lines: int) -> None:
    """Write about ``lines`` lines of Python below ``folder``."""
    written = number = 0
    while written < lines:
        files = {f"agent_{number}.py": PROMPT_FILE, f"helpers_{number}.py": HELPER_FILE}
        plain = PLAIN_FILE * 4
        files |= {f"orders_{number}_{part}.py": plain for part in range(7)}
        package = folder / f"part_{number // 20}"
        package.mkdir(exist_ok=True)
        for name, text in files.items():
            filled = text.format(n=number)
            (package / name).write_text(filled, encoding="utf-8")
            written += filled.count("\n")
        number += 1


SIZES = (10_000, 50_000, 100_000, 250_000, 500_000)


def copy_packages(source: Path, folder: Path, lines: int) -> None:
    """Copy the modules of ``source``'s packages below ``folder`` until there are ``lines`` lines."""
    written = round_number = 0
    while written < lines:
        before = written
        for path in sorted(source.rglob("*.py")):
            target = folder / f"copy_{round_number}" / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            written += path.read_bytes().count(b"\n")
            if written >= lines:
                return
        if written == before:
            raise SystemExit(f"No lines of Python below {source}.")
        round_number += 1


def measure_growth(source: Path) -> None:
    """Read trees of growing size, each in a process of its own."""
    for lines in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            copy_packages(source, Path(folder), lines)
            subprocess.run([sys.executable, __file__, folder], check=True)


def measure(folder: Path) -> None:
    """Lint a folder and print what it took."""
    lines = sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))
    before = time.process_time()
    report = lint_paths([folder])
    seconds = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{lines:,} lines of Python in {report.files:,} files: {seconds:.2f} s of CPU, ", end="")
    print(f"{lines / seconds:,.0f} lines/s, {memory:.0f} MiB at most, {len(report.findings)} findings")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="a tree of your own")
    parser.add_argument("--lines", type=int, default=100_000, help="size of the made-up tree")
    parser.add_argument("--growth", action="store_true", help="grow trees from the packages in FOLDER")
    options = parser.parse_args()
    if options.growth:
        if options.folder is None:
            parser.error("--growth needs a FOLDER of packages")
        measure_growth(options.folder)
        return
    if options.folder is not None:
        measure(options.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), options.lines)
        measure(Path(folder))


if __name__ == "__main__":
    main()
