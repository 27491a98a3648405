"""The library's path for wider processors, compiled so that it computes here."""

import subprocess
from pathlib import Path

import pytest

from promptcache_engine.kernels.native import Library, NativeUnavailableError, compiler


@pytest.fixture(scope="session")
def wide_library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The AVX-512 path with its instructions written out in C, so that it computes on any processor."""
    made = tmp_path_factory.mktemp("wide") / "decode.so"
    instructions = Path(__file__).with_name("avx512_in_c.h")
    try:
        command = [*compiler.find_compiler(), *compiler.FLAGS, "-O1", "-DPROMPTCACHE_TEST_SHIM"]
        command += ["-include", str(instructions), str(compiler.SOURCE), "-o", str(made), "-lm"]
        subprocess.run(command, check=True)
        library = Library(made)
    except NativeUnavailableError as error:
        pytest.skip(error.reason)
    library.isa = 2
    return library
