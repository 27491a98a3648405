"""Who takes some of what waits is given time anew; who takes none is not, and what was forgotten is gone."""

from __future__ import annotations

import asyncio

from promptcache_gateway.untaken import Untaken


class Waiting(asyncio.Transport):
    """A transport of no socket, for which ``size`` bytes wait."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def get_write_buffer_size(self) -> int:
        return self.size


def test_it_counts_from_the_first_look_until_some_is_taken() -> None:
    untaken, transport = Untaken(), Waiting(9)

    assert untaken.seconds(transport, 100.0) == 0.0
    assert untaken.seconds(transport, 103.0) == 3.0
    transport.size = 8
    assert untaken.seconds(transport, 104.0) == 0.0
    assert untaken.seconds(transport, 105.5) == 1.5


def test_what_was_forgotten_does_not_count() -> None:
    untaken, transport = Untaken(), Waiting(9)
    untaken.seconds(transport, 100.0)

    untaken.forget()

    assert untaken.seconds(transport, 103.0) == 0.0
    assert untaken.seconds(transport, 104.0) == 1.0
