"""All rules, found by looking at the modules of `promptcache_lint.rules`, and their signs together."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from typing import TYPE_CHECKING

from promptcache_lint import rules as rules_package
from promptcache_lint.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from promptcache_lint.prompts import Mark

__all__ = [
    "Vocabulary",
    "all_rules",
    "documentation_of",
    "documentation_of_code",
    "in_words",
    "rule_modules",
    "vocabulary",
]


@cache
def rule_modules() -> tuple[ModuleType, ...]:
    """The modules that hold a rule, in order of their names."""
    names = sorted(info.name for info in pkgutil.iter_modules(rules_package.__path__))
    return tuple(importlib.import_module(f"{rules_package.__name__}.{name}") for name in names)


@cache
def all_rules() -> tuple[Rule, ...]:
    """One instance of every rule, in order of codes."""
    found = [
        member()
        for module in rule_modules()
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Rule) and member.__module__ == module.__name__
    ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def documentation_of(rule: Rule) -> str:
    """The rule's documentation: its module's docstring, as Markdown."""
    return inspect.cleandoc(inspect.getmodule(type(rule)).__doc__ or "")


def documentation_of_code(code: str) -> str | None:
    """What ``promptcache rule`` adds to a cause: how the linter finds it, and examples.

    Args:
        code: a cause's code (``PC101``).

    Returns:
        Markdown from the documentation's first heading on, without its title; None where no rule finds it.
    """
    rule = next((rule for rule in all_rules() if rule.code == code), None)
    if rule is None:
        return None
    return documentation_of(rule).partition("\n\n")[2]


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_CONTAINERS = frozenset(
    {
        *(
            "args",
            "config",
            "context",
            "cls",
            "ctx",
            "data",
            "deps",
            "env",
            "inputs",
            "it",
            "kwargs",
            "params",
        ),
        *(
            "request",
            "runtime",
            "self",
            "session",
            "settings",
            "state",
            "system",
            "this",
            "values",
            "variables",
        ),
        "vars",
    }
)
"""Names that hold other things and say nothing of them: ``state.now`` is a clock, ``post.date`` is data."""


@cache
def in_words(name: str) -> str:
    """A name in lower-case words joined by ``_``: ``user.firstName`` → ``user_first_name``."""
    return _NOT_WORD.sub("_", _CAMEL.sub("_", name)).strip("_").lower()


class Vocabulary:
    """The signs of a set of rules, indexed for the readers: which mark does a name or a call deserve?"""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._calls: dict[str, Mark] = {}
        self._attributes: dict[str, Mark] = {}
        self._filters: dict[str, Mark] = {}
        self._marks: dict[str, Mark] = {}
        self._names: list[tuple[re.Pattern[str], Mark]] = []
        self._environment: list[tuple[re.Pattern[str], Mark]] = []
        self._known: dict[str, Mark | None] = {}
        for rule in rules:
            for sign in rule.signs:
                self._marks.setdefault(rule.code, sign.mark)
                self._calls.update(dict.fromkeys(sign.python, sign.mark))
                self._attributes.update(dict.fromkeys(sign.attributes, sign.mark))
                self._filters.update(dict.fromkeys(sign.filters, sign.mark))
                self._names += [(re.compile(pattern), sign.mark) for pattern in sign.names]
                self._environment += [(re.compile(pattern), sign.mark) for pattern in sign.environment]

    def mark(self, code: str) -> Mark | None:
        """The first mark of the rule with ``code``."""
        return self._marks.get(code)

    def call(self, dotted: str) -> Mark | None:
        """The mark of what a call of ``dotted`` yields; the method alone is looked up with a leading dot."""
        found = self._calls.get(dotted)
        if found is None and "." in dotted:
            found = self._calls.get("." + dotted.rpartition(".")[2])
        return found

    def attribute(self, dotted: str) -> Mark | None:
        """The mark of the value ``dotted`` itself."""
        return self._attributes.get(dotted)

    def filter(self, name: str) -> Mark | None:
        """The mark of what a template filter yields."""
        return self._filters.get(name)

    def environment(self, name: str) -> Mark | None:
        """The mark of an environment variable."""
        return next((mark for pattern, mark in self._environment if pattern.fullmatch(name)), None)

    def name(self, name: str) -> Mark | None:
        """The mark that a name alone suggests: the whole name first, then its parts."""
        if name not in self._known:
            if len(self._known) > 50_000:
                self._known.clear()
            self._known[name] = self._look_up(name)
        return self._known[name]

    def _look_up(self, name: str) -> Mark | None:
        parts = [in_words(part) for part in re.split(r"[.\[\]]+", name) if part]
        tries = [in_words(name)]
        if len(parts) > 1 and (parts[0] in _CONTAINERS or "_" in parts[-1]):
            tries.append(parts[-1])
        if len(parts) > 1 and parts[0] not in _CONTAINERS:
            tries.append(parts[0])
        for words in tries:
            for pattern, mark in self._names:
                if pattern.fullmatch(words):
                    return mark
        return None


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of all rules."""
    return Vocabulary(all_rules())
