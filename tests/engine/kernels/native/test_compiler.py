"""The compiled file: made once, private, checked, made anew where damaged, absent where it cannot be."""

import errno
import multiprocessing
import multiprocessing.synchronize
import os
import platform
import stat
from pathlib import Path

import pytest

from promptcache_engine.kernels.native import NativeUnavailableError, compiler

SOURCE = "int answer(void) { return 42; }\n"

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the library is written for x86-64"
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A C file that compiles in no time."""
    _compiler_or_skip()
    path = tmp_path / "small.c"
    path.write_text(SOURCE)
    return path


def _compiler_or_skip() -> None:
    try:
        compiler.find_compiler()
    except NativeUnavailableError as error:
        pytest.skip(error.reason)


def test_it_is_compiled_once_and_private(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    made = compiler.compiled_library(folder=folder, source=source)
    first = made.stat()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(first.st_mode) == 0o700
    assert compiler.compiled_library(folder=folder, source=source) == made
    assert made.stat().st_ino == first.st_ino
    assert [path.name for path in folder.iterdir()] == [made.name]


def test_another_source_is_another_file(source: Path, tmp_path: Path) -> None:
    made = compiler.compiled_library(folder=tmp_path / "cache", source=source)
    source.write_text(SOURCE.replace("42", "43"))
    assert compiler.compiled_library(folder=tmp_path / "cache", source=source) != made


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_file_is_made_anew(source: Path, tmp_path: Path, damage: str) -> None:
    made = compiler.compiled_library(folder=tmp_path / "cache", source=source)
    whole = made.read_bytes()
    broken = {"cut": whole[:-40], "changed": b"\0" * 64 + whole[64:], "empty": b""}[damage]
    made.write_bytes(broken)
    assert not compiler.is_whole(made)
    assert compiler.compiled_library(folder=tmp_path / "cache", source=source) == made
    assert compiler.is_whole(made)


def test_a_file_others_may_write_is_made_anew(source: Path, tmp_path: Path) -> None:
    made = compiler.compiled_library(folder=tmp_path / "cache", source=source)
    made.chmod(0o777)
    assert not compiler.is_whole(made)
    compiler.compiled_library(folder=tmp_path / "cache", source=source)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_folder_is_made_private(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    compiler.compiled_library(folder=folder, source=source)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_place_where_anyone_may_write_is_refused(source: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(NativeUnavailableError, match="where anyone may write"):
        compiler.compiled_library(folder=shared / "cache", source=source)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_another_user_is_refused(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(NativeUnavailableError, match="belongs to another user"):
        compiler.compiled_library(folder=folder, source=source)


def test_a_folder_that_cannot_be_made(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NativeUnavailableError, match="cannot be used"):
        compiler.compiled_library(folder=tmp_path / "file" / "cache", source=source)


def test_a_full_disk(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(NativeUnavailableError, match="cannot be written to"):
        compiler.compiled_library(folder=tmp_path / "cache", source=source)
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_a_compiler(tmp_path: Path) -> None:
    with pytest.raises(NativeUnavailableError, match=r"no C compiler was found \(cc, gcc, clang\)"):
        compiler.compiled_library(folder=tmp_path / "cache", environment={"PATH": str(tmp_path)})
    with pytest.raises(NativeUnavailableError, match=r"no C compiler was found \(icc\)"):
        compiler.find_compiler({"PATH": str(tmp_path), "CC": "icc -fast"})


def test_a_compiler_that_fails(source: Path, tmp_path: Path) -> None:
    source.write_text("this is no C\n")
    with pytest.raises(NativeUnavailableError, match=r"does not compile it: .*error"):
        compiler.compiled_library(folder=tmp_path / "cache", source=source)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_compiler_without_openmp_is_enough(source: Path, tmp_path: Path) -> None:
    real = compiler.find_compiler()[0]
    wrapper = tmp_path / "plain-cc"
    wrapper.write_text(
        f'#!/bin/sh\nfor a in "$@"; do [ "$a" = -fopenmp ] && exit 1; done\nexec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "CC": str(wrapper)}
    made = compiler.compiled_library(folder=tmp_path / "cache", environment=environment, source=source)
    assert compiler.is_whole(made)


def test_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(NativeUnavailableError, match="riscv64"):
        compiler.compiled_library(folder=tmp_path / "cache")


def test_two_processes_at_once(source: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    arguments = (start, tmp_path / "cache", source)
    workers = [context.Process(target=_compile_together, args=arguments) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=300)
    assert [worker.exitcode for worker in workers] == [0, 0]
    (made,) = (tmp_path / "cache").iterdir()
    assert compiler.is_whole(made)


def _compile_together(start: multiprocessing.synchronize.Barrier, folder: Path, source: Path) -> None:
    start.wait(timeout=300)
    compiler.compiled_library(folder=folder, source=source)
