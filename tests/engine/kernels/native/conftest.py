"""The compiled library; where it cannot be compiled, its tests are skipped and say why."""

import pytest

from promptcache_engine.kernels.native import Library, NativeUnavailableError, load_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Compiled once for all tests, apart from the user's own."""
    try:
        return load_library(folder=tmp_path_factory.mktemp("native"))
    except NativeUnavailableError as error:
        pytest.skip(error.reason)
