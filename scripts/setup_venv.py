"""Create or complete the project's virtual environment; a second run takes milliseconds.

    python scripts/setup_venv.py [--venv .venv] [--extras gateway,engine]

PyPI's torch for Linux on x86-64 is the CUDA build (several gigabytes). On such a machine without an NVIDIA
GPU the CPU build is taken instead: from the indexes pip is configured with, else from PyTorch's own index;
only where neither can be reached does the CUDA build come, which also runs on a CPU. What is installed is
written down in the environment, so that nothing is resolved again until pyproject.toml changes.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH_VERSION = "2.13.0"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def main() -> int:
    """Parse the arguments, set up what is missing, and say each long step before it starts."""
    if sys.version_info < (3, 11):
        found = platform.python_version()
        return fail(
            f"promptcache needs Python 3.11 or newer; this is {found}. Try: make serve PYTHON=python3.11"
        )
    parser = argparse.ArgumentParser(description="Set up the virtual environment.")
    parser.add_argument("--venv", default=".venv", type=Path)
    parser.add_argument("--extras", default="gateway,engine")
    args = parser.parse_args()
    venv = (ROOT / args.venv).resolve()
    python = venv / "bin" / "python"
    stamp = venv / f"installed-{args.extras.replace(',', '-')}"
    wanted = fingerprint(args.extras)
    if python.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return 0
    if not runs(python):
        say(f"creating {venv.name} with Python {platform.python_version()}")
        if subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=False).returncode:
            return fail("the virtual environment could not be created. On Debian: apt install python3-venv")
    if not install_torch(python) or not install_project(python, venv, args.extras):
        return fail("pip could not install everything; its message is above. The same command goes on")
    stamp.write_text(wanted, encoding="ascii")
    return 0


def fingerprint(extras: str) -> str:
    """What the environment was made from; it is remade when this changes."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes())
    digest.update(f"{extras}|{sys.version_info[:2]}|{ROOT}|{TORCH_VERSION}".encode())
    return digest.hexdigest()


def install_torch(python: Path) -> bool:
    """Install torch if it is absent: the CPU build where there is no NVIDIA GPU."""
    if runs(python, "-c", "import torch"):
        return True
    if not needs_cpu_build():
        say(f"installing torch {TORCH_VERSION}")
        return pip(python, f"torch=={TORCH_VERSION}")
    say(f"installing torch {TORCH_VERSION}, CPU build (no NVIDIA GPU here; about 200 MB)")
    cpu = f"torch=={TORCH_VERSION}+cpu"
    if pip(python, cpu, quiet=True) or pip(
        python, cpu, "--extra-index-url", TORCH_CPU_INDEX, "--retries", "1"
    ):
        return True
    say("no CPU build of torch can be reached; taking PyPI's build, which is several gigabytes")
    return pip(python, f"torch=={TORCH_VERSION}")


def needs_cpu_build() -> bool:
    """Whether PyPI's torch would be a CUDA build on a machine that cannot use it."""
    linux_x86 = sys.platform == "linux" and platform.machine() == "x86_64"
    return linux_x86 and not (shutil.which("nvidia-smi") and runs(Path("nvidia-smi")))


def install_project(python: Path, venv: Path, extras: str) -> bool:
    """Install the project editable, holding torch where it is."""
    say(f"installing promptcache with [{extras}]")
    constraint = venv / "constraints.txt"
    constraint.write_text(f"torch=={TORCH_VERSION}\n", encoding="ascii")
    return pip(python, "--constraint", str(constraint), "--editable", f"{ROOT}[{extras}]")


def pip(python: Path, *arguments: str, quiet: bool = False) -> bool:
    """Run pip install; its own progress is shown unless quiet."""
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments]
    sink = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, check=False, stdout=sink, stderr=sink).returncode == 0


def runs(program: Path, *arguments: str) -> bool:
    """Whether a program starts and ends well."""
    command = [str(program), *(arguments or ("--version",) if program.name == "python" else ())]
    try:
        return subprocess.run(command, check=False, capture_output=True, env=os.environ).returncode == 0
    except OSError:
        return False


def say(line: str) -> None:
    """One line of progress."""
    print(f"promptcache setup: {line}", file=sys.stderr, flush=True)


def fail(line: str) -> int:
    """One clear line and the exit status for it."""
    say(line)
    return 2


if __name__ == "__main__":
    sys.exit(main())
