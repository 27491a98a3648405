"""What a project declares, as the Python reader meets it: calls that send, and functions worth running.

The reader's own machine is made with the declared parts in it; it stays as it is where nothing is declared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from promptcache_lint.declared import DeclaredVocabulary
from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.readers.python.hinting import is_about_prompts
from promptcache_lint.readers.python.interpreter import Interpreter
from promptcache_lint.readers.python.program import Program, parse_module
from promptcache_lint.readers.python.relevance import Relevance
from promptcache_lint.readers.python.sinks import Sinks
from promptcache_lint.readers.python.values import Seq, Str

if TYPE_CHECKING:
    from promptcache_lint.prompts import Role
    from promptcache_lint.readers.python.calls import Call
    from promptcache_lint.readers.python.frame import Frame
    from promptcache_lint.readers.python.program import Function
    from promptcache_lint.readers.reading import InputFile, Workspace

__all__ = ["prepare_python"]

_MACHINE = "python"
_SYSTEM = re.compile(r"(?:.*_)?(?:system|instructions?|persona)(?:_.*)?")


def prepare_python(file: InputFile, workspace: Workspace) -> None:
    """Make the reader of ``file`` heed what is declared; files without a declared name cost nothing more."""
    vocabulary = workspace.vocabulary
    if not isinstance(vocabulary, DeclaredVocabulary) or file.path.suffix.lower() not in {".py", ".pyi"}:
        return
    machine = workspace.shared.get(_MACHINE)
    if (
        not isinstance(machine, Interpreter)
        or machine.is_full
        or not isinstance(machine.sinks, _DeclaredSinks)
    ):
        sinks = _DeclaredSinks(vocabulary)
        machine = Interpreter(Program(workspace), vocabulary, sinks)
        machine.relevance = _DeclaredRelevance(machine.program, vocabulary)
        sinks.machine = machine
        workspace.shared[_MACHINE] = machine
    text = file.source.text
    if not is_about_prompts(text) and any(word in text for word in vocabulary.sink_words):
        try:
            machine.program.add(parse_module(file.path, file.source))
        except UnreadableFileError:
            return  # the reader says so itself where that matters


class _DeclaredSinks(Sinks):
    """Takes the texts and messages that a declared call is given for what it sends."""

    def __init__(self, vocabulary: DeclaredVocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def called(self, made: Call, frame: Frame) -> None:
        """A call is about to be made."""
        if not self._vocabulary.is_sink(made.dotted) and not self._vocabulary.is_sink(made.path):
            super().called(made, frame)
            return
        self._request(made, frame)
        given = [("prompt", value, node) for value, node in made.arguments]
        given += [(name, value, node) for name, (value, node) in made.named.items()]
        for name, value, node in given:
            if isinstance(value, Str):
                role: Role = "system" if _SYSTEM.fullmatch(name) else "prompt"
                self._emit(name, role, value, node, frame, sent=made.node)
            elif isinstance(value, Seq):
                self.built_list(value, node, frame)


class _DeclaredRelevance(Relevance):
    """Counts functions in which a declared name occurs as worth running and calling."""

    def __init__(self, program: Program, vocabulary: DeclaredVocabulary) -> None:
        super().__init__(program)
        self._vocabulary = vocabulary

    def holds_prompt(self, function: Function) -> bool:
        """Whether a function should be run by itself."""
        return super().holds_prompt(function) or _mentions(function, self._vocabulary.sink_words)

    def worth_calling(self, function: Function) -> bool:
        """Whether a call may yield something volatile, or a short text."""
        return super().worth_calling(function) or _mentions(function, self._vocabulary.source_words)


def _mentions(function: Function, words: frozenset[str]) -> bool:
    text = function.module.segment(function.node)
    return any(word in text for word in words)
