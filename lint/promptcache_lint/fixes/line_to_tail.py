"""Moving a volatile line to the tail of the last user message, in texts, templates and data files.

The prompt says something else afterwards, in another place; so this is never a safe fix.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.fixes.edits import insertion, place_range, replacement
from promptcache_lint.fixes.fix import Fix
from promptcache_lint.prompts import Text, flatten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Source
    from promptcache_lint.prompts import Prompt, Segment
    from promptcache_lint.readers.reading import InputFile

__all__ = ["MESSAGE", "propose"]

MESSAGE = "Move the line to the tail of the last user message."
_DATA = {".json", ".yaml", ".yml"}
_TAG = re.compile(r"\{%[-+]?\s*(?P<end>end)?(?:if|for|macro|block|set|call|filter|with)\b(?P<inline>[^%]*=)?")


def propose(finding: Finding, file: InputFile, prompts: Sequence[Prompt]) -> Iterator[Fix]:
    """At most one change for each prompt that holds the finding and ends in a message of the user."""
    source = file.source
    start, end = place_range(source, finding.place)
    for prompt in prompts:
        origin = _segment_at(prompt, finding)
        target = prompt.segments[-1] if prompt.segments and prompt.segments[-1].newest else None
        if origin is None or origin.newest or target is None:
            continue
        tail = _tail(source, target)
        if tail is None:
            continue
        is_data = file.path.suffix.lower() in _DATA
        fix = _escaped(source, start, end, tail) if _in_quotes(source, start, is_data) else None
        if fix is None and file.path.suffix.lower() != ".json":
            fix = _physical(source, start, end, tail, is_data=is_data)
        if fix is not None:
            yield fix


def _segment_at(prompt: Prompt, finding: Finding) -> Segment | None:
    for segment in prompt.segments:
        if any(part.place == finding.place for part in flatten(segment.parts)):
            return segment
    return None


def _tail(source: Source, segment: Segment) -> int | None:
    """The offset behind the last visible character of a segment."""
    parts = [part for part in segment.parts if part.place.path == source.path]
    if not parts or len(parts) != len(segment.parts):
        return None
    end = place_range(source, parts[-1].place)[1]
    start = place_range(source, parts[0].place)[0]
    while isinstance(parts[-1], Text) and end > start and source.text[end - 1].isspace():
        end -= 1
    return end


def _in_quotes(source: Source, offset: int, is_data: bool) -> bool:  # noqa: FBT001 - a fact about the file
    """Whether the value at ``offset`` stands in a double-quoted string on one row."""
    if not is_data:
        return False
    row, column = source.position(offset)
    before = source.line(row)[: column - 1]
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', before)) % 2 == 1


def _escaped(source: Source, start: int, end: int, tail: int) -> Fix | None:
    r"""Inside a quoted string, lines are parted by ``\n`` as it is written."""
    text = source.text
    row = source.position(start)[0]
    first = source.offset(row, 1)
    begin = max(text.rfind("\\n", first, start) + 2, text.rfind('"', first, start) + 1)
    stop = _quote_after(text, end)
    break_ = text.find("\\n", end, stop)
    after = break_ + 2 if break_ != -1 else stop
    line = text[begin : break_ if break_ != -1 else stop]
    if break_ == -1 and text[begin - 2 : begin] == "\\n":
        begin -= 2
    whole = text[begin - 1] == '"' and text[after] == '"'
    if whole or text[tail : tail + 1] != '"' or not _in_quotes(source, tail, is_data=True):
        return None
    return _moved(source, (begin, after), tail, f"\\n{line}")


def _quote_after(text: str, offset: int) -> int:
    match = re.compile(r'(?:[^"\\]|\\.)*').match(text, offset)
    return match.end() if match else offset


def _physical(source: Source, start: int, end: int, tail: int, *, is_data: bool) -> Fix | None:
    """Lines as rows of the file."""
    row, last = source.position(start)[0], source.position(end)[0]
    line = source.line(row)
    tail_row = source.position(tail)[0]
    if row != last or tail_row <= row or "{%" in line or not _balanced(source.text, start, tail):
        return None
    if is_data and source.text[tail - 1] == '"' and _in_quotes(source, tail - 1, is_data):
        tail -= 1  # before the quote that ends a scalar
    quoted = is_data and source.text[tail : tail + 1] == '"' and _in_quotes(source, tail, is_data)
    if is_data and (_is_key(line) or (_is_key(source.line(tail_row)) and not quoted)):
        return (
            None  # the text shares its row with its key: there is no line to move, or none to move it behind
        )
    if source.text[source.offset(tail_row, 1) : tail].count("{{") != source.text[
        source.offset(tail_row, 1) : tail
    ].count("}}"):
        return None
    indent = re.match(r"\s*", source.line(tail_row))
    content = f"\n{indent[0] if indent else ''}{line.strip()}"
    if quoted:  # a scalar in double quotes takes the line with its break written out
        content = "\\n" + line.strip().replace("\\", "\\\\").replace('"', '\\"')
    return _moved(source, (source.offset(row, 1), source.offset(row + 1, 1)), tail, content)


def _is_key(line: str) -> bool:
    return re.match(r"\s*(?:- )?[\w\"']+\s*:\s", f"{line} ") is not None and "{" not in line.partition(":")[0]


def _balanced(text: str, start: int, tail: int) -> bool:
    """Whether neither place stands inside a condition or a loop of the template."""
    return all(_open_tags(text[:offset]) == 0 for offset in (start, tail))


def _open_tags(text: str) -> int:
    return sum(
        -1 if match["end"] else 1 for match in _TAG.finditer(text) if match["end"] or not match["inline"]
    )


def _moved(source: Source, line: tuple[int, int], tail: int, content: str) -> Fix:
    edits = (replacement(source, *line, ""), insertion(source, tail, content))
    return Fix(MESSAGE, safe=False, edits=edits)
