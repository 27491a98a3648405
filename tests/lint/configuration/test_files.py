"""Configuration files: which one holds, what each key does, and what a wrong one is answered with."""

from __future__ import annotations

import json

import pytest

from promptcache_lint import Settings
from promptcache_lint.cli import main
from promptcache_lint.configuration import SettingsTree

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."
CLOCK = f"import time\n\n\ndef system_prompt():\n    return f'It is {{time.time()}}. {RULES}'\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(CLOCK)
    return tmp_path


def found(capsys, *argv):
    status = main([*argv, "--output-format", "json", "--no-cache"])
    captured = capsys.readouterr()
    assert status in {0, 1}, captured.err
    return sorted((item["filename"], item["code"]) for item in json.loads(captured.out))


def pyproject(folder, text):
    (folder / "pyproject.toml").write_text(f"[tool.promptcache.lint]\n{text}\n")


def test_without_configuration(tree, capsys):
    assert found(capsys, ".") == [("agent.py", "PC101")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select = ["PC2"]', []),
        ('ignore = ["PC101"]', []),
        ('ignore = ["PC2"]', [("agent.py", "PC101")]),
        ('exclude = ["agent.py"]', []),
        ('exclude = ["/other"]', [("agent.py", "PC101")]),
        ('per-file-ignores = {"agent*" = ["PC1"]}', []),
        ('per-file-ignores = {"src/**" = ["PC1"]}', [("agent.py", "PC101")]),
        ('static-names = ["time.time"]', []),
        ("", [("agent.py", "PC101")]),
    ],
)
def test_keys(tree, capsys, text, expected):
    pyproject(tree, text)
    assert found(capsys, ".") == expected


def test_promptcache_toml_goes_before_pyproject(tree, capsys):
    pyproject(tree, 'ignore = ["PC101"]')
    (tree / "promptcache.toml").write_text("[lint]\n[serve]\nport = 1\n")
    assert found(capsys, ".") == [("agent.py", "PC101")]
    (tree / "promptcache.toml").write_text("[serve]\nport = 1\n")
    assert found(capsys, ".") == []


def test_promptcache_toml_may_begin_with_a_byte_order_mark(tree, capsys):
    (tree / "promptcache.toml").write_text('[lint]\nignore = ["PC1"]\n', encoding="utf-8-sig")
    assert found(capsys, ".") == []


def test_a_pyproject_without_the_table_does_not_hide_the_one_above(tree, capsys):
    pyproject(tree, 'ignore = ["PC101"]')
    (tree / "inner").mkdir()
    (tree / "inner" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tree / "inner" / "agent.py").write_text(CLOCK)
    assert found(capsys, ".") == []


def test_nested_configuration_holds_below_it_only(tree, capsys):
    pyproject(tree, "")
    (tree / "inner").mkdir()
    (tree / "inner" / "agent.py").write_text(CLOCK)
    pyproject(tree / "inner", 'ignore = ["PC101"]')
    assert found(capsys, ".") == [("agent.py", "PC101")]
    assert found(capsys, "inner/agent.py") == []


def test_the_command_line_goes_before_the_file(tree, capsys):
    pyproject(tree, 'ignore = ["PC101"]\nexclude = ["a*"]')
    assert found(capsys, "agent.py", "--ignore", "PC102") == [("agent.py", "PC101")]
    assert found(capsys, ".", "--ignore", "PC102", "--exclude", "b*") == []
    assert found(capsys, ".", "--isolated") == [("agent.py", "PC101")]


def test_named_configuration_holds_everywhere(tree, capsys):
    (tree / "strict.toml").write_text('[lint]\nselect = ["PC2"]\n')
    assert found(capsys, ".", "--config", "strict.toml") == []


def test_declared_source_and_name(tree, capsys):
    (tree / "agent.py").write_text(
        f"from acme.clock import stamp\n\n\ndef system_prompt():\n    return f'It is {{stamp()}}. {RULES}'\n"
    )
    (tree / "prompt.txt").write_text(f"Shift {{shift_code}}. {RULES}\n")
    assert found(capsys, ".") == []
    pyproject(tree, 'sources = {"acme.clock.stamp" = "PC101"}\nvolatile-names = {shift_code = "PC102"}')
    assert found(capsys, ".") == [("agent.py", "PC101"), ("prompt.txt", "PC102")]


@pytest.mark.parametrize("sink", ["acme.llm.ask", ".ask"])
def test_declared_sink(tree, capsys, sink):
    (tree / "agent.py").write_text(
        "import time\n\nfrom acme.llm import ask\n\n\ndef answer(question):\n"
        f"    return ask(f'It is {{time.time()}}. {RULES}', question)\n".replace("You are", "Be")
    )
    assert found(capsys, ".") == []
    pyproject(tree, f'sinks = ["{sink}"]')
    assert found(capsys, ".") == [("agent.py", "PC101")]


def test_declared_source_behind_a_helper_of_another_module(tree, capsys):
    (tree / "agent.py").write_text(
        f"from lines import head\n\n\ndef system_prompt():\n    return head() + '{RULES}'\n"
    )
    (tree / "lines.py").write_text(
        "from acme.clock import stamp\n\n\ndef head():\n    value = stamp()\n    return value\n"
    )
    assert found(capsys, ".") == []
    pyproject(tree, 'sources = {"acme.clock.stamp" = "PC101"}')
    assert found(capsys, ".") == [("agent.py", "PC101")]


@pytest.mark.parametrize("name", ["now", "NOW", "n.w"])
def test_static_name(tree, capsys, name):
    (tree / "system.txt").write_text(f"It is {{now}}. {RULES}\n")
    pyproject(tree, f'static-names = ["{name}"]')
    assert found(capsys, "system.txt") == ([("system.txt", "PC101")] if name == "n.w" else [])


