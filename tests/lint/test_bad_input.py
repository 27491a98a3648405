"""What is odd about files, terminals and folders ends in one line or is got over, never in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptcache_lint import lint_paths, run_file
from promptcache_lint.cli import main
from promptcache_lint.fixes import rewrite
from promptcache_lint.formats import FORMATS

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."
RUN = "import sys; from promptcache_lint.cli import main; sys.exit(main(sys.argv[1:]))"
FIXABLE = "import json\n\n\ndef system_prompt(profile):\n    return json.dumps(profile) + '{}{}'\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(FIXABLE.format("", RULES))
    return tmp_path


def text_of(path):
    return path.read_bytes().decode("utf-8")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks_stay(tree, ends, mark):
    before = mark + FIXABLE.format("ä ", RULES).replace("\n", ends)
    (tree / "agent.py").write_bytes(before.encode())
    assert main([".", "--fix"]) == 0
    assert text_of(tree / "agent.py") == before.replace("(profile) +", "(profile, sort_keys=True) +")


def test_line_ends_of_both_kinds_are_left(tree, capsys):
    before = FIXABLE.format("", RULES).replace("\n", "\r\n", 2)
    (tree / "agent.py").write_bytes(before.encode())
    assert main([".", "--fix"]) == 1
    assert "agent.py: not fixed, its line ends are of both kinds." in capsys.readouterr().err
    assert text_of(tree / "agent.py") == before


@pytest.mark.parametrize("deed", ["gone", "changed", "a folder"])
def test_a_file_that_is_not_as_it_was_read(tree, capsys, monkeypatch, deed):
    path = tree / "agent.py"

    def act(*arguments, **options):
        changed = rewrite.rewrite(*arguments, **options)
        if deed == "changed":
            path.write_text("# mine\n" + path.read_text())
        else:
            path.unlink()
        if deed == "a folder":
            path.mkdir()
        return changed

    monkeypatch.setattr("promptcache_lint.cli.rewrite", act)
    status = main([".", "--fix"])
    said = capsys.readouterr().err
    assert "agent.py: not fixed, it " in said
    assert "Nothing could be fixed." in said
    assert status == 1
    assert deed != "changed" or path.read_text().startswith("# mine\n")
    assert [entry.name for entry in tree.iterdir() if entry.name.startswith(".prompt")] == []


def test_a_folder_that_cannot_be_written_to(tree, capsys, monkeypatch):
    def refuse(self, data):
        raise PermissionError(13, "Permission denied")

    before = text_of(tree / "agent.py")
    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert main([".", "--fix"]) == 1
    assert "agent.py: not fixed, it cannot be written (Permission denied)." in capsys.readouterr().err
    assert text_of(tree / "agent.py") == before


def test_a_name_as_long_as_names_may_be(tree):
    path = tree / f"{'a' * 250}.py"
    (tree / "agent.py").rename(path)
    assert main([".", "--fix"]) == 0
    assert "sort_keys" in text_of(path)


def test_a_link_stays_a_link(tree):
    (tree / "shared").mkdir()
    (tree / "agent.py").rename(tree / "shared" / "agent.text")
    (tree / "agent.py").symlink_to("shared/agent.text")
    mode = (tree / "shared" / "agent.text").stat().st_mode
    assert main([".", "--fix"]) == 0
    assert (tree / "agent.py").is_symlink()
    assert "sort_keys" in text_of(tree / "shared" / "agent.text")
    assert (tree / "shared" / "agent.text").stat().st_mode == mode


def test_links_in_a_ring_and_to_nowhere(tree, capsys):
    for name, target in (("a.py", "b.py"), ("b.py", "a.py"), ("c.py", "c.py"), ("d", "."), ("e.py", "/none")):
        (tree / name).symlink_to(target)
    assert main([".", "--output-format", "json"]) == 1
    assert {item["filename"] for item in json.loads(capsys.readouterr().out)} == {"agent.py"}
    assert main(["c.py"]) == 2
    assert capsys.readouterr().err == (
        "promptcache lint: c.py: no such file or folder. Check the spelling of the path.\n"
    )


@pytest.mark.parametrize("options", [["--fix"], ["--diff"], ["--statistics"], ["--fix", "--unsafe-fixes"]])
def test_what_is_not_utf8_is_left(tree, capsys, options):
    (tree / "other.py").write_bytes(b"# \xff\nSYSTEM = 'You are'\n")
    (tree / "agent.py").unlink()
    assert main([".", *options]) == 1
    assert (tree / "other.py").read_bytes() == b"# \xff\nSYSTEM = 'You are'\n"


def test_a_file_that_goes_while_others_are_read(tree, capsys, monkeypatch):
    from promptcache_lint import run

    found = run.discover

    def discover(*arguments, **options):
        files = list(found(*arguments, **options))
        (tree / "agent.py").unlink()
        return files

    monkeypatch.setattr(run, "discover", discover)
    assert main([".", "--output-format", "concise"]) == 1
    assert "warning[PC900] Cannot be read: No such file or directory." in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--baseline", "--output-file", "--config"])
def test_a_folder_where_a_file_is_meant(tree, capsys, option):
    (tree / "folder").mkdir()
    assert main([".", option, "folder"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("promptcache lint: folder: cannot be ")
    assert said.count("\n") == 1


def test_a_baseline_that_is_not_utf8(tree, capsys):
    (tree / "base.json").write_bytes(b"\xff\xfe")
    assert main([".", "--baseline", "base.json"]) == 2
    assert capsys.readouterr().err.startswith("promptcache lint: base.json: is no baseline: ")


def command(*arguments, encoding="ascii"):
    return subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.parametrize("options", [[], ["--diff"], ["--output-format", "concise"]])
def test_a_terminal_that_lacks_characters(tree, options):
    (tree / "agent.py").write_text(FIXABLE.format("日 ", RULES), encoding="utf-8")
    done = command(".", "--no-cache", *options)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert options[:1] == ["--output-format"] or b"\\u65e5" in done.stdout


def test_machines_get_utf8_whatever_the_terminal(tree):
    (tree / "日.py").write_text(FIXABLE.format("", RULES))
    done = command("日.py", "--no-cache", "--output-format", "json")
    assert json.loads(done.stdout.decode("utf-8"))[0]["filename"] == "日.py"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_name_that_is_no_text(tree, name):
    odd = os.fsencode(tree) + b"/agent\xff.py"
    try:
        (tree / "agent.py").rename(os.fsdecode(odd))
    except OSError:
        pytest.skip("this file system has names of text only")
    done = command(".", "--no-cache", "--output-format", name, encoding="utf-8")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 1
    done.stdout.decode("utf-8")


@pytest.mark.parametrize("fault", [ZeroDivisionError("secret words"), MemoryError(), AssertionError()])
def test_a_fault_of_the_linter_itself_is_told_of_its_file_only(tree, capsys, monkeypatch, fault):
    real = run_file.prepare_python

    def trip(file, workspace):
        if file.path.name == "bad.py":
            raise fault
        real(file, workspace)

    (tree / "bad.py").write_text((tree / "agent.py").read_text())
    (tree / "zeal.py").write_text((tree / "agent.py").read_text())
    monkeypatch.setattr(run_file, "prepare_python", trip)
    assert main([".", "--output-format", "json", "--isolated", "--no-cache"]) == 1
    printed = capsys.readouterr().out
    found = {(item["filename"], item["code"]) for item in json.loads(printed)}
    assert found >= {("agent.py", "PC201"), ("bad.py", "PC900"), ("zeal.py", "PC201")}
    assert {code for file, code in found if file == "bad.py"} == {"PC900"}
    assert f"internal error of kind {type(fault).__name__}" in printed
    assert "secret words" not in printed


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_a_number_of_processes_that_is_none(tree, capsys, jobs):
    with pytest.raises(SystemExit) as stopped:
        main([".", "-j", jobs])
    assert stopped.value.code == 2
    assert "--jobs" in capsys.readouterr().err


BROKEN = {
    "old.py": 'import openai\nprint "hello"\n',
    "nul.py": "from anthropic import Anthropic\nx = 1\0\n",
    "open.ts": "import OpenAI from 'openai'\nconst x = `abc ${y\n",
    "other.py": 'import os\nprint "hello"\n',
    "other.ts": "import fs from 'node:fs'\nconst x = `abc ${y\n",
    "sound.py": "import openai\n\nprint('hello')\n",
    "sound.ts": "import OpenAI from 'openai'\nexport const x = 1\n",
}


def test_a_broken_file_that_imports_a_client_is_told_in_a_folder_too(tmp_path, monkeypatch):
    pytest.importorskip("tree_sitter_typescript")
    monkeypatch.chdir(tmp_path)
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text)
    found = lint_paths(["."]).findings
    assert [(finding.code, finding.place.path) for finding in found] == [
        ("PC900", "nul.py"),
        ("PC900", "old.py"),
        ("PC900", "open.ts"),
    ]


@pytest.mark.parametrize(
    "cookie", ["# -*- coding: latin-1 -*-", "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-1 :"]
)
def test_python_in_an_encoding_of_its_own(tree, cookie):
    before = cookie + "\n" + FIXABLE.format("\u00e6\u00f8 ", RULES)
    (tree / "agent.py").write_bytes(before.encode("latin-1"))
    assert [finding.code for finding in lint_paths(["."]).findings] == ["PC201"]
    assert main([".", "--fix"]) == 0
    after = before.replace("(profile) +", "(profile, sort_keys=True) +").encode("latin-1")
    assert (tree / "agent.py").read_bytes() == after


@pytest.mark.parametrize("head", ["# coding: klingon\n", "x = 1\n\n# coding: latin-1\n", "# coding: ascii\n"])
def test_python_in_no_known_encoding(tree, head):
    (tree / "agent.py").write_bytes(head.encode() + b"PROMPT = '\xe6'\n")
    assert [finding.code for finding in lint_paths(["."]).findings] == ["PC900"]


def test_what_yaml_refuses_is_said_in_one_line(tree):
    (tree / "prompt.yaml").write_text("system: You are\nprompt: a\0b\n")
    (found,) = [each for each in lint_paths(["prompt.yaml"]).findings if each.code == "PC900"]
    assert "\n" not in found.message
    assert (found.place.row, found.place.column) == (2, 10)


@pytest.mark.parametrize(("text", "count"), [("var a=1;" * 30_000, 1), ("var a=1;\n" * 30_000, 0)])
def test_a_bundle_that_is_asked_for_is_said_to_be_one(tree, text, count):
    (tree / "app.js").write_text('const systemPrompt = "You are a clerk.";' + text)
    assert [found.code for found in lint_paths(["app.js"]).findings] == ["PC900"] * count
    assert lint_paths(["."]).findings[0].place.path == "agent.py"


@pytest.mark.parametrize("options", [[], ["--fix"], ["--no-cache", "--diff"]])
@pytest.mark.parametrize("name", ["endless.md", "pipe.md", "pipe.py"])
def test_a_named_device_or_pipe_is_not_read(tree, capsys, name, options):
    if name == "endless.md":
        (tree / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(tree / name)
    assert main([name, "--output-format", "concise", *options]) == 1
    assert "--diff" in options or "PC900" in capsys.readouterr().out
