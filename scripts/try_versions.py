"""Run the engine's tests with another torch and another Triton, on a machine without a GPU.

    python scripts/try_versions.py --torch 2.11.0 --triton 3.6.0 [--wheels DIR]
                                   [--parts interpreted,ahead,engine] [-- arguments for pytest]

Both come as wheels from the indexes pip is configured with, without what they depend on, into a folder that
is thrown away; nothing is installed into the running environment, whose other packages are used. PyPI's torch
for Linux on x86-64 is linked with CUDA's libraries, of several gigabytes: in their place come small ones,
made here (``cuda_stand_ins``), so torch's Python and CPU code runs as it is, and its GPU code finds no GPU.
Needs ``cc`` and ``readelf``. With ``--wheels`` the wheels stay for the next time.

Prints a row of a table: what passed, failed and was skipped, and the seconds of CPU time; the exit status is
1 where something failed, nothing passed or pytest did not come to its end. Stopped by a signal (Ctrl-C,
SIGTERM) it ends what it started and removes its folder; the exit status is then 128 and the signal's number.
"""

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a file

from scripts import stopping  # noqa: E402
from scripts.cuda_stand_ins import stand_ins  # noqa: E402

_KERNELS = "tests/engine/kernels"
_TRITON = f"{_KERNELS}/triton"
PARTS: Mapping[str, tuple[bool, tuple[str, ...]]] = {
    "interpreted": (True, (f"{_TRITON}/interpreted", "tests/engine/interpreted")),
    "ahead": (False, (f"{_TRITON}/test_ahead_of_time.py",)),
    "engine": (
        False,
        (
            _KERNELS, f"--ignore={_TRITON}",
            *(f"tests/engine/{name}" for name in ("device", "models", "scheduler")),
            *(f"tests/engine/test_{name}.py" for name in (
                "law", "families_law", "gemma_law", "window_law", "decode_kernel", "sampling", "shaping",
                "memory", "engine", "attention_backend",
            )),
            "--deselect=tests/engine/test_attention_backend.py::test_models_on_interpreted_kernels",
            "-m", "not model",
        ),
    ),
}  # fmt: skip
"""Each runs in a process of its own: whether Triton interprets there, and what pytest is given."""


class WheelError(Exception):
    """A wheel that is not there or not whole; the message says what to do."""


def wheel_of(package: str, version: str, wheels: Path) -> Path:
    """The wheel of a version in a folder, where pip puts it if there is none for this Python and machine.

    Raises:
        WheelError: pip put none there.
    """
    if (found := _fitting(package, version, wheels)) is None:
        say(f"downloading {package} {version}")
        asked = ["--no-deps", "--only-binary=:all:", "--dest", str(wheels), f"{package}=={version}"]
        _pip("download", *asked)
        found = _fitting(package, version, wheels)
    if found is None:
        raise WheelError(f"pip left no wheel of {package} {version} for this Python in {wheels}")
    return found


def _fitting(package: str, version: str, wheels: Path) -> Path | None:
    """Of the wheels of a version the one that pip would like best: the first of this Python's tags."""
    places = {tag: place for place, tag in enumerate(sys_tags())}
    fitting: list[tuple[int, str]] = []
    for end in ("-", "+"):
        for path in wheels.glob(f"{package}-{version}{end}*.whl"):
            try:
                tags = parse_wheel_filename(path.name)[3]
            except InvalidWheelFilename:
                continue
            fitting += [(places[tag], path.name) for tag in tags if tag in places]
    return wheels / min(fitting)[1] if fitting else None


def unpack(wheel: Path, site: Path) -> None:
    """A wheel's files into a folder that is put on Python's path.

    Raises:
        WheelError: it is not whole, as a download that broke off leaves it.
    """
    if not zipfile.is_zipfile(wheel):
        raise WheelError(f"{wheel} is not a whole wheel: delete it, and it is fetched again")
    _pip("install", "--no-deps", "--no-index", "--no-compile", "--target", str(site), str(wheel))


