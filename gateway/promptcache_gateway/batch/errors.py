"""What can keep a batch from running, as one family of the gateway's tree.

BatchError                  the batch cannot run, or cannot go on: one line on stderr, exit 2
├── InputError              a line of the input is no request
├── JournalError            the output file cannot be used
└── ServerError             nothing answers there, or it refuses the key
"""

from __future__ import annotations

from promptcache_gateway.errors import GatewayError


class BatchError(GatewayError):
    """The batch cannot run."""


class InputError(BatchError):
    """The input file or one of its lines cannot be used.

    Attributes:
        line: the line's number from 1, or None where it is the file.
    """

    def __init__(self, place: str, problem: str, *, line: int | None = None, remedy: str = "") -> None:
        where = place if line is None else f"{place}, line {line}"
        super().__init__(f"{where}: {problem}", remedy=remedy)
        self.line = line


class JournalError(BatchError):
    """The output file is another's, is being written to, or cannot be written."""


class ServerError(BatchError):
    """No server answers at the address, or it lets nobody in with this key."""
