"""Trying other versions of torch and Triton: what is read of libraries, what stands in for them, what is
asked."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.tags import sys_tags

from scripts import cuda_stand_ins, try_versions
from scripts.cuda_stand_ins import Needs

DYNAMIC = """
 0x0000000000000001 (NEEDED)             Shared library: [libcublas.so.13]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libtorch_cuda.so]
"""
VERSIONS = """
Version needs section '.gnu.version_r' contains 2 entries:
 Addr: 0x0  Offset: 0x0  Link: 7 (.dynstr)
  000000: Version: 1  File: libcublas.so.13  Cnt: 1
  0x0010:   Name: libcublas.so.13  Flags: none  Version: 19
  0x0020: Version: 1  File: libc.so.6  Cnt: 1
  0x0030:   Name: GLIBC_2.4  Flags: none  Version: 18
"""
SYMBOLS = """
Symbol table '.dynsym' contains 9 entries:
   Num:    Value          Size Type    Bind   Vis      Ndx Name
     0: 0000000000000000     0 NOTYPE  LOCAL  DEFAULT  UND
     1: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND cublasCreate_v2@libcublas.so.13 (19)
     2: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND __stack_chk_fail@GLIBC_2.4 (18)
     3: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND cuInit
     4: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND _ITM_deregisterTMCloneTable
     5: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND PyLong_FromLong
     6: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND at_own
     7: 00000000000010f0    24 FUNC    GLOBAL DEFAULT   14 at_own
     8: 00000000000020f0    24 FUNC    GLOBAL DEFAULT   14 at_other@@VERS_1