def _pip(*arguments: str) -> None:
    _run([sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--no-input", *arguments])


@dataclass(frozen=True)
class Outcome:
    """What became of a part's tests: counts, and seconds of CPU time with those of programs it started.

    ``ended`` says how pytest ended where it did not come to the end of the tests.
    """

    passed: int
    failed: int
    skipped: int
    seconds: float
    ended: str = ""

    @property
    def good(self) -> bool:
        """Whether all were run, and something passed and nothing failed."""
        return bool(self.passed and not self.failed and not self.ended)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        ended = f", {self.ended}" if self.ended else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}{ended}, {self.seconds:.0f} s"


_ENDS = {2: "interrupted", 3: "error in pytest", 4: "pytest refused its arguments", 5: "no test chosen"}
"""What pytest's exit statuses say, but for 0 and 1: all tests were run."""


def ended_by(status: int) -> str:
    """How a pytest ended that did not come to the end of the tests; empty where it did."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return "" if status in {0, 1} else _ENDS.get(status, f"exit status {status}")


def outcome_of(report: str, seconds: float, ended: str = "") -> Outcome:
    """The counts in pytest's JUnit report."""
    suites = list(ET.fromstring(report).iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites)
        for name in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return Outcome(max(0, total - failed - skipped), failed, skipped, seconds, ended)


def run_part(part: str, env: Mapping[str, str], more: Sequence[str], folder: Path) -> Outcome:
    """Run a part's tests; what pytest says goes to the standard error."""
    interprets, arguments = PARTS[part]
    env = {**env, "TRITON_INTERPRET": "1"} if interprets else env
    report = folder / f"{part}.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += [*arguments, *more]
    began = _children_seconds()
    status, _ = stopping.run(command, folder=ROOT, env=env, out=sys.stderr)
    seconds, ended = _children_seconds() - began, ended_by(status)
    if not report.is_file():
        return Outcome(0, 0, 0, seconds, ended or "no report")
    return outcome_of(report.read_text(encoding="utf-8"), seconds, ended)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment(site: Path, libraries: Path, folder: Path) -> dict[str, str]:
    """A child's variables: the wheels, this checkout and the stand-ins come first, and no GPU is seen."""
    left_out = {"TRITON_INTERPRET", "PYTEST_ADDOPTS"}
    plain = {name: value for name, value in os.environ.items() if name not in left_out}
    own = [ROOT / room for room in ("sdk", "lint", "gateway", "engine")]

    def before(name: str, *paths: Path) -> str:
        return os.pathsep.join([*map(str, paths), *filter(None, [plain.get(name)])])

    return {
        **plain,
        "PYTHONPATH": before("PYTHONPATH", site, *own),
        "LD_LIBRARY_PATH": before("LD_LIBRARY_PATH", libraries),
        "TRITON_CACHE_DIR": str(folder / "compiled"),
        "OMP_NUM_THREADS": plain.get("OMP_NUM_THREADS", "1"),
        "CUDA_VISIBLE_DEVICES": "",
    }


def versions_in(env: Mapping[str, str]) -> dict[str, str]:
    """What a child imports: the versions, without what follows a plus sign."""
    code = (
        "import torch, triton, numpy; assert not torch.cuda.is_available();"
        "print(*(each.__version__.partition('+')[0] for each in (torch, triton, numpy)))"
    )
    found = _run([sys.executable, "-W", "error", "-c", code], capture=True, env=env)
    return dict(zip(("torch", "triton", "numpy"), found.split(), strict=True))


def main() -> int:
    """Parse the arguments, set up the folder, run the parts, print the row."""
    args = parse(sys.argv[1:])
    if missing := [tool for tool in ("cc", "readelf") if shutil.which(tool) is None]:
        return fail(f"{' and '.join(missing)} not found. On Debian: apt install gcc binutils")
    stopping.raise_when_stopped()
    try:
        with tempfile.TemporaryDirectory(prefix="versions-", dir=args.folder) as folder:
            return try_versions(args, Path(folder))
    except stopping.Stopped as stopped:
        say(f"stopped by {stopped.name}; its folder is removed")
        return stopped.status
    except WheelError as error:
        return fail(str(error))
    except subprocess.CalledProcessError as error:
        return fail(
            f"{' '.join(map(str, error.cmd[:4]))} ended with {error.returncode}; its message is above"
        )


def try_versions(args: argparse.Namespace, folder: Path) -> int:
    """Everything, in a folder that is there."""
    wanted = {"torch": args.torch, "triton": args.triton}
    site, libraries = folder / "site", folder / "libraries"
    for package, version in wanted.items():
        unpack(wheel_of(package, version, args.wheels or folder / "wheels"), site)
    made = stand_ins(site / "torch" / "lib", libraries)
    say(f"stand-ins for {', '.join(made) or 'nothing'}")
    env = environment(site, libraries, folder)
    found = versions_in(env)
    if any(found[package] != version for package, version in wanted.items()):
        return fail(f"asked for {wanted}, but {found} are imported")
    outcomes: dict[str, Outcome] = {}
    for part in args.parts:
        outcomes[part] = run_part(part, env, args.more, folder)
        say(f"triton {found['triton']}, torch {found['torch']}, {part}: {outcomes[part]}")
    print("\n".join(table(found, outcomes)))
    return 0 if all(each.good for each in outcomes.values()) else 1


def table(found: Mapping[str, str], outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    """A table of one row."""
    yield "| Triton | torch | NumPy | " + " | ".join(outcomes) + " |"
    yield "|---|---|---|" + "---|" * len(outcomes)
    cells = [found["triton"], found["torch"], found["numpy"], *map(str, outcomes.values())]
    yield f"| {' | '.join(cells)} |"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; what follows ``--`` is pytest's."""
    own = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    parser = argparse.ArgumentParser(description="Run the engine's tests with another torch and Triton.")
    parser.add_argument("--torch", required=True, type=_version, help="such as 2.11.0")
    parser.add_argument("--triton", required=True, type=_version, help="such as 3.6.0")
    parser.add_argument("--wheels", type=_folder, help="a folder where wheels are looked for and kept")
    parser.add_argument("--folder", type=_folder, help="where there is room for the rest (3 GB, removed)")
    parser.add_argument("--parts", type=_parts, default=list(PARTS), help=f"of {','.join(PARTS)}")
    args = parser.parse_args(own)
    args.more = list(arguments[len(own) + 1 :])
    return args


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("no folder is named")
    path = Path(text).resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from error
    return path


def _version(text: str) -> str:
    if not re.fullmatch(r"(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 2.11.0")
    return text


def _parts(text: str) -> list[str]:
    parts = [name.strip() for name in text.split(",")]
    if unknown := [name for name in parts if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return parts


def _run(command: Sequence[str], *, capture: bool = False, env: Mapping[str, str] | None = None) -> str:
    """A program's output, if it is captured; it runs in the repository's root.

    Raises:
        subprocess.CalledProcessError: it ended badly.
    """
    sink = subprocess.PIPE if capture else None
    status, text = stopping.run(command, folder=ROOT, env=env, out=sink)
    if status:
        raise subprocess.CalledProcessError(status, list(command))
    return text


def say(line: str) -> None:
    """One line of progress."""
    print(f"try_versions: {line}", file=sys.stderr, flush=True)


def fail(line: str) -> int:
    """One clear line and the exit status for it."""
    say(line)
    return 2


if __name__ == "__main__":
    sys.exit(main())
