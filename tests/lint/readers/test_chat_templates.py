"""Chat templates are rendered over made-up conversations; only a real rewriting of history is a fault."""

from __future__ import annotations

import json

import pytest

from promptcache_lint import Settings, Severity, lint_text
from promptcache_lint.places import Place
from promptcache_lint.readers import chat_turns
from promptcache_lint.readers.chat_templates import is_chat_template, judge_chat_template

PLACE = Place("chat_template.jinja", 1, 1, 1, 2)
ASK = "{% if add_generation_prompt %}<assistant>{% endif %}"
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}" + ASK


def judged(template):
    return {practice.code for practice in judge_chat_template(template, PLACE)}


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(PLAIN.replace("m.content", "m.content.strip()"), id="trims what we do not send"),
        pytest.param(
            "{% for m in messages %}{{ '[Q]' if m.role == 'user' else '[A] ' }}{{ m.content }}{% endfor %}",
            id="asks for nothing",
        ),
        pytest.param("{{ tools | tojson if tools }}" + PLAIN, id="tools in front"),
        pytest.param(
            "{% if messages[0].role == 'x' %}{{ raise_exception('no') }}{% endif %}" + PLAIN, id="refuses"
        ),
        pytest.param(
            "{% for m in messages %}{{ raise_exception('never') }}{% endfor %}", id="refuses everything"
        ),
        pytest.param("{% for m in messages %}{{ m.content ", id="does not compile"),
        pytest.param(
            "{% for m in messages %}<{{ m.role }}>"
            "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n"
            "</think>{% endif %}{{ m.content }}<end>{% endfor %}" + ASK,
            id="keeps reasoning",
        ),
    ],
)
def test_silent(template):
    assert judged(template) == set()


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(PLAIN.replace("<end>", "{{ '*' if loop.last }}<end>"), id="marks the last"),
        pytest.param(
            "{% for m in messages %}{% if loop.last and tools %}{{ tools | tojson }}{% endif %}"
            "<{{ m.role }}>{{ m.content }}<end>{% endfor %}" + ASK,
            id="tools before the last",
        ),
        pytest.param("{{ messages | length }} messages\n" + PLAIN, id="counts"),
        pytest.param(
            PLAIN.replace("<assistant>{% endif %}", "<model>{% endif %}"), id="asks in another form"
        ),
        pytest.param(
            "{% for m in messages[-2:] %}<{{ m.role }}>{{ m.content }}{% endfor %}" + ASK, id="window"
        ),
    ],
)
def test_rewrites_history(template):
    assert judged(template) == {"PC508"}


def test_reasoning_of_earlier_turns_is_cut():
    template = (
        "{% for m in messages %}<{{ m.role }}>"
        "{% if m.role == 'assistant' and not loop.last %}{{ m.content.split('</think>')[-1] }}"
        "{% else %}{{ m.content }}{% endif %}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant><think>\n{% endif %}"
    )
    assert "PC505" in judged(template)


def test_a_prompt_is_no_chat_template():
    assert is_chat_template(PLAIN)
    assert not is_chat_template("You are a clerk. {% for rule in rules %}{{ rule }}{% endfor %}")


def test_a_document_that_shows_a_chat_template_is_none():
    assert not is_chat_template(f"# Messages\n\n```jinja\n{PLAIN}\n```\n")
    assert is_chat_template(PLAIN + "{% if tools %}\n```\n{{ tools }}\n```\n{% endif %}")


CLOCKED = (
    "{%- set today = strftime_now(FORMAT) -%}"
    "<|system|>Today: {{ today }}\n"
    "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content }}<|end|>{%- endfor -%}"
    "{%- if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('"%d %B %Y %H:%M"', [("PC101", Severity.ERROR)]),
        ('"%d %B %Y"', [("PC109", Severity.WARNING)]),
        ('"%B %Y"', []),
        ("date_format", [("PC101", Severity.ERROR)]),
    ],
)
def test_the_clock_of_a_chat_template(form, expected):
    template = CLOCKED.replace("FORMAT", form)
    config = json.dumps({"bos_token": "<s>", "chat_template": template}, indent=1)
    named = json.dumps({"chat_template": [{"name": "default", "template": template}]}, indent=1)
    for name, text, row in (
        ("chat_template.jinja", template, 1),
        ("tokenizer_config.json", config, 3),
        ("tokenizer_config.json", named, 5),
    ):
        found = [
            (finding.code, finding.severity, finding.place.row)
            for finding in lint_text(text, name, Settings()).findings
        ]
        assert found == [(code, severity, row) for code, severity in expected]


def test_a_chat_template_that_cannot_be_parsed_has_no_clock():
    broken = "{% for m in messages %}{{ strftime_now('%H') }}{% if add_generation_prompt %}"
    report = lint_text(json.dumps({"chat_template": broken}), "tokenizer_config.json", Settings())
    assert report.findings == ()


GROWN = "{% set n = namespace(s=['a']) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}"
ENDLESS = [
    "{% for m in messages %}{% set x = 9 ** 3000000 %}{% endfor %}",
    "{{ 'a' * 2000000000 }}",
    "{% set n = namespace(s='aa') %}{% for i in range(40) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
]


@pytest.mark.parametrize("start", ENDLESS)
def test_a_chat_template_that_computes_without_end_is_told_and_no_more(start):
    clock = "{{ strftime_now('%H:%M') }}"
    for name, text in (
        ("chat_template.jinja", start + clock + PLAIN),
        ("tokenizer_config.json", json.dumps({"chat_template": start + clock + PLAIN})),
    ):
        report = lint_text(text, name, Settings())
        assert {finding.code for finding in report.findings} == {"PC101", "PC900"}
        told = next(finding for finding in report.findings if finding.code == "PC900")
        assert (told.severity, "more steps or memory" in told.message) == (Severity.WARNING, True)
        silent = lint_text(text, name, Settings(ignore=("PC900",)))
        assert {finding.code for finding in silent.findings} == {"PC101"}


def test_what_no_budget_can_count_is_ended_by_the_system(monkeypatch):
    pytest.importorskip("resource")
    monkeypatch.setattr(chat_turns, "SECONDS", 1)
    equal = GROWN + "{% set first = n.s %}" + GROWN + "{% if first == n.s %}same{% endif %}"
    assert judged(equal + PLAIN) == {"PC900"}


def test_a_module_of_the_folder_we_stand_in_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "jinja2.py").write_text("raise SystemExit(3)")
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert judged(PLAIN) == set()


def test_without_processes_it_is_not_judged(monkeypatch):
    monkeypatch.setattr("sys.executable", "")
    assert judged("{{ messages | length }}" + PLAIN) == set()
    monkeypatch.setattr("sys.executable", "/no/such/python")
    assert judged("{{ messages | length }}" + PLAIN) == set()
