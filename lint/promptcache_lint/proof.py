"""What makes a finding an error in a program: the source shows every link from the value to the request.

A rule says what stands where and what it costs; here the way of the value is followed back from the request
that is sent. What is not shown is a warning. Files of prompts have no way; what they may hold is `standing`'s
business.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from promptcache_lint.at_stake import ends_a_single_request, is_cached, is_steady
from promptcache_lint.findings import Severity
from promptcache_lint.readers.python import ways as python_ways
from promptcache_lint.readers.python.interpreter import Interpreter
from promptcache_lint.readers.typescript import ways as typescript_ways
from promptcache_lint.readers.typescript.grammar import SUFFIXES
from promptcache_lint.readers.typescript.machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptcache_lint.findings import Finding
    from promptcache_lint.places import Place, Source
    from promptcache_lint.prompts import Prompt
    from promptcache_lint.readers.reading import Workspace

__all__ = [
    "as_proven",
    "behind_steady_tools",
    "behind_what_is_steady",
    "where_it_is_cached",
    "where_more_follows",
]

_OF_TOOLS = {"PC301", "PC302", "PC303", "PC305"}
_PYTHON = {".py", ".pyi"}
_MADE = re.compile(
    r"""(?:["']?role["']?\s*:\s*["']system["']\s*,\s*["']?content["']?\s*:\s*"""
    r"""|\bsystem(?:_?(?:prompt|message|instructions?|text|content))?\s*[:=]\s*"""
    r"""|\bSystemMessage\(\s*(?:content\s*=\s*|\{\s*content\s*:\s*)?)(?:await\s+)?[\w.]+\(\s*[^)\s"'`]""",
    re.IGNORECASE,
)
"""A system prompt that a function makes of what it is given; what comes of it the readers may not see."""
_ASKS_ANTHROPIC = re.compile(r"(?<!threads)\.messages\.(?:create|stream|parse|tool_runner|toolRunner)\s*\(")
_MARKS_OR_ASKS_OTHERS = re.compile(
    r"cache_?control|cache_?point|\.completions\.|\.responses\.|generate_?(?:content|text|object)|stream_?text"
    r"|litellm|\b(?:a?completion|a?invoke|converse(?:_?stream)?|chat)\s*\(|messages\s*\.\s*batches|\*\*\w+\s*[,)]",
    re.IGNORECASE,
)
"""A breakpoint, arguments that may hold one, or a request to somebody who keeps prefixes by himself."""


def as_proven(finding: Finding, prompt: Prompt, workspace: Workspace) -> Finding:
    """The finding of a value, a warning where the source does not show that it is in what is sent."""
    if finding.severity < Severity.ERROR or prompt.written or prompt.recorded:
        return finding
    way = finding.flow or (finding.place,)
    paths = list(dict.fromkeys(place.path for place in (prompt.place, finding.place, *way)))
    suffix = PurePosixPath(prompt.place.path).suffix.lower()
    if suffix in _PYTHON and _is_shown_in_python(prompt, way, paths, workspace):
        return finding
    if suffix in SUFFIXES and _is_shown_in_typescript(prompt, way, paths, workspace):
        return finding
    return replace(finding, severity=Severity.WARNING)


def behind_what_is_steady(finding: Finding, prompts: Iterable[Prompt], source: Source) -> Finding:
    """The finding of a cut; a warning where the system prompt of its file is new in each turn anyway."""
    if finding.code != "PC501" or finding.severity < Severity.ERROR:
        return finding
    here = (prompt for prompt in prompts if prompt.certain and prompt.place.path == finding.place.path)
    steady = _MADE.search(source.text) is None and all(map(is_steady, here))
    return finding if steady else replace(finding, severity=Severity.WARNING)


def where_it_is_cached(finding: Finding, prompt: Prompt, source: Source) -> Finding:
    """The finding; a warning where a program asks only Anthropic, which keeps nothing, for it marks nothing.

    A missing breakpoint is a fault of its own (PC602); nothing else costs anything before it is mended.
    """
    if finding.severity < Severity.ERROR or prompt.written or prompt.recorded:
        return finding
    asks = "anthropic" in source.text.lower() and _ASKS_ANTHROPIC.search(source.text) is not None
    if is_cached(prompt) and (not asks or _MARKS_OR_ASKS_OTHERS.search(source.text) is not None):
        return finding
    return replace(finding, severity=Severity.WARNING)


def behind_steady_tools(finding: Finding, prompt: Prompt, prompts: Iterable[Prompt]) -> Finding:
    """The finding; a warning where the tools, in front of all else, are others in each turn anyway."""
    if (
        finding.severity < Severity.ERROR
        or finding.code in _OF_TOOLS
        or (finding.segment or "").startswith("tools")
    ):
        return finding
    changed = (
        practice.within
        for other in prompts
        for practice in other.practices
        if practice.code == "PC302" and practice.severity > Severity.INFO and practice.within is not None
    )
    lost = any(_lies_in(place, outer) for outer in changed for place in (prompt.place, finding.place))
    return replace(finding, severity=Severity.WARNING) if lost else finding


def _lies_in(place: Place, outer: Place) -> bool:
    start, end = (outer.row, outer.column), (outer.end_row, outer.end_column)
    return place.path == outer.path and start <= (place.row, place.column) <= end


def where_more_follows(finding: Finding, prompts: Iterable[Prompt]) -> Finding:
    """The finding of an order; information where it ends short requests, to which nothing is added."""
    if finding.code != "PC203" or finding.severity < Severity.WARNING:
        return finding
    alone = ends_a_single_request(finding.place, prompts)
    return replace(finding, severity=Severity.INFO) if alone else finding


def _is_shown_in_python(
    prompt: Prompt, way: tuple[Place, ...], paths: list[str], workspace: Workspace
) -> bool:
    machine = workspace.shared.get("python")
    if not isinstance(machine, Interpreter):
        return False
    modules = [module for path in paths if (module := machine.program.displayed(path)) is not None]
    return python_ways.is_shown(prompt.place, way, modules, talks=prompt.grows)


def _is_shown_in_typescript(
    prompt: Prompt, way: tuple[Place, ...], paths: list[str], workspace: Workspace
) -> bool:
    machine = workspace.shared.get("typescript")
    if not isinstance(machine, Machine):
        return False
    modules = [module for path in paths if (module := machine.program.displayed(path)) is not None]
    return typescript_ways.is_shown(prompt.place, way, modules, talks=prompt.grows)
