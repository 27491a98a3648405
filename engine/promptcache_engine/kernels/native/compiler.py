"""From the C source to a shared library in the user's cache: compiled once, checked each time it is used.

A file's name is the hash of source, command and compiler, its last bytes are the hash of all before: a file
that is cut short or changed is made anew. Processes that compile at once do no harm, each replaces the file
whole. The folder belongs to the user alone; one that others could write to is never used.
"""

import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from promptcache_engine.kernels.native.errors import NativeUnavailableError

SOURCE = Path(__file__).with_name("decode.c")
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
COMPILERS = ("cc", "gcc", "clang")
_MACHINES = ("x86_64", "AMD64")
_SECONDS = 300  # it takes a few, and a hundred on a machine that has too much to do
_DIGEST = 32  # bytes of SHA-256


def library_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Where compiled libraries are kept: $PROMPTCACHE_CACHE_DIR/native, else $XDG_CACHE_HOME or ~/.cache."""
    explicit = environment.get("PROMPTCACHE_CACHE_DIR")
    if explicit:
        return Path(explicit).expanduser() / "native"
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "promptcache" / "native"


def compiled_library(
    *, folder: Path | None = None, environment: Mapping[str, str] = os.environ, source: Path = SOURCE
) -> Path:
    """Return the compiled library's path, compiling it where there is none yet or where it is damaged.

    Args:
        folder: where it is kept; when absent ``library_dir()``.
        environment: names the compiler by $CC; found by $PATH.
        source: the C file.

    Raises:
        NativeUnavailableError: another kind of processor, no compiler, one that fails, or no safe folder.
    """
    machine = platform.machine()
    if machine not in _MACHINES or os.name != "posix":
        raise NativeUnavailableError(f"it is written for x86-64 under a POSIX system, not for {machine}")
    compiler = find_compiler(environment)
    place = folder or library_dir(environment)
    _make_private(place)
    path = place / f"decode-{_key(compiler, source)}.so"
    if not is_whole(path):
        try:
            _compile(compiler, source, path)
        except OSError as error:
            raise NativeUnavailableError(f"{place} cannot be written to ({error.strerror})") from error
    return path


def find_compiler(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command of a C compiler: $CC, or the first of COMPILERS on $PATH.

    Raises:
        NativeUnavailableError: there is none.
    """
    named = shlex.split(environment.get("CC", ""))
    for command in [named] if named else [[name] for name in COMPILERS]:
        found = shutil.which(command[0], path=environment.get("PATH"))
        if found:
            return [found, *command[1:]]
    wanted = named[0] if named else ", ".join(COMPILERS)
    raise NativeUnavailableError(f"no C compiler was found ({wanted})")


def is_whole(path: Path) -> bool:
    """Whether a compiled library is there, the user's own, and as it was written."""
    try:
        content, status = path.read_bytes(), path.stat()
    except OSError:
        return False
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    return len(content) > _DIGEST and hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]


def _key(compiler: Sequence[str], source: Path) -> str:
    """What the compiled file depends on; the compiler is known by its path, size and time of change."""
    status = Path(compiler[0]).stat()
    facts = (*compiler, str(status.st_size), str(status.st_mtime_ns), *FLAGS, platform.machine())
    digest = hashlib.sha256("\0".join(facts).encode() + b"\0\0" + source.read_bytes())
    return digest.hexdigest()[:32]


def _make_private(folder: Path) -> None:
    """Make ``folder`` the user's alone; refuse one that belongs to others or lies where they may write."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        resolved = folder.resolve()
        status = resolved.stat()
        if status.st_uid != os.geteuid():
            raise NativeUnavailableError(f"the folder {resolved} belongs to another user")
        if stat.S_IMODE(status.st_mode) != 0o700:
            resolved.chmod(0o700)
        for parent in resolved.parents:
            mode = parent.stat().st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                raise NativeUnavailableError(
                    f"the folder {resolved} lies in {parent}, where anyone may write"
                )
    except OSError as error:
        raise NativeUnavailableError(f"the folder {folder} cannot be used ({error.strerror})") from error


def _compile(compiler: Sequence[str], source: Path, target: Path) -> None:
    """Compile with OpenMP, or without where the compiler has none, and put the file in its place."""
    problem = ""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / "decode.so"
        for threads in (["-fopenmp"], []):
            command = [*compiler, *FLAGS, *threads, str(source), "-o", str(made), "-lm"]
            problem = _run(command)
            if not problem:
                content = made.read_bytes()
                made.write_bytes(content + hashlib.sha256(content).digest())
                made.chmod(0o700)
                made.replace(target)
                return
    raise NativeUnavailableError(f"{compiler[0]} does not compile it: {problem}")


def _run(command: Sequence[str]) -> str:
    """Run a compiler; return the first line of what it complains about, empty where it succeeds."""
    try:
        done = subprocess.run(  # noqa: S603 - the user's own compiler and this package's source
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error).partition("\n")[0]
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[0] if lines else f"exit status {done.returncode}"
