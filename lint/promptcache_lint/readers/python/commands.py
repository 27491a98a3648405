"""What a program asks of its machine by a command: ``subprocess.check_output(["git", "status"])``.

Only commands whose answers are known to change, of a working folder, a clock or a host, say anything here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.prompts import Text, Trait
from promptcache_lint.readers.python.values import Seq, Str, Thing

if TYPE_CHECKING:
    from promptcache_lint.places import Place
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.interpreter import Interpreter
    from promptcache_lint.readers.python.values import Value

__all__ = ["RUNNING", "answered"]

RUNNING = frozenset(
    {
        *("subprocess.check_output", "subprocess.run", "subprocess.getoutput", "subprocess.Popen"),
        *("os.popen", "subprocess.getstatusoutput", "asyncio.create_subprocess_exec"),
        "asyncio.create_subprocess_shell",
    }
)
_KNOWN = (
    (re.compile(r"(?:\S*/)?date\b(?! *\+%Y\b)"), "PC101"),
    (re.compile(r"(?:\S*/)?uuidgen\b"), "PC102"),
    (
        re.compile(
            r"(?:\S*/)?(?:git (?:-\S+ \S+ )?(?:status|diff|log|branch|stash|rev-parse|show)"
            r"|hostname|whoami|pwd|uptime|ps|free|df|top|id|env|printenv|who|w|ifconfig|netstat)\b"
        ),
        "PC105",
    ),
)


def answered(machine: Interpreter, made: Call, frame: Frame, place: Place) -> Value:
    """What a command answers, marked where that is known to change."""
    label = frame.module.label(made.node)
    command = " ".join(_words(made.values)) if made.arguments else ""
    code = next((code for pattern, code in _KNOWN if pattern.match(command)), None)
    mark = machine.vocabulary.mark(code) if code is not None else None
    return Thing(label, (Trait(mark, place, label),) if mark is not None else (), made.dotted)


def _words(values: list[Value]) -> list[str]:
    """The words of a command, as far as they are written out."""
    words: list[str] = []
    for value in values:
        if isinstance(value, Seq):
            words += _words(list(value.items))
        elif isinstance(value, Str):
            words += [part.text for part in value.parts if isinstance(part, Text)]
    return words
