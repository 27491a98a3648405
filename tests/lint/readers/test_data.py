"""JSON, YAML and TOML prompt files: shapes, places, and data that is none of ours."""

from __future__ import annotations

import json

import pytest

from promptcache_lint import lint_text
from promptcache_lint.errors import UnreadableFileError
from promptcache_lint.readers.json_tree import parse_json
from promptcache_lint.readers.tree import Entries, Items, Scalar

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."


def test_anthropic_breakpoint_protects_what_stands_behind_it(codes):
    body = {
        "model": "m",
        "system": [
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "It is {now}."},
        ],
        "messages": [{"role": "user", "content": "{question}"}],
    }
    assert codes(json.dumps(body, indent=1), "request.json") == []
    body["system"].reverse()
    assert [code for code, _ in codes(json.dumps(body, indent=1), "request.json")] == ["PC101"]


def test_tools_come_first(codes):
    body = {
        "tools": [{"name": "t", "description": "Prices as of {now}."}],
        "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": "{q}"}],
    }
    assert [code for code, _ in codes(json.dumps(body), "request.json")] == ["PC101"]


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("a.yaml", f"prompts:\n  - |\n    It is {{{{now}}}}.\n    {RULES}\n", 3),
        ("a.yaml", f"messages:\n  - role: system\n    content: >-\n      It is {{now}}. {RULES}\n", 4),
        ("a.yaml", f"template: x\nsystem_prompt: 'It is {{now}}. {RULES}'\n", 2),
        ("a.yaml", f"- [system, 'It is {{now}}. {RULES}']\n- [human, '{{question}} {{now}}']\n", 1),
        ("a.toml", f'[prompts]\nclerk = """\nIt is {{now}}.\n{RULES}"""\n', 3),
        ("a.json", '{"prompts": {"clerk": "It is ${now}. ' + RULES + '"}}', 1),
        ("prompts.json", '{\n"clerk": "It is ${now}. ' + RULES + '"}', 2),
    ],
)
def test_shapes(codes, name, text, row):
    assert codes(text, name) == [("PC101", row)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ci.yml", "on: push\njobs:\n  a:\n    env:\n      TIME: ${{ now }}\n    system: linux\n"),
        ("compose.yaml", "services:\n  x:\n    command: run ${now} {hostname}\n"),
        ("data.json", '{"time": "{now}", "log": ["{uuid}"]}'),
        ("k8s.yaml", "a: &x [1]\nb: *x\n---\nc: 2\n"),
    ],
)
def test_other_data_is_silent(codes, name, text):
    assert codes(text, name) == []


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("a.json", '{"a": 1,\n "b" 2}', 2),
        ("a.json", "", 1),
        ("a.yaml", "a: [1\nb: 2\n", 2),
        ("a.toml", "a = \n", 1),
        ("a.yaml", "a: &x\n  b: *x\n", 1),
    ],
)
def test_syntax_errors(codes, name, text, row):
    assert codes(text, name) == [("PC900", row)]


def test_column_in_json_with_escapes():
    text = '{"system": "\\u00dcber \\"alles\\": {now}. ' + RULES + '"}'
    (finding,) = lint_text(text, "a.json").findings
    assert finding.place.column == text.index("{now}") + 1


def plain(node):
    match node:
        case Scalar(value):
            return value
        case Items(items):
            return [plain(item) for item in items]
        case Entries(pairs):
            return {key: plain(value) for key, value in pairs}


@pytest.mark.parametrize(
    "value", [{}, [], [1, -2.5, 1e3, True, None], {"a": {"b": ["😀", "\\", "\n"]}, "": [[]]}, "x", 0]
)
def test_json_scanner_agrees_with_json(value):
    for indent in (None, 2):
        assert plain(parse_json(json.dumps(value, indent=indent))) == value


@pytest.mark.parametrize("text", ["{", "[1", '"a', "{1: 2}", "[1 2]", "tru", "[1],", '"\\x"', "[" * 300])
def test_json_scanner_refuses(text):
    with pytest.raises(UnreadableFileError):
        parse_json(text)


RESPONSE = '{{"model": "gpt-5", "instructions": "Trace {}. You are a clerk. Be brief.", "input": "{}"}}'
ID = "7f9c2ba4-e88f-427d-a1c5-0f3c2d1b7a11"


@pytest.mark.parametrize(
    ("value", "asked", "expected"),
    [(ID, "hello", ["PC108"]), ("of thought", "hello", []), (ID, "{{question}}", [])],
)
def test_a_body_that_asks_in_words_was_sent(codes, value, asked, expected):
    assert [code for code, _ in codes(RESPONSE.format(value, asked), "a.json")] == expected


def test_a_text_among_prompts_that_speaks_to_a_model_is_one_whatever_its_name():
    text = '{"triage": "You triage tickets. Session: {session_id}. Answer in the language of the customer."}'
    assert [found.code for found in lint_text(text, "prompts/agents.json").findings] == ["PC102"]
    assert lint_text(text, "locales/agents.json").findings == ()
    label = '{"notice": "Your session {session_id} has ended."}'
    assert lint_text(label, "prompts/labels.json").findings == ()
