"""The vocabulary with what a project declares: its own sources, sinks, volatile and static names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptcache_lint.rule import Rule, Sign
from promptcache_lint.rulebook import Vocabulary, all_rules, in_words, vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_lint.findings import Finding
    from promptcache_lint.prompts import Mark, Prompt
    from promptcache_lint.settings import Settings

__all__ = ["DeclaredVocabulary", "check_pattern", "declarable_codes", "vocabulary_of"]

_PLAIN_NAME = re.compile(r"[\w.]+")


def declarable_codes() -> tuple[str, ...]:
    """The codes a project may give to sources and names: those that describe a kind of value."""
    return tuple(sorted({rule.code for rule in all_rules() if rule.signs}))


def vocabulary_of(settings: Settings) -> Vocabulary:
    """The vocabulary of all rules and of what ``settings`` declare."""
    declares = (settings.sources, settings.sinks, settings.volatile_names, settings.static_names)
    return DeclaredVocabulary(settings) if any(declares) else vocabulary()


@dataclass(frozen=True)
class _Declaration(Rule):
    """Stands for a rule where signs are declared and not written with one; finds nothing itself."""

    code: str  # type: ignore[misc]
    signs: tuple[Sign, ...]  # type: ignore[misc]

    def check(self, prompt: Prompt) -> Iterator[Finding]:  # noqa: ARG002 - what is declared is found by rules
        """Nothing."""
        yield from ()


class DeclaredVocabulary(Vocabulary):
    """Declared names are looked up before the rules' own, declared calls replace theirs.

    ``sinks`` are the dotted names of calls that send a prompt, ``sources`` those that bring a fault,
    ``static_calls`` names, calls among them, that never change; ``source_words`` and ``sink_words`` the last
    words of declared calls, by which a reader may recognise text worth reading.
    """

    def __init__(self, settings: Settings) -> None:
        usual = vocabulary()
        names = tuple(_named(pattern, usual.mark(code)) for pattern, code in settings.volatile_names)
        calls = tuple(_called(dotted, usual.mark(code)) for dotted, code in settings.sources)
        super().__init__((_Declaration("", names), *all_rules(), _Declaration("", calls)))
        self._usual = usual
        # Of a call that nobody knows, a reader has the last word only.
        last = tuple(name.rpartition(".")[2] for name in settings.static_names if _PLAIN_NAME.fullmatch(name))
        self._static = tuple(re.compile(_as_pattern(name)) for name in (*settings.static_names, *last))
        self.static_calls = frozenset(settings.static_names)
        self.sources = {dotted: mark for dotted, code in settings.sources if (mark := usual.mark(code))}
        self.sinks = frozenset(settings.sinks)
        self.sink_words = frozenset(dotted.rpartition(".")[2] for dotted in settings.sinks)
        self.source_words = frozenset(dotted.rpartition(".")[2] for dotted, _ in settings.sources)

    def mark(self, code: str) -> Mark | None:
        """The first mark of the rule with ``code``."""
        return self._usual.mark(code)

    def call(self, dotted: str) -> Mark | None:
        """The mark of what a call yields; none for a call that is declared static."""
        last = dotted.rpartition(".")[2]
        if self.static_calls and not self.static_calls.isdisjoint((dotted, last, f".{last}")):
            return None
        return super().call(dotted)

    def name(self, name: str) -> Mark | None:
        """The mark that a name suggests; none for a name that is declared static."""
        if self._static:
            tries = (in_words(name), in_words(name.rpartition(".")[2]))
            if any(pattern.fullmatch(words) for pattern in self._static for words in tries):
                return None
        return super().name(name)

    def is_sink(self, dotted: str) -> bool:
        """Whether a call of ``dotted`` is declared to send a prompt."""
        return dotted in self.sinks or f".{dotted.rpartition('.')[2]}" in self.sinks


def _named(pattern: str, mark: Mark | None) -> Sign:
    assert mark is not None, "checked where it was read"
    return Sign(mark, names=(_as_pattern(pattern),))


def _called(dotted: str, mark: Mark | None) -> Sign:
    assert mark is not None, "checked where it was read"
    return Sign(mark, python=(dotted,))


def _as_pattern(name: str) -> str:
    """A plain name means itself, however it is written; anything else is a regular expression."""
    return re.escape(in_words(name)) if _PLAIN_NAME.fullmatch(name) else name


def check_pattern(name: str) -> re.Pattern[str]:
    """Compile a declared name; raises `re.error` where it is no regular expression."""
    return re.compile(_as_pattern(name))
