"""Jinja2 templates: expressions, scope, filters, macros, includes, unknown tags, columns."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text

STATIC = "\nYou are a clerk of our company. Be brief and polite, and never promise anything.\n"
OF_ROLE = (
    "{{% for m in messages %}}{{% if m.role {} 'system' %}}{{{{ m.content }}}}{{% endif %}}{{% endfor %}}"
)

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
    "filtered set block": ("{% set t %}at {{ now() }}{% endset %}\n{{ t | trim }}", ("PC101", 2)),
    "macro's default": ("{% macro stamp(t=now()) %}[{{ t }}]{% endmacro %}\n{{ stamp() }}", ("PC101", 2)),
    "macro of a macro": (
        "{% macro a() %}{{ now() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}\n{{ b() | upper }}",
        ("PC101", 2),
    ),
    "macro in a text": ("{% macro a() %}{{ now() }}{% endmacro %}\n{{ 'at ' ~ a() }}", ("PC101", 2)),
    "namespace": ("{% set ns = namespace(t=now(), n=1) %}\n{{ ns.t }}", ("PC101", 2)),
    "namespace set in a loop": (
        "{% set ns = namespace(t='') %}{% for x in y %}{% set ns.t = now() %}{% endfor %}\n{{ ns.t }}",
        ("PC101", 2),
    ),
    "mapping": ("{% set d = {'t': now(), 'n': 1} %}\n{{ d['t'] }}", ("PC101", 2)),
    "filter of the word now": ("{{ 'now' | date('H:i') }}", ("PC101", 1)),
    "format alone": ("{{ '%Y-%m-%d %H:%M' | strftime }}", ("PC101", 1)),
    "format of a date alone": ("{{ '%Y-%m-%d' | strftime }}", ("PC109", 1)),
    "tag now": ("a\n{% now 'H:i' %}", ("PC101", 2)),
    "before the conversation": (
        "{{ now() }}\n{% for m in messages %}{{ m.content }}{% endfor %}",
        ("PC101", 1),
    ),
    "in each message": ("{% for m in messages %}\n{{ now() }} {{ m.content }}{% endfor %}", ("PC101", 2)),
    "behind what the system says": (
        OF_ROLE.format("==") + "\n{{ now() }}" + OF_ROLE.format("!="),
        ("PC101", 2),
    ),
    "behind the first two messages": (
        "{% for m in messages[:2] %}{{ m.content }}{% endfor %}\n{{ now() }}",
        ("PC101", 2),
    ),
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
    "other member of a namespace": "{% set ns = namespace(t=now(), n=1) %}{{ ns.n }}",
    "other member of a mapping": "{% set d = {'t': now(), 'n': 1} %}{{ d.n }} {{ d['n'] }}",
    "namespace set anew": "{% set ns = namespace(t=now()) %}{% set ns.t = 'noon' %}{{ ns.t }}",
    "macro's default not used": "{% macro stamp(t=now()) %}[{{ t }}]{% endmacro %}{{ stamp('noon') }}",
    "format of a fixed moment": "{{ '%H:%M' | strftime(released) }}",
    "filter of another word": "{{ '2024-05-01' | date('Y-m-d') }}",
    "clock behind the conversation": "{% for m in messages %}{{ m.content }}{% endfor %}\nIt is {{ now() }}.",
    "clock behind the history": (
        "{% if history %}{% for turn in history[-6:] %}{{ turn.text }}{% endfor %}{% endif %}"
        " It is {{ now() }}."
    ),
    "clock behind what was said": (
        "{% for message in chat_history %}{% if message.role == 'user' %}Q: {{ message['content'] }}"
        "{% else %}A: {{ message['content'] }}{% endif %}{% endfor %}{{ now() }}"
    ),
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
    assert ("prompts/clock.j2", "PC101", 1) in found
    assert ("prompts/system.j2", "PC102", 3) in found


BASE = "You are a clerk.\n{{% block head %}}{}{{% endblock %}}" + STATIC


@pytest.mark.parametrize(
    ("base", "block", "place"),
    [
        ("", "Now {{ now() }}", ("system.j2", "PC101", 2)),
        ("Ada", "{{ super() }} {{ now() }}", ("system.j2", "PC101", 2)),
        ("{{ now() }}", "{{ super() }} Ada", ("base.j2", "PC101", 2)),
        ("Ada", "{% from 'm.j2' import stamp %}{{ stamp() }}", ("system.j2", "PC101", 2)),
    ],
)
def test_a_template_that_extends_another(tree_codes, base, block, place):
    files = {
        "base.j2": BASE.format(base),
        "system.j2": "{% extends 'base.j2' %}\n{% block head %}" + block + "{% endblock %}\n",
        "m.j2": "{% macro stamp() %}{{ now() }}{% endmacro %}",
    }
    assert tree_codes(files) == [place]


@pytest.mark.parametrize("block", ["Ada", "{{ company }}", "{# {{ now() }} #}"])
def test_a_template_that_extends_another_and_is_clean(tree_codes, block):
    files = {
        "base.j2": BASE.format("Ada"),
        "system.j2": "{% extends 'base.j2' %}{% block head %}" + block + "{% endblock %}{{ now() }}",
    }
    assert tree_codes(files) == []


def test_blocks_of_three_templates(tree_codes):
    files = {
        "base.j2": BASE.format("Ada"),
        "middle.j2": "{% extends 'base.j2' %}{% block head %}{{ super() }}, a clerk{% endblock %}",
        "system.j2": "{% extends 'middle.j2' %}\n{% block head %}{{ super() }} {{ uuid4() }}{% endblock %}",
    }
    assert tree_codes(files) == [("system.j2", "PC102", 2)]


CHILDREN = {
    "base.j2": BASE.format("{{ now() }}"),
    "clerk.j2": "{% extends 'base.j2' %}{% block head %}Ada{% endblock %}",
    "cook.j2": '{% extends "./base.j2" %}{%- block head -%}Bob{% endblock %}',
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, False),
        ({"base.j2": BASE.format("{{ now() }}") + "{{ uuid4() }}"}, False),
        ({"cook.j2": "{% extends 'base.j2' %}{% block foot %}Bob{% endblock %}"}, True),
        ({"cook.j2": "{% extends 'base.j2' %}{% block head %}{{ super() }} Bob{% endblock %}"}, True),
        ({"cook.j2": "{% extends 'base.j2' %}{# {% block head %}Bob{% endblock %} #}"}, True),
        (
            {
                "cook.j2": "{% extends 'base.j2' %}",
                "a.j2": "{% extends 'cook.j2' %}{% block head %}A{% endblock %}",
            },
            False,
        ),
        (
            {"clerk.j2": "Ada", "cook.j2": "{% extends 'other/base.j2' %}{% block head %}Bob{% endblock %}"},
            True,
        ),
    ],
)
def test_a_block_that_all_write_anew_is_not_told_at_the_base(tree_codes, changed, told):
    found = [code for path, code, _ in tree_codes(CHILDREN | changed) if path == "base.j2"]
    assert ("PC101" in found) is told


def test_what_several_templates_include_is_told_once(tree_codes):
    files = {
        "prompts/a.j2": "You are a clerk.\n{% include 'prompts/head.j2' %}" + STATIC,
        "prompts/b.j2": "You are a nurse.\n{% include 'prompts/head.j2' %}" + STATIC,
        "prompts/head.j2": "Desk 4.\nTime: {{ now() }}\n",
    }
    assert tree_codes(files) == [("prompts/head.j2", "PC101", 2)]


def test_a_template_is_known_by_what_follows_its_definitions(tree_codes):
    text = "{% macro stamp() %}{{ now() }}{% endmacro %}\n{% set a %}x{% endset %}{{ stamp() }}" + STATIC
    assert tree_codes({"desk.j2": text}) == [("desk.j2", "PC101", 2)]


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


@pytest.mark.parametrize("mark", ["{% macro x ", "{{ x "])
def test_many_tags_that_nothing_closes_are_read_in_one_go(codes, mark):
    assert [code for code, _ in codes("You are a clerk.\n" + mark * 20_000, "prompt.j2")] == ["PC900"]
