"""Every rule's docstring is its documentation and first test: bad examples are found, good ones silent."""

from __future__ import annotations

import re

import pytest

from promptcache.causes import CAUSES
from promptcache_lint import Settings, Severity, lint_text
from promptcache_lint.rulebook import all_rules, documentation_of

_FILES = {
    "python": "example.py",
    "jinja": "example.j2",
    "text": "prompt.txt",
    "yaml": "prompt.yaml",
    "json": "p.json",
}
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

RULES = [pytest.param(rule, id=rule.code) for rule in all_rules()]


def sections(rule):
    pieces = _SECTION.split(documentation_of(rule))
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def found(language, text):
    report = lint_text(text, _FILES[language], Settings(severity=Severity.INFO))
    return {finding.code for finding in report.findings}


def test_there_are_rules_and_each_is_in_the_catalogue():
    codes = [rule.code for rule in all_rules()]
    assert len(codes) >= 15
    assert len(set(codes)) == len(codes)
    assert set(codes) <= set(CAUSES)


@pytest.mark.parametrize("rule", RULES)
def test_has_title_and_sections(rule):
    assert documentation_of(rule).startswith("# ")
    assert {"What it does", "Why is this bad?", "Example", "Use instead"} <= set(sections(rule))


@pytest.mark.parametrize("rule", RULES)
def test_bad_examples_are_flagged(rule):
    examples = _FENCE.findall(sections(rule)["Example"])
    assert examples
    for language, text in examples:
        assert rule.code in found(language, text), text


@pytest.mark.parametrize("rule", RULES)
def test_good_examples_are_silent(rule):
    examples = _FENCE.findall(sections(rule)["Use instead"])
    assert examples
    for language, text in examples:
        assert found(language, text) == set(), text
