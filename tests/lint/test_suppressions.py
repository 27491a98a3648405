"""Comments that silence findings, in each input's own form, and those that silence nothing."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, lint_text

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."
HEAD = "import time\ndef system_prompt():\n"
PYTHON = f'{HEAD}{{before}}    return f"It is {{{{time.time()}}}}. {RULES}"{{after}}\n'


def python(before="", after=""):
    return PYTHON.format(before=before, after=after)


def test_python_is_found_without_comment(codes):
    assert codes(python()) == [("PC101", 3)]


@pytest.mark.parametrize(
    "text",
    [
        python(after="  # promptcache: ignore[PC101] the model needs it"),
        python(before="    # promptcache: ignore[PC101] the model needs it\n"),
        python(before="    # promptcache: ignore[PC1]\n\n"),
        python(after="  # promptcache: ignore"),
        python(after="  # noqa: E501  promptcache: ignore[PC201, PC101]"),
        "# promptcache: ignore-file[PC101] all of it\n" + python(),
    ],
)
def test_python_suppressed(codes, text):
    assert codes(text) == []


def test_suppressed_at_the_source(codes):
    text = (
        "import time\ndef system_prompt():\n    now = time.time()  # promptcache: ignore[PC101] frozen\n"
        f'    return f"It is {{now}}. {RULES}"\n'
    )
    assert codes(text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("system.j2", "{# promptcache: ignore[PC101] needed #}\nIt is {{ now() }}. " + RULES),
        ("system.md", "<!-- promptcache: ignore[PC101] needed -->\nIt is {now}. " + RULES),
        ("system.md", "It is {now}. <!-- promptcache: ignore[PC101] --> " + RULES),
        ("a.hbs", "{{! promptcache: ignore[PC101] }}\nIt is {{now}}. " + RULES),
        ("a.yaml", f"# promptcache: ignore[PC101] needed\nsystem: 'It is {{now}}. {RULES}'\n"),
        ("a.yaml", f"system: 'It is {{now}}. {RULES}'  # promptcache: ignore[PC101]\n"),
        ("a.toml", f"# promptcache: ignore[PC101]\nsystem = 'It is {{now}}. {RULES}'\n"),
        ("a.json", '{\n// promptcache: ignore[PC101]\n"system": "It is {now}. ' + RULES + '"}'),
    ],
)
def test_other_inputs(codes, name, text):
    assert codes(text, name) == []


def test_wrong_code_does_not_suppress_and_is_unused(codes):
    assert codes(python(after="  # promptcache: ignore[PC102]")) == [("PC101", 3), ("PC901", 3)]


def test_unused(codes):
    assert codes("x = 1  # promptcache: ignore[PC101]\nSYSTEM = 'You are a clerk.'\n") == [("PC901", 1)]


def test_words_in_a_string_are_no_comment(codes):
    assert codes("SYSTEM = '''You are a clerk. # promptcache: ignore[PC101]'''\n") == []


def test_directive_for_a_code_that_is_not_looked_for_is_not_unused():
    text = "x = 1  # promptcache: ignore[PC101]\nSYSTEM = 'You are a clerk.'\n"
    assert lint_text(text, "a.py", Settings(select=("PC2", "PC9"))).findings == ()
    assert lint_text(text, "a.py", Settings(ignore=("PC901",))).findings == ()
