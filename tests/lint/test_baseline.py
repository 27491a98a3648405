"""A baseline keeps what is accepted out of the report, wherever its lines move, and nothing else."""

from __future__ import annotations

import json

import pytest

from promptcache_lint.cli import main

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."
FIRST = f"def system_prompt():\n    return f'It is {{time.time()}}. {RULES}'\n"
SECOND = f"def other_prompt():\n    return f'Id {{uuid.uuid4()}}. {RULES}'\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("import time, uuid\n\n\n" + FIRST)
    return tmp_path


def run(capsys, *argv):
    status = main([".", "--output-format", "concise", "--baseline", "base.json", *argv])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_created_then_silent_then_only_new(tree, capsys):
    status, out, err = run(capsys)
    assert (status, "Nothing found" in out, "accepted what is found now" in err) == (0, True, True)
    assert run(capsys)[0] == 0
    (tree / "agent.py").write_text("import time, uuid\n\n# moved\n\n\n" + SECOND + "\n\n" + FIRST)
    status, out, _ = run(capsys)
    assert status == 1
    assert "PC102" in out
    assert "PC101" not in out
    assert run(capsys, "--update-baseline")[0] == 0
    assert run(capsys)[0] == 0


def test_as_many_alike_as_were_accepted(tree, capsys):
    run(capsys)
    (tree / "agent.py").write_text(
        "import time, uuid\n\n\n" + FIRST + "\n\n" + FIRST.replace("system", "main_system")
    )
    assert run(capsys)[0] == 1


def test_what_is_gone_is_said(tree, capsys):
    run(capsys)
    (tree / "agent.py").write_text("")
    status, _, err = run(capsys)
    assert status == 0
    assert "no longer found: 1" in err


def test_a_run_on_one_file_speaks_for_that_file(tree, capsys):
    (tree / "other.py").write_text("import time, uuid\n\n\n" + SECOND)
    (tree / "third.py").write_text("import time, uuid\n\n\n" + SECOND)
    run(capsys)
    (tree / "agent.py").write_text("")
    (tree / "third.py").unlink()
    for options, said in ([], "no longer found: 1."), (["--update-baseline"], "accepted what is found now"):
        assert main(["agent.py", "--baseline", "base.json", *options]) == 0
        assert said in capsys.readouterr().err
    assert [entry["file"] for entry in json.loads((tree / "base.json").read_text())["findings"]] == [
        "other.py",
        "third.py",
    ]
    assert "no longer found: 1." in run(capsys)[2]
    run(capsys, "--update-baseline")
    assert run(capsys)[2] == ""


def test_holds_no_text_of_the_prompt(tree, capsys):
    run(capsys)
    text = (tree / "base.json").read_text()
    assert "clerk" not in text
    assert json.loads(text)["findings"][0]["file"] == "agent.py"


def test_same_from_another_folder(tree, capsys, monkeypatch):
    run(capsys)
    (tree / "inner").mkdir()
    monkeypatch.chdir(tree / "inner")
    assert main(["..", "--baseline", "../base.json", "--output-format", "json"]) == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"promptcache_baseline": 1, "findings": [3]}'])
def test_what_is_no_baseline_exits_2(tree, capsys, text):
    (tree / "base.json").write_text(text)
    status, _, err = run(capsys)
    assert status == 2
    assert "--update-baseline" in err


def test_a_configured_baseline_must_exist(tree, capsys):
    (tree / "pyproject.toml").write_text('[tool.promptcache.lint]\nbaseline = "base.json"\n')
    assert main(["."]) == 2
    assert main([".", "--update-baseline"]) == 0
    assert main(["."]) == 0


def test_update_without_a_baseline_exits_2(tree, capsys):
    assert main([".", "--update-baseline"]) == 2
