"""Tells the formats apart, an entry at a time, and reads each in its own way.

A log may mix formats: files are concatenated. Transcripts of agents build a conversation up over many lines,
so their readers remember; the others look at one entry only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from promptcache_gateway.diagnose.exchange import LoggedExchange, NotUnderstoodError
from promptcache_gateway.diagnose.formats.claude_code import ClaudeCode
from promptcache_gateway.diagnose.formats.codex import Codex
from promptcache_gateway.diagnose.formats.counters import Counters
from promptcache_gateway.diagnose.formats.langfuse import Langfuse
from promptcache_gateway.diagnose.formats.litellm import LiteLLM
from promptcache_gateway.diagnose.formats.plain import Plain

if TYPE_CHECKING:
    from collections.abc import Iterable


class Format(Protocol):
    """One format of logs.

    Attributes:
        name: what it is called on the command line.
        about: one line for people.
    """

    name: str
    about: str

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """Whether an entry is of this format."""
        ...

    def read(self, entry: Mapping[str, Any]) -> Iterable[LoggedExchange]:
        """The requests that an entry completes; often one, in transcripts mostly none.

        Raises:
            NotUnderstoodError: it holds no request.
        """
        ...

    def end(self) -> Iterable[LoggedExchange]:
        """What the last entries completed."""
        ...


FORMATS: Final = (Codex, Langfuse, ClaudeCode, LiteLLM, Plain, Counters)
"""In the order in which an entry is tried: the most telling marks first."""


class LogReader:
    """Reads entries of one log.

    Args:
        name: the only format to expect; None: whichever an entry shows.

    Attributes:
        seen: how many entries there were of each format.
    """

    def __init__(self, name: str | None = None) -> None:
        self._formats: list[Format] = [kind() for kind in FORMATS if name in {None, kind.name}]
        self.seen: dict[str, int] = {}

    def read(self, entry: object) -> Iterable[LoggedExchange]:
        """The requests that an entry completes.

        Raises:
            NotUnderstoodError: it is of no known format, or holds no request.
        """
        if not isinstance(entry, Mapping):
            raise NotUnderstoodError("not a JSON object")
        for known in self._formats:
            if known.knows(entry):
                self.seen[known.name] = self.seen.get(known.name, 0) + 1
                return known.read(entry)
        raise NotUnderstoodError("no request of a known form")

    def end(self) -> Iterable[LoggedExchange]:
        """What the log's last entries completed."""
        return [exchange for known in self._formats for exchange in known.end()]
