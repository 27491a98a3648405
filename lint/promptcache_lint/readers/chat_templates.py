"""Chat templates of models: which templates are such, what is wrong with them, what they take from the clock.

The only place where something that is read is also run: made-up messages go through it (`chat_turns`), in
the SDK's bounded sandbox, in a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.findings import Severity
from promptcache_lint.places import Source
from promptcache_lint.prompts import Hole, Practice, flatten
from promptcache_lint.readers import chat_turns

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from promptcache_lint.places import Place
    from promptcache_lint.readers.reading import Workspace

__all__ = ["clocks_in_chat_template", "is_chat_template", "judge_chat_template"]

_CHAT_TEMPLATE = re.compile(r"add_generation_prompt|\bbos_token\b|\{%[-+]?\s*for\s+\w+\s+in\s+messages\b")
_LOOP = re.compile(r"\bmessages\b")
_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_LARGEST = 100_000
_PATIENCE = 10
"""Times the processor time that a busy machine may take for it."""
_SEVERITY = {"PC508": Severity.ERROR, "PC505": Severity.WARNING, "PC900": Severity.WARNING}
_STOPPED = "The chat template was not checked: it takes more steps or memory than any prompt needs."


def is_chat_template(text: str) -> bool:
    """Whether a template renders lists of messages, as tokenizers carry them; a document may show one."""
    if _CHAT_TEMPLATE.search(text) is None or _LOOP.search(text) is None:
        return False
    return _FENCE.search(text[: text.find("{%")]) is None


def judge_chat_template(text: str, place: Place) -> tuple[Practice, ...]:
    """What is wrong with a chat template.

    At most one finding of each kind; nothing where it cannot be run, PC900 where it has to be stopped.
    """
    if len(text) > _LARGEST:
        return ()
    found: dict[str, Practice] = {}
    for code, says in _faults(text):
        found.setdefault(code, Practice(code, _SEVERITY[code], place, says))
    return tuple(found.values())


def clocks_in_chat_template(text: str, path: Path, place: Place, workspace: Workspace) -> tuple[Hole, ...]:
    """What a chat template kept inside another file takes from the clock, all of it told at ``place``.

    Nothing where it is no valid template.
    """
    from promptcache_lint.readers.jinja_parts import TemplateWalker  # noqa: PLC0415 - readers need each other

    try:
        parts = TemplateWalker(workspace, path, Source(place.path, text), loops=False).parts(text)
    except UnreadableFileError:
        return ()
    holes = (part for part in flatten(parts) if isinstance(part, Hole))
    told = (
        replace(
            hole,
            place=place,
            traits=tuple(
                replace(trait, origin=place, flow=())
                for trait in hole.traits
                if trait.mark.code in {"PC101", "PC109"}
            ),
        )
        for hole in holes
    )
    return tuple(hole for hole in told if hole.traits)


def _faults(text: str) -> Iterable[tuple[str, str]]:
    """What a process of its own finds: the template is a stranger's, and may compute without end."""
    if not sys.executable:
        return []
    command = [
        sys.executable,
        "-P",
        "-m",
        chat_turns.__name__,
        str(chat_turns.SECONDS),
    ]  # -P: not from the folder we stand in
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            command,
            input=text.encode("utf-8", "surrogatepass"),
            capture_output=True,
            timeout=_PATIENCE * chat_turns.SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [("PC900", _STOPPED)]
    except OSError:
        return []  # no processes here: it is not judged
    if done.returncode > 0:
        raise RuntimeError(f"{chat_turns.__name__} ended with status {done.returncode}")
    found = json.loads(done.stdout or b"null")  # nothing at all: the system ended it
    return [("PC900", _STOPPED)] if found is None else [(code, says) for code, says in found]
