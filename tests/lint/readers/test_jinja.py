"""Jinja2 templates: expressions, scope, filters, macros, includes, unknown tags, columns."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text

STATIC = "\nYou are a clerk of our company. Be brief and polite, and never promise anything.\n"

FOUND = {
    "call": ("{{ now() }}", ("PC101", 1)),
    "name": ("{{ current_time }}", ("PC101", 1)),
    "member": ("{{ ctx.now }}", ("PC101", 1)),
    "format of a date": ("{{ now().strftime('%Y-%m-%d') }}", ("PC109", 1)),
    "filter of a date": ("{{ now() | strftime('%H:%M') }}", ("PC101", 1)),
    "strftime_now": ("{{ strftime_now('%d %b %Y') }}", ("PC109", 1)),
    "set": ("{% set t = now() %}\n{{ t }}", ("PC101", 2)),
    "set block": ("{% set t %}at {{ now() }}{% endset %}\n{{ t }}", ("PC101", 2)),
    "macro": ("{% macro stamp() %}[{{ now() }}]{% endmacro %}\n{{ stamp() }}", ("PC101", 2)),
    "with": ("{% with t = now() %}\n{{ t }}{% endwith %}", ("PC101", 2)),
    "random filter": ("{{ ['a', 'b'] | random }}", ("PC103", 1)),
    "concatenation": ("{{ 'at ' ~ now() }}", ("PC101", 1)),
    "condition": ("{{ now() if x else '' }}", ("PC101", 1)),
    "loop": ("{% for r in rules %}\n- {{ r }} {{ uuid4() }}{% endfor %}", ("PC102", 2)),
    "unknown tag": ("{% chat 'x' %}\n{{ now() }}{% endchat %}", ("PC101", 2)),
    "unknown filter": ("{{ now() | shiny(3) }}", ("PC101", 1)),
    "Django's filter": ("{{ foo|weird_filter:3 }}\n{{ now() }}", ("PC101", 2)),
    "Django's filters in a row": (
        "{{ y|default:'a:b'|upper }} {{ now()|add:x.y|shiny:\"1\" }}",
        ("PC101", 1),
    ),
    "Django's loop": (
        "{% for r in rules|slice:':3' %}{{ r|shiny:-1 }}\n{{ now() }}{% endfor %}",
        ("PC101", 2),
    ),
    "Django's tags": ("{% load i18n %}{% trans \"Be kind\" %}{% url 'x' y=1 %}\n{{ now() }}", ("PC101", 2)),
    "empty loop": ("{% for r in rules %}{{ r }}{% empty %}none{% endfor %}\n{{ now() }}", ("PC101", 2)),
    "slices beside Django's filters": ("{{ x[a|int:b] }} {{ y|date:'Y' }}\n{{ now() }}", ("PC101", 2)),
    "whitespace control": ("a {%- if y -%}\n  b\n{%- endif -%}\n\n{{- now() -}}", ("PC101", 5)),
}


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_found(codes, text, expected):
    assert expected in codes(text + STATIC, "system.j2")


SILENT = {
    "comment": "{# {{ now() }} #}",
    "raw": "{% raw %}{{ now() }}{% endraw %}",
    "sorted json": "{{ schema | tojson }}",
    "plain variables": "{{ company }} {{ rules | join(', ') }}",
    "set but unused": "{% set t = now() %}",
    "macro but unused": "{% macro stamp() %}{{ now() }}{% endmacro %}",
    "shadowed": "{% set now = 'noon' %}{{ now }}",
    "test": "{{ 'yes' if user is defined else 'no' }}",
    "loop over a list": "{% for rule in rules %}{{ loop.index }}. {{ rule }}{% endfor %}",
    "length": "{{ names | length }}",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_silent(codes, text):
    assert codes(f"{STATIC}{text}", "system.j2") == []


def test_columns_after_whitespace_control_and_non_ascii():
    text = "Grüße {%- if x -%} y {%- endif %} {{ a }} und {{ now() }}" + STATIC
    (finding,) = [f for f in lint_text(text, "system.j2").findings if f.code == "PC101"]
    start = text.index("{{ now")
    assert (finding.place.row, finding.place.column) == (1, start + 1)
    assert finding.place.end_column == start + 1 + len("{{ now() }}")


def test_include_and_import(tree_codes):
    found = tree_codes(
        {
            "prompts/system.j2": "{% import 'macros.j2' as m %}\n{% include 'clock.j2' %}\n{{ m.id() }}"
            + STATIC,
            "prompts/macros.j2": "{% macro id() %}{{ uuid4() }}{% endmacro %}",
            "prompts/clock.j2": "Now: {{ now() }}",
        }
    )
    assert ("prompts/system.j2", "PC101", 2) in found
    assert ("prompts/system.j2", "PC102", 3) in found


def test_include_of_itself_ends(tree_codes):
    assert tree_codes({"prompts/a.j2": "{% include 'a.j2' %}" + STATIC}) == []


def test_syntax_error_is_a_finding(codes):
    assert codes("a\n{{ now( }}", "system.j2") == [("PC900", 2)]


def test_chat_template_with_a_date(codes):
    text = (
        "{{ bos_token }}{% if d %}Today Date: {{ strftime_now('%d %b %Y') }}{% endif %}\n"
        "{% for message in messages %}{{ message.role }}: {{ message.content }}{% endfor %}"
    )
    assert codes(text, "chat_template.jinja") == [("PC109", 1)]


def test_the_place_of_a_value_behind_filters_of_django():
    report = lint_text("{{ foo|weird_filter:3 }} {{ now() }}" + STATIC, "system.j2")
    assert [(finding.code, finding.place.column) for finding in report.findings] == [("PC101", 26)]