"""


def test_what_a_library_needs_is_read() -> None:
    needs = Needs()
    needs.read(DYNAMIC, VERSIONS, SYMBOLS)
    assert needs.libraries == {"libcublas.so.13", "libc.so.6"}
    assert needs.versioned == {
        ("libcublas.so.13", "libcublas.so.13"): {"cublasCreate_v2"},
        ("libc.so.6", "GLIBC_2.4"): {"__stack_chk_fail"},
    }
    assert needs.defined == {"at_own", "at_other"}
    assert needs.loose() == {"cuInit"}


def test_a_stand_in_answers_that_there_is_no_device() -> None:
    source = cuda_stand_ins.source_of(["cuInit", "cudaGetErrorString", "cuStringDestroy", "not a name"])
    assert "long cuInit(void) { return 100; }" in source
    assert 'const char *cudaGetErrorString(void) { return "no device"; }' in source
    assert "long cuStringDestroy(void)" in source
    assert "not a name" not in source
    assert cuda_stand_ins.versions_of({"V_2": ["b", "a"], "V_1": ["c"]}) == (
        "V_1 { global: c; };\nV_2 { global: a; b; };\n"
    )


@pytest.mark.skipif(
    sys.platform != "linux" or not (shutil.which("cc") and shutil.which("readelf")),
    reason="needs Linux, cc and readelf",
)
def test_a_library_loads_with_a_stand_in_for_one_that_is_gone(tmp_path: Path) -> None:
    libraries, gone = tmp_path / "lib", tmp_path / "libpromptcachegone.so.1"
    libraries.mkdir()
    (tmp_path / "gone.map").write_text("GONE_1 { global: gone; };")
    (tmp_path / "gone.c").write_text("long gone(void) { return 7; } long free_one(void) { return 8; }")
    (tmp_path / "user.c").write_text(
        "long gone(void), free_one(void); long ask(void) { return gone() + free_one(); }"
    )
    shared = ["cc", "-shared", "-fPIC", "-o"]
    mapped = [f"-Wl,--version-script={tmp_path / 'gone.map'}", f"-Wl,-soname,{gone.name}"]
    user = libraries / "libuser.so"
    subprocess.run([*shared, str(gone), str(tmp_path / "gone.c"), *mapped], check=True)
    subprocess.run([*shared, str(user), str(tmp_path / "user.c"), str(gone)], check=True)
    gone.unlink()
    with pytest.raises(OSError, match=r"libpromptcachegone\.so\.1"):
        ctypes.CDLL(str(user))
    assert cuda_stand_ins.stand_ins(libraries, tmp_path / "made") == [gone.name]
    code = f"import ctypes, os; print(ctypes.CDLL({str(user)!r}, mode=os.RTLD_NOW).ask())"
    env = {"LD_LIBRARY_PATH": str(tmp_path / "made")}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout == "200\n"


def test_readelf_is_asked_for_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "readelf"
    tool.write_text('#!/bin/sh\necho "$LC_ALL"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert cuda_stand_ins._readelf(tmp_path / "lib.so", "-d") == "C\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--torch", "2.11", "--triton", "3.6.0"], "'2.11' is not a version such as 2.11.0"),
        (["--torch", "2.11.0; rm", "--triton", "3.6.0"], "is not a version"),
        (["--torch", "02.14.1", "--triton", "3.6.0"], "'02.14.1' is not a version"),
        (["--torch", "2.11.\u0663", "--triton", "3.6.0"], "is not a version"),
        (["--torch", "2.11.0", "--triton", "3.6.0", "--folder="], "no folder is named"),
        (["--torch", "2.11.0"], "--triton"),
        (["--torch", "2.11.0", "--triton", "3.6.0", "--parts", "engine,all"], "no such part: all; there are"),
        (
            ["--torch", "2.11.0", "--triton", "3.6.0", "--wheels", "/dev/null/x"],
            "/dev/null/x: Not a directory",
        ),
    ],
)
def test_arguments_that_do_not_do(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        try_versions.parse(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_what_follows_two_dashes_is_for_pytest(tmp_path: Path) -> None:
    given = ["--torch", "2.11.0", "--triton", "3.6.0", "--folder", str(tmp_path / "new")]
    args = try_versions.parse([*given, "--parts", "ahead,engine", "--", "-k", "law", "--", "-x"])
    assert (args.parts, args.more) == (["ahead", "engine"], ["-k", "law", "--", "-x"])
    assert (tmp_path / "new").is_dir()
    assert try_versions.parse(given).parts == list(try_versions.PARTS)


def test_a_wheel_that_is_there_is_taken_and_another_fetched_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    best, *_, least = sys_tags()

    def pip(*arguments: str) -> None:
        asked.append(arguments)
        (tmp_path / f"triton-3.6.0-{best}.whl").touch()

    monkeypatch.setattr(try_versions, "_pip", pip)
    for name in (
        f"torch-2.11.0+cpu-{best}.whl", f"torch-2.11.0-{least}.whl", "torch-2.11.0-cp27-cp27m-win32.whl",
        f"triton-3.6.01-{best}.whl", "triton-3.6.0-cp27-cp27m-win32.whl", "triton-3.6.0-x.whl",
    ):  # fmt: skip
        (tmp_path / name).touch()
    assert try_versions.wheel_of("torch", "2.11.0", tmp_path).name == f"torch-2.11.0+cpu-{best}.whl"
    assert asked == []
    assert try_versions.wheel_of("triton", "3.6.0", tmp_path).name == f"triton-3.6.0-{best}.whl"
    assert asked[0][:2] == ("download", "--no-deps")
    with pytest.raises(try_versions.WheelError, match=r"no wheel of torch 2\.12\.0 for this Python"):
        try_versions.wheel_of("torch", "2.12.0", tmp_path)


def test_half_a_wheel_is_to_be_deleted(tmp_path: Path) -> None:
    wheel = tmp_path / "torch-2.11.0-py3-none-any.whl"
    wheel.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(try_versions.WheelError, match="not a whole wheel: delete it"):
        try_versions.unpack(wheel, tmp_path / "site")


def test_the_wheels_come_first_in_a_child_and_no_gpu_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    env = try_versions.environment(tmp_path / "site", tmp_path / "made", tmp_path)
    paths = env["PYTHONPATH"].split(":")
    assert (paths[0], paths[-1]) == (str(tmp_path / "site"), "mine")
    assert str(try_versions.ROOT / "engine") in paths
    assert (env["LD_LIBRARY_PATH"], env["CUDA_VISIBLE_DEVICES"]) == (str(tmp_path / "made"), "")
    assert "TRITON_INTERPRET" not in env


def test_a_row_counts_what_became_of_the_tests() -> None:
    report = (
        '<testsuites><testsuite name="pytest" tests="9" failures="1" errors="1" skipped="2"/></testsuites>'
    )
    outcome = try_versions.outcome_of(report, 61.7)
    assert str(outcome) == "5 passed, 2 failed, 2 skipped, 62 s"
    found = {"torch": "2.11.0", "triton": "3.6.0", "numpy": "2.4.6"}
    *_, row = try_versions.table(found, {"ahead": outcome})
    assert row == "| 3.6.0 | 2.11.0 | 2.4.6 | 5 passed, 2 failed, 2 skipped, 62 s |"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("raise KeyboardInterrupt", "1 passed, 0 failed, interrupted, "),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "0 passed, 0 failed, ended by SIGKILL, "),
        ("pass", "2 passed, 0 failed, "),
    ],
)
def test_a_part_that_does_not_come_to_its_end_is_not_good(
    end: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_it.py").write_text(f"def test_one(): pass\ndef test_two():\n    {end}\n")
    monkeypatch.setattr(try_versions, "ROOT", tmp_path)
    monkeypatch.setattr(try_versions, "PARTS", {"it": (False, ("test_it.py",))})
    outcome = try_versions.run_part("it", os.environ, [], tmp_path)
    assert str(outcome).startswith(said)
    assert outcome.good == (end == "pass")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_removes_the_folder_and_ends_what_was_started(
    number: int, status: int, tmp_path: Path
) -> None:
    code = (
        "import signal, sys; from scripts import try_versions\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background job ignores it
        "sleep = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'\n"
        "try_versions.try_versions = lambda args, folder: try_versions._run([sys.executable, '-c', sleep])\n"
        "sys.exit(try_versions.main())"
    )
    given = ["--torch", "2.11.0", "--triton", "3.6.0", "--folder", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-c", code, *given],
        cwd=try_versions.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as script:  # fmt: skip
        assert script.stdout is not None
        child = int(script.stdout.readline())
        assert list(tmp_path.iterdir())
        script.send_signal(number)
        _, said = script.communicate()
    assert script.returncode == status
    assert said.splitlines()[-1].endswith(f"stopped by {signal.Signals(number).name}; its folder is removed")
    assert "scripts/" not in said  # the child's traceback is its own
    assert not list(tmp_path.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_every_part_names_what_is_there() -> None:
    for _, arguments in try_versions.PARTS.values():
        for argument in arguments:
            path = argument.removeprefix("--ignore=").removeprefix("--deselect=").partition("::")[0]
            assert not path.startswith("tests/") or (try_versions.ROOT / path).exists()


def test_a_missing_tool_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["try_versions.py", "--torch", "2.11.0", "--triton", "3.6.0"])
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "readelf" else name)
    assert try_versions.main() == 2
    assert "readelf not found. On Debian: apt install" in capsys.readouterr().err
