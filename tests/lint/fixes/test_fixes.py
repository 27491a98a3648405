"""Fixes: what each changes, that it is tried first, and that nothing else changes."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
import yaml

from promptcache_lint import Settings, Severity, lint_paths
from promptcache_lint.cli import main

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."


@pytest.fixture
def fixed(tmp_path, monkeypatch, capsys):
    """``fixed(text, name)``: the text after ``--fix`` with further options."""
    monkeypatch.chdir(tmp_path)

    def run(text, name="agent.py", *options):
        path = tmp_path / name
        path.write_text(dedent(text), encoding="utf-8")
        main([name, "--fix", *options])
        capsys.readouterr()
        return path.read_text(encoding="utf-8")

    return run


def prompt(expression, head="import json, orjson, glob, os"):
    body = f"    return '{RULES} ' + {expression} + ' Be kind to all.'"
    return f"{head}\n\n\ndef system_prompt(profile, words):\n{body}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("json.dumps(profile)", "json.dumps(profile, sort_keys=True)"),
        ("json.dumps(profile, indent=2)", "json.dumps(profile, indent=2, sort_keys=True)"),
        ("json.dumps(profile, indent=2,)", "json.dumps(profile, indent=2, sort_keys=True,)"),
        ("json.dumps(profile, sort_keys=False)", "json.dumps(profile, sort_keys=True)"),
        ("json.dumps((profile))", "json.dumps((profile), sort_keys=True)"),
        ("orjson.dumps(profile).decode()", "orjson.dumps(profile, option=orjson.OPT_SORT_KEYS).decode()"),
        (
            "orjson.dumps(profile, option=orjson.OPT_INDENT_2).decode()",
            "orjson.dumps(profile, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()",
        ),
        ("f'{json.dumps(profile)}'", "f'{json.dumps(profile, sort_keys=True)}'"),
        ("'ü😀' + json.dumps(profile)", "'ü😀' + json.dumps(profile, sort_keys=True)"),
        ("', '.join(set(words))", "', '.join(sorted(set(words)))"),
        ("', '.join({'a', 'b'})", "', '.join(sorted({'a', 'b'}))"),
        ("', '.join(w.upper() for w in set(words))", "', '.join(w.upper() for w in sorted(set(words)))"),
        ("' '.join(glob.glob('*.md'))", "' '.join(sorted(glob.glob('*.md')))"),
        ("' '.join(os.listdir('skills'))", "' '.join(sorted(os.listdir('skills')))"),
    ],
)
def test_orders_in_python(fixed, before, after):
    assert fixed(prompt(before)) == prompt(after)


def test_the_loop_is_sorted_and_not_the_set(fixed):
    text = f"""
        ALLOWED = {{"read", "write"}}


        def system_prompt():
            lines = "{RULES} You may use: "
            for name in ALLOWED:
                lines += name + ", "
            return lines + "and nothing else at all."
        """
    after = fixed(text)
    assert "for name in sorted(ALLOWED):" in after
    assert 'ALLOWED = {"read", "write"}' in after


@pytest.mark.parametrize(
    "expression", ["json.dumps(profile, **words)", "json.dumps(*words)", "orjson.dumps(**words)"]
)
def test_calls_that_cannot_be_read_stay(fixed, expression):
    assert fixed(prompt(expression)) == prompt(expression)


PYTHON_REQUEST = """\
    from datetime import datetime

    import openai


    def ask(client: openai.OpenAI, question: str):
        now = datetime.now()
        return client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": f"You are a clerk.\\nIt is {now}.\\nBe brief and polite."},
                {"role": "user", "content": question},
            ],
        )
    """


def test_a_line_is_moved_only_when_asked(fixed):
    assert fixed(PYTHON_REQUEST) == dedent(PYTHON_REQUEST)
    after = fixed(PYTHON_REQUEST, "agent.py", "--unsafe-fixes")
    assert 'f"You are a clerk.\\nBe brief and polite."' in after
    assert '"content": question + f"\\n\\nIt is {now}."' in after


def test_no_line_is_moved_into_another_function(fixed):
    text = dedent(PYTHON_REQUEST).replace(
        'f"You are a clerk.\\nIt is {now}.\\nBe brief and polite."', "system_prompt()"
    )
    text += (
        "\n\ndef system_prompt():\n    now = datetime.now()\n"
        '    return f"You are a clerk.\\nIt is {now}.\\nBe brief and polite to all."\n'
    )
    assert fixed(text, "agent.py", "--unsafe-fixes") == text


YAML = """\
- role: system
  content: |
    You are a clerk.
{}    Be brief.
- role: user
  content: |
    {{{{question}}}}
{}"""
MOVED = {
    "a.prompt": (
        "system:\nYou are a clerk.\n{}Be brief and polite.\nuser:\n{{{{question}}}}\n{}",
        "It is {{now}}.\n",
    ),
    "a.yaml": (
        YAML,
        "    It is {{now}}.\n",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_lines_in_files_of_prompts(fixed, name):
    text, line = MOVED[name]
    before, after = text.format(line, ""), text.format("", line)
    assert fixed(before, name) == before
    assert fixed(before, name, "--unsafe-fixes") == after


def test_a_line_inside_a_json_string(fixed):
    def request(system, user):
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return json.dumps({"messages": messages})

    before = request("You are a clerk.\nIt is {now}.\nBe brief and polite.", "{question}")
    assert fixed(before, "a.json") == before
    after = request("You are a clerk.\nBe brief and polite.", "{question}\nIt is {now}.")
    assert fixed(before, "a.json", "--unsafe-fixes") == after


def test_a_line_inside_a_condition_stays(fixed):
    text = (
        "system:\nYou are a clerk.\n{% if late %}\nIt is {{ now() }}.\n{% endif %}\nBe brief to all.\n"
        "user:\n{{ question }}\n"
    )
    assert fixed(text, "a.prompt", "--unsafe-fixes") == text


def test_line_ends_and_mark_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "agent.py"
    path.write_bytes(b"\xef\xbb\xbf" + prompt("json.dumps(profile)").replace("\n", "\r\n").encode())
    main(["agent.py", "--fix"])
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfimport")
    assert data.count(b"\r\n") == data.count(b"\n") == 5
    assert b"sort_keys=True" in data


def test_mixed_line_ends_are_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = b"# one\r\n" + prompt("json.dumps(profile)").encode()
    (tmp_path / "agent.py").write_bytes(data)
    assert main(["agent.py", "--fix"]) == 1
    assert (tmp_path / "agent.py").read_bytes() == data
    assert "line ends are of both kinds" in capsys.readouterr().err


def test_diff_changes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(prompt("json.dumps(profile)"))
    assert main(["agent.py", "--diff"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("--- a/agent.py\n+++ b/agent.py\n@@")
    assert "+    return" in out
    assert err == "Would fix 1 in 1 file.\n"
    assert (tmp_path / "agent.py").read_text() == prompt("json.dumps(profile)")


def test_status_after_fixing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(prompt("json.dumps(profile)"))
    assert main(["agent.py", "--fix"]) == 0
    assert "Fixed 1 in 1 file." in capsys.readouterr().err


def test_what_is_selected_out_is_not_fixed(fixed):
    assert fixed(prompt("json.dumps(profile)"), "agent.py", "--ignore", "PC201") == prompt(
        "json.dumps(profile)"
    )


def test_json_carries_the_fix(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(prompt("json.dumps(profile)"))
    main(["agent.py", "--output-format", "json"])
    (item,) = json.loads(capsys.readouterr().out)
    (edit,) = item["fix"]["edits"]
    assert item["fix"]["applicability"] == "safe"
    assert edit["content"] == ", sort_keys=True"
    assert edit["location"] == edit["end_location"]


def test_every_fix_that_is_offered_works(tmp_path, monkeypatch):
    """Whatever has a fix has it gone after the fix, and nothing else comes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(
        prompt(
            "json.dumps(profile) + ' '.join(set(words)) + json.dumps(profile.more) + ' '.join(glob.glob('*'))"
        )
    )
    before = lint_paths(["agent.py"], Settings(severity=Severity.INFO, fixes=True)).findings
    assert len(before) == 4
    assert all(finding.fix is not None and finding.fix.safe for finding in before)
    main(["agent.py", "--fix"])
    assert lint_paths(["agent.py"], Settings(severity=Severity.INFO)).findings == ()


