"""# Volatile-looking literal

## What it does
Finds, in requests that were recorded, values that look as if the next request will have others: the time,
ids, counters, paths. In prompts it points out a written-down "today".

## Why is this bad?
A recorded request has no placeholders any more, so a clock in its system prompt is just a time. The next
one has another, and nothing behind it is reused. A date that was written into a prompt by hand costs no
hit, but it misleads the model, which believes that it is still that day; that is information.

## Example
```json
{
  "model": "m",
  "messages": [
    {"role": "system", "content": "You are a clerk. The time is 2026-03-02T09:14:55Z. Be brief."},
    {"role": "user", "content": "Good morning."}
  ]
}
```
```text
You are a travel agent. Today is 2024-05-01. Never book without asking.
```

## Use instead
```json
{
  "model": "m",
  "messages": [
    {"role": "system", "content": "You are a clerk. Our terms are those of 2025-03-01. Be brief."},
    {"role": "user", "content": "Good morning. (2026-03-02T09:14:55Z)"}
  ]
}
```
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from promptcache.detectors import find_volatile
from promptcache_lint.findings import Finding, Severity
from promptcache_lint.places import Place
from promptcache_lint.prompts import Text, flatten
from promptcache_lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache.detectors import VolatileSpan
    from promptcache_lint.prompts import Prompt, Segment

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_DATE = "PC109"
_CLOCKS = {"PC101", _DATE}
_SURE = {"PC101", "PC102", "PC103", "PC106", "PC107"}
_HINT = re.compile(r"today|now\b|current|date|time|\bday\b|heute|hoy|aujourd", re.IGNORECASE)
_LONGEST = 400_000


class VolatileLiteral(Rule):
    """PC108."""

    code = "PC108"

    def check(self, prompt: Prompt) -> Iterator[Finding]:
        """One finding for each such value in the part of the prompt that should be reused."""
        for segment in prompt.reusable():
            if segment.role not in {"system", "tool", "prompt"}:
                continue
            for part in flatten(segment.parts):
                if not isinstance(part, Text) or len(part.text) > _LONGEST:
                    continue
                if prompt.recorded or _HINT.search(part.text):
                    yield from self._in_text(prompt, segment, part)

    def _in_text(self, prompt: Prompt, segment: Segment, part: Text) -> Iterator[Finding]:
        text = _ESCAPE.sub(_blank, part.text) if prompt.recorded else part.text
        for span in _spans(text):
            severity = _severity(span, recorded=prompt.recorded)
            if severity is None:
                continue
            yield Finding(
                code=self.code,
                severity=severity,
                message=_message(span, recorded=prompt.recorded),
                place=_within(part, span),
                segment=segment.path,
                subject=span.text,
            )


@lru_cache(maxsize=512)  # one text stands in several prompts
def _spans(text: str) -> tuple[VolatileSpan, ...]:
    return tuple(find_volatile(text))


def _severity(span: VolatileSpan, *, recorded: bool) -> Severity | None:
    """How sure a value is to change; None where it is better not spoken of."""
    if not recorded:
        return Severity.INFO if span.code in _CLOCKS and span.labelled else None
    if span.code == _DATE:
        return Severity.INFO if span.labelled else None
    return Severity.WARNING if span.labelled and span.code in _SURE else Severity.INFO


def _message(span: VolatileSpan, *, recorded: bool) -> str:
    if recorded:
        return f"{span.text!r} looks like a value that changes from request to request."
    return f"{span.text!r} is written down as the present: the model will believe it whatever the day is."


def _blank(match: re.Match[str]) -> str:
    """An escape as so many characters of space: words beside it begin and end there."""
    return ("\n" if match[1] == "n" else " ").ljust(len(match[0]))


def _within(part: Text, span: VolatileSpan) -> Place:
    """Where the value stands; of a Python literal, whose escapes and quotes shift it, the row is enough."""
    place, before = part.place, part.text[: span.start]
    row = place.row + before.count("\n")
    if row > place.end_row:
        return place
    if place.path.endswith((".py", ".pyi", ".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")):
        column = place.column if row == place.row else 1
        return Place(place.path, row, column, row, column)
    column = len(before) - before.rfind("\n") if "\n" in before else place.column + len(before)
    return Place(place.path, row, column, row, column + len(span.text))
