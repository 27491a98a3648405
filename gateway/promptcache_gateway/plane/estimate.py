"""What a request has used where its upstream did not say: an estimate by bytes, for budgets and token limits.

A stream without ``include_usage``, and an answer that the caller hung up on, are paid for at the provider all
the same. Nothing of it is shown as the upstream's own count.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache.usage import Usage

if TYPE_CHECKING:
    from promptcache_gateway.exchange import Dialect

BYTES_A_TOKEN = 4
"""Of English text, roughly."""

_TEXT = rb'"\s*:\s*"((?:[^"\\]|\\.)*+)"'
_PIECES: dict[Dialect, re.Pattern[bytes]] = {
    "openai.chat": re.compile(rb'"(?:content|reasoning_content|reasoning|refusal|arguments)' + _TEXT),
    "openai.completions": re.compile(rb'"text' + _TEXT),
    "openai.responses": re.compile(rb'"delta' + _TEXT),
    "anthropic.messages": re.compile(rb'"(?:text|thinking|partial_json)' + _TEXT),
}
_WHOLE = re.compile(rb'"(?:content|text|thinking|reasoning_content|refusal|arguments)' + _TEXT)


class OutputMeter:
    """Counts the bytes of text that an answer brings, as they pass; an embedding has none."""

    def __init__(self, dialect: Dialect) -> None:
        self.seen = 0
        self._dialect = dialect

    def piece(self, data: bytes, *, events: bool) -> None:
        """Note some of a stream; what is not made of events is counted as it is."""
        pattern = _PIECES.get(self._dialect)
        if pattern is not None:
            self.seen += _text_in(pattern, data) if events else len(data)

    def whole(self, body: bytes) -> None:
        """Note a whole answer."""
        if self._dialect in _PIECES:
            self.seen += _text_in(_WHOLE, body)


def estimated(usage: Usage, prompt_bytes: int, output_bytes: int, *, cut: bool) -> Usage | None:
    """What was used, as far as it must be estimated; None where the upstream's own counts say it.

    Args:
        usage: the upstream's counts.
        prompt_bytes: length of the request's body.
        output_bytes: length of the answer's text so far.
        cut: the answer did not come to its end, so that the count of its output may be of its beginning only.
    """
    output = -(-output_bytes // BYTES_A_TOKEN)
    if usage.total_input is None:
        return Usage(total_input=-(-prompt_bytes // BYTES_A_TOKEN), output=output)
    if usage.output is None or (cut and output > usage.output):
        return replace(usage, output=output)
    return None


def _text_in(pattern: re.Pattern[bytes], data: bytes) -> int:
    return sum(len(text) for text in pattern.findall(data))
