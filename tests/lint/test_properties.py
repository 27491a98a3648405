"""Linting never crashes, whatever the text; and what it reports lies in the text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptcache_lint import Settings, Severity, lint_text

NAMES = ["a.py", "a.txt", "a.md", "a.j2", "a.json", "a.yaml", "a.toml", "a.prompty", "a"]

FRAGMENTS = [
    *(
        "You are a clerk. ",
        "{now}",
        "{{now}}",
        "{{ now() }}",
        "{% if a %}",
        "{% endif %}",
        "{% for a in b %}",
    ),
    *("{#", "#}", "{{#if x}}", "{{/if}}", "{{else}}", "${user}", "%(x)s", "<%= y %>", "---\n", "system:\n"),
    *(
        "user:\n",
        "\n",
        "```",
        '"role": "system"',
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"',
        "'",
        "\\",
        "é",
        "😀",
        "\t",
    ),
    *(
        "  ",
        "# ",
        "<!--",
        "-->",
        "promptcache: ignore[PC101]",
        "import time\n",
        "lambda: x",
        "&a",
        "*a",
        "|\n",
    ),
    "def system_prompt(x):\n    return f'You are {x} {time.time()}'\n",
    *("SYSTEM = 'You are a clerk'\n", "SYSTEM += f'{SYSTEM}'\n", "class A:\n    x = 1\n"),
]
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_never_crashes_and_places_lie_in_the_text(name, text):
    report = lint_text(text, name, Settings(severity=Severity.INFO))
    source = report.sources[name]
    for finding in report.findings:
        place = finding.place
        assert 1 <= place.row <= source.rows + 1
        assert place.column >= 1
        assert (place.end_row, place.end_column) >= (place.row, place.column)


NAME = st.sampled_from(["a", "b", "system_prompt", "prompt", "messages", "now"])
ATOM = st.one_of(
    NAME,
    st.sampled_from(
        [
            "'You are a clerk'",
            "f'{a} {b}'",
            "time.time()",
            "{'x'}",
            "[a, *b]",
            "{'role': 'system', 'content': a}",
        ]
    ),
)
EXPRESSION = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} % {})".format, inner, inner),
        st.builds("{}.format({})".format, NAME, inner),
        st.builds("'-'.join({})".format, inner),
        st.builds("sorted({})".format, inner),
        st.builds("f'x {{{}}}'".format, NAME),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("[{} for a in {}]".format, inner, inner),
        st.builds("{}({})".format, NAME, inner),
        st.builds("{}.append({})".format, NAME, inner),
    ),
    max_leaves=8,
)
STATEMENT = st.one_of(
    st.builds("    {} = {}".format, NAME, EXPRESSION),
    st.builds("    {} += {}".format, NAME, EXPRESSION),
    st.builds("    if {}:\n        {} = {}".format, EXPRESSION, NAME, EXPRESSION),
    st.builds("    for {} in {}:\n        {} = {}".format, NAME, EXPRESSION, NAME, EXPRESSION),
    st.builds("    return {}".format, EXPRESSION),
)


@settings(max_examples=200)
@given(bodies=st.lists(st.lists(STATEMENT, min_size=1, max_size=5), min_size=1, max_size=4))
def test_python_programs_never_crash(bodies):
    names = ["system_prompt", "a", "prompt", "b"]
    text = "import time\n" + "".join(
        f"def {name}(a, *b, **messages):\n" + "\n".join(body) + "\n"
        for name, body in zip(names, bodies, strict=False)
    )
    lint_text(text, "program.py")
