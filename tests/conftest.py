"""What all tests share: one running gateway with the real model, started when the first test asks for it."""

from collections.abc import Iterator

import pytest

from tests.acceptance.serving import Served, serve


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`promptcache serve` as a user runs it, in a process of its own."""
    with serve(tmp_path_factory.mktemp("served")) as gateway:
        yield gateway