def test_static_name_as_a_pattern(tree, capsys):
    (tree / "system.txt").write_text(f"It is {{now}}. {RULES}\n")
    pyproject(tree, 'static-names = ["no[wv]"]')
    assert found(capsys, "system.txt") == []


@pytest.mark.parametrize(
    ("text", "key", "remedy"),
    [
        ('selct = ["PC1"]', "tool.promptcache.lint.selct", "Did you mean 'select'?"),
        ('select = "PC1"', "tool.promptcache.lint.select", "Write for example"),
        ('select = ["PC1", "XY"]', "tool.promptcache.lint.select", "promptcache rule"),
        ("respect-gitignore = 1", "tool.promptcache.lint.respect-gitignore", "without quotes"),
        ('severity = "fatal"', "tool.promptcache.lint.severity", '"warning"'),
        ('per-file-ignores = {"a" = "PC1"}', 'tool.promptcache.lint.per-file-ignores."a"', "list"),
        ('sources = {"a.b" = "PC805"}', 'tool.promptcache.lint.sources."a.b"', "PC101"),
        ('volatile-names = {"a(" = "PC101"}', "tool.promptcache.lint.volatile-names", "Correct the pattern"),
        ("baseline = 3", "tool.promptcache.lint.baseline", "relative to this file"),
    ],
)
def test_a_wrong_key_names_file_key_and_remedy(tree, capsys, text, key, remedy):
    pyproject(tree, text)
    assert main(["."]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"pyproject.toml: {key}: " in err
    assert remedy in err


@pytest.mark.parametrize("text", ["[tool.promptcache\n", "[tool]\npromptcache = 3\n", "tool = 1\n"])
def test_a_broken_file_exits_2(tree, capsys, text):
    (tree / "pyproject.toml").write_text(text)
    assert main(["."]) == 2
    assert "pyproject.toml" in capsys.readouterr().err


def test_missing_or_empty_named_configuration(tree, capsys):
    assert main([".", "--config", "nowhere.toml"]) == 2
    (tree / "empty.toml").write_text("")
    assert main([".", "--config", "empty.toml"]) == 2
    assert "Write [lint]" in capsys.readouterr().err


def test_settings_of_a_folder_are_one_object(tree):
    pyproject(tree, 'ignore = ["PC101"]')
    settings = SettingsTree()
    assert settings.folder(tree) is settings.folder(tree / "a" / "b")
    assert isinstance(settings.folder(tree.parent), Settings)


def test_force_exclude_treats_named_files_as_found(tree, capsys):
    pyproject(tree, 'exclude = ["agent.py"]')
    (tree / "README.md").write_text(f"It is {{now}}. {RULES}\n")
    names = ["agent.py", "README.md"]
    assert found(capsys, *names) == [("README.md", "PC101"), ("agent.py", "PC101")]
    assert found(capsys, *names, "--force-exclude") == []


AGENT_TS = f"""\
import {{ stamp }} from "@acme/clock";

export function systemPrompt() {{
  return `It is ${{stamp()}}. {RULES}`;
}}
"""
ASK_TS = """\
import { ask } from "@acme/llm";

export async function answer(question) {
  return ask({ persona: `It is ${Date.now()}. Be brief and polite, never promise a thing.`, question });
}
"""


@pytest.fixture
def web(tree):
    """A tree without any other code than TypeScript."""
    pytest.importorskip("tree_sitter_typescript")
    (tree / "agent.py").unlink()
    return tree


@pytest.mark.parametrize("source", ["@acme/clock.stamp", "stamp", ".stamp"])
def test_declared_source_in_typescript(web, capsys, source):
    (web / "agent.ts").write_text(AGENT_TS)
    assert found(capsys, ".") == []
    pyproject(web, f'sources = {{"{source}" = "PC101"}}')
    assert found(capsys, ".") == [("agent.ts", "PC101")]


def test_declared_source_behind_a_helper_in_typescript(web, capsys):
    helper = (
        'import * as clock from "@acme/clock";\nexport function head() { const v = clock.stamp(); return v; }'
    )
    (web / "lines.ts").write_text(helper)
    (web / "agent.js").write_text(
        f'import {{ head }} from "./lines";\nexport const systemPrompt = () => head() + "{RULES}";\n'
    )
    assert found(capsys, ".") == []
    pyproject(web, 'sources = {"@acme/clock.stamp" = "PC101"}')
    assert found(capsys, ".") == [("agent.js", "PC101")]


@pytest.mark.parametrize("sink", ["@acme/llm.ask", "ask", ".ask"])
@pytest.mark.parametrize("given", ["an option", "an argument"])
def test_declared_sink_in_typescript(web, capsys, sink, given):
    text = (
        ASK_TS
        if given == "an option"
        else ASK_TS.replace("{ persona: ", "").replace(" question }", "question")
    )
    (web / "agent.ts").write_text(text.replace("persona", "voice"))
    assert found(capsys, ".") == []
    pyproject(web, f'sinks = ["{sink}"]')
    assert found(capsys, ".") == [("agent.ts", "PC101")]


def test_declared_static_and_volatile_names_in_typescript(web, capsys):
    (web / "agent.ts").write_text(
        f"export function systemPrompt(shiftCode, currentTime) {{\n"
        f"  return `Shift ${{shiftCode}}, ${{currentTime}}, ${{crypto.randomUUID()}}. {RULES}`;\n}}\n"
    )
    assert found(capsys, ".") == [("agent.ts", "PC101"), ("agent.ts", "PC102")]
    pyproject(
        web,
        'volatile-names = {shift_code = "PC107"}\nstatic-names = ["current_time", "crypto.randomUUID"]',
    )
    assert found(capsys, ".") == [("agent.ts", "PC107")]
