"""What all tests share: one running gateway with the real model, started when the first test asks for it."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.acceptance.serving import Served, serve

# How long an example takes depends on what else the machine does: no test fails for it.
settings.register_profile("promptcache", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("promptcache")


@pytest.fixture(scope="session", autouse=True)
def data_of_no_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keys, prices and records of whoever runs the tests are not the tests'."""
    before = os.environ.get("XDG_DATA_HOME")
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data-home"))
    yield
    del os.environ["XDG_DATA_HOME"]
    if before is not None:
        os.environ["XDG_DATA_HOME"] = before


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`promptcache serve` as a user runs it, in a process of its own."""
    with serve(tmp_path_factory.mktemp("served")) as gateway:
        yield gateway
