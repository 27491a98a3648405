"""What a project declares, as the TypeScript reader meets it: its own sources, sinks and static calls.

A call is known by the dotted name of what it calls (``@acme/clock.stamp``), by the members as written
(``acme.llm.ask``), and by its last word with a dot in front (``.stamp``), whatever it belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_lint.declared import DeclaredVocabulary
from promptcache_lint.prompts import Trait
from promptcache_lint.readers.python.values import Thing

if TYPE_CHECKING:
    from promptcache_lint.readers.python.values import Value
    from promptcache_lint.readers.typescript.calls import Call
    from promptcache_lint.readers.typescript.frame import Frame
    from promptcache_lint.rulebook import Vocabulary

__all__ = ["declared_value", "is_declared_sink", "sink_words", "source_words"]


def declared_value(made: Call, vocabulary: Vocabulary, frame: Frame) -> Value | None:
    """What a call yields by declaration: something volatile, or something that never changes."""
    if not isinstance(vocabulary, DeclaredVocabulary):
        return None
    names = _names(made)
    label = frame.module.label(made.node)
    if not vocabulary.static_calls.isdisjoint(names):
        return Thing(label, settled=True)
    mark = next((mark for name in names if (mark := vocabulary.sources.get(name)) is not None), None)
    return Thing(label, (Trait(mark, frame.module.place(made.node), label),)) if mark is not None else None


def is_declared_sink(made: Call, vocabulary: Vocabulary) -> bool:
    """Whether a call is declared to send a prompt."""
    return isinstance(vocabulary, DeclaredVocabulary) and not vocabulary.sinks.isdisjoint(_names(made))


def source_words(vocabulary: Vocabulary) -> frozenset[str]:
    """The last words of declared sources: a function that holds one is worth calling."""
    return vocabulary.source_words if isinstance(vocabulary, DeclaredVocabulary) else frozenset()


def sink_words(vocabulary: Vocabulary) -> frozenset[str]:
    """The last words of declared sinks: a text that holds one is worth reading."""
    return vocabulary.sink_words if isinstance(vocabulary, DeclaredVocabulary) else frozenset()


def _names(made: Call) -> tuple[str, ...]:
    last = made.path.rpartition(".")[2]
    return made.dotted, made.path, f".{last}", last if made.receiver is None else ""