TEMPLATES = {
    "{% for name, text in tools.items() %}": "{% for name, text in tools|dictsort %}",
    "{%- for name, text in tools.items() -%}": "{%- for name, text in tools|dictsort -%}",
    "{% for name, text in agent.tools | items %}": "{% for name, text in agent.tools|dictsort %}",
}


@pytest.mark.parametrize("loop", TEMPLATES)
def test_orders_in_templates(fixed, loop):
    inner = "\n- {{ name }}: {{ text }}\n{% endfor %}\nAlways answer in the language of the user.\n"
    after = fixed(f"{RULES}\n{loop}{inner}", "prompt.j2")
    assert after == f"{RULES}\n{TEMPLATES[loop]}{inner}"


QUOTED = """\
messages:
- role: system
  content: |
    You are a clerk.
{}    Be brief.
- role: user
  content: {}
"""


def test_a_line_moves_behind_a_scalar_in_double_quotes(fixed):
    line = '    It is {{now}} in "C:\\dir".\n'
    before = QUOTED.format(line, '"{{question}}"')
    assert fixed(before, "a.yaml") == before
    after = fixed(before, "a.yaml", "--unsafe-fixes")
    assert after == QUOTED.format("", '"{{question}}\\nIt is {{now}} in \\"C:\\\\dir\\"."')
    said = yaml.safe_load(after)["messages"][1]["content"]
    assert said == "{{question}}\n" + line.strip()


@pytest.mark.parametrize("scalar", ["'{{question}}'", "Answer {{question}}"])
def test_no_line_moves_behind_another_scalar_in_the_row_of_its_key(fixed, scalar):
    before = QUOTED.format("    It is {{now}}.\n", scalar)
    assert fixed(before, "a.yaml", "--unsafe-fixes") == before
