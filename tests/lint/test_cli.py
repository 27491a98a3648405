"""``promptcache lint``: exit status, selection, what is printed, files that cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from promptcache_lint import Settings
from promptcache_lint.cli import main
from promptcache_lint.discovery import discover

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."


@pytest.fixture
def tree(tmp_path, monkeypatch):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "clock.txt").write_text(f"It is {{now}}.\n{RULES}\n")
    (tmp_path / "prompts" / "clean.txt").write_text(f"{RULES} Sell {{goods}}.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *argv):
    status = main(list(argv))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_findings_exit_1(tree, capsys):
    status, out, err = run(capsys, "prompts", "--output-format", "concise")
    assert (status, err) == (1, "")
    assert out == (
        "prompts/clock.txt:1:7: warning[PC101] The clock ({now}) reaches the system prompt; "
        "about 21 static tokens behind it cannot be reused.\nFound 1 warning in 2 files.\n"
    )


def test_a_file_that_names_its_role_holds_errors(tree, capsys):
    (tree / "prompts" / "clock.txt").rename(tree / "prompts" / "system.txt")
    status, out, _ = run(capsys, "prompts", "--output-format", "concise", "--severity", "error")
    assert status == 1
    assert out.startswith("prompts/system.txt:1:7: error[PC101]")


def test_clean_exits_0(tree, capsys):
    status, out, _ = run(capsys, "prompts/clean.txt")
    assert (status, out) == (0, "Nothing found in 1 file.\n")


def test_missing_path_is_one_line_and_exits_2(tree, capsys):
    status, out, err = run(capsys, "prompts", "nowhere")
    assert (status, out) == (2, "")
    assert err.startswith("promptcache lint: nowhere: no such file or folder.")
    assert err.count("\n") == 1


@pytest.mark.parametrize("flags", [("--select", "XX1"), ("--ignore", "PC101,PC9999")])
def test_unknown_selector_exits_2(tree, capsys, flags):
    status, _, err = run(capsys, "prompts", *flags)
    assert status == 2
    assert "selects no rule" in err


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (("--select", "PC1"), 1),
        (("--select", "pc101"), 1),
        (("--select", "PC2"), 0),
        (("--ignore", "PC101"), 0),
        (("--select", "PC1", "--ignore", "PC10"), 0),
        (("--severity", "warning"), 1),
        (("--severity", "error"), 0),  # the file's name does not say whose text it is
        (("--exclude", "clock*"), 0),
    ],
)
def test_selection(tree, capsys, flags, status):
    assert run(capsys, "prompts", *flags)[0] == status


def test_info_does_not_fail(tree, capsys):
    (tree / "a.py").write_text(
        f"import time\nT = time.time()\ndef system_prompt():\n    return f'It is {{T}}. {RULES}'\n"
    )
    status, out, _ = run(capsys, "a.py", "--severity", "info", "--output-format", "concise")
    assert status == 0
    assert "info[PC110]" in out


def test_empty_folder_says_so(tmp_path, capsys):
    status, out, _ = run(capsys, str(tmp_path))
    assert status == 0
    assert out.startswith("No files to lint")


def test_gitignore_is_respected_and_can_be_switched_off(tree, capsys):
    (tree / ".git").mkdir()
    (tree / ".gitignore").write_text("prompts/clock.*\n")
    assert run(capsys, "prompts")[0] == 0
    assert run(capsys, ".")[0] == 0
    assert run(capsys, "prompts", "--no-respect-gitignore")[0] == 1
    assert run(capsys, "prompts/clock.txt")[0] == 1


def test_ignore_files_hold_for_their_folder_and_the_nearest_goes_before(tmp_path):
    wanted = ["a/kept.md", "ab/x.md", "ab/in/x.md", "a/deep/kept.md", "a/deep/here/x.md"]
    left_out = ["a/x.md", "a/deep/x.md", "a/deep/only/x.md", "ab/out/x.md"]
    for name in [*wanted, *left_out]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / ".gitignore").write_text("x.md\n/deep/only/\n")
    (tmp_path / "a" / "deep" / "here").joinpath(".gitignore").write_text("!x.md\n")
    (tmp_path / "ab" / ".gitignore").write_text("/out\n")
    found = [file.path.relative_to(tmp_path).as_posix() for file in discover([tmp_path], Settings())]
    assert [name for name in found if name.endswith(".md")] == [
        *("a/kept.md", "a/deep/kept.md", "a/deep/here/x.md", "ab/x.md", "ab/in/x.md")
    ]


def test_unreadable_files_do_not_stop_the_run(tree, capsys):
    (tree / "prompts" / "latin.txt").write_bytes(b"Gr\xfc\xdfe an {now}")
    (tree / "prompts" / "broken.py").write_text("SYSTEM = 'You are\n")
    (tree / "prompts" / "broken.j2").write_text("You are {{ a(")
    (tree / "prompts" / "nul.py").write_bytes(b"SYSTEM_PROMPT = '\0'\n")
    (tree / "prompts" / "load.py").write_text("SYSTEM_PROMPT = read('clock.txt')\n")
    status, out, _ = run(capsys, "prompts", "--output-format", "json")
    found = {(item["filename"], item["code"]) for item in json.loads(out)}
    assert status == 1
    assert found == {
        ("prompts/latin.txt", "PC900"),
        ("prompts/broken.py", "PC900"),
        ("prompts/broken.j2", "PC900"),
        ("prompts/nul.py", "PC900"),
        ("prompts/clock.txt", "PC101"),
    }


def test_byte_order_mark_and_crlf(tree, capsys):
    (tree / "prompts" / "clock.txt").write_bytes(b"\xef\xbb\xbfHello.\r\nIt is {now}.\r\n" + RULES.encode())
    _, out, _ = run(capsys, "prompts", "--output-format", "json")
    (item,) = json.loads(out)
    assert item["location"] == {"row": 2, "column": 7}


def test_a_thousand_terms_hide_nothing_else(tree, capsys):
    long = " + ".join(["'a'"] * 3000)
    (tree / "a.py").write_text(
        f"import time\nLONG = {long}\ndef prompt():\n    return {long}\n"
        f"def system_prompt():\n    return f'It is {{time.time()}}. {RULES}'\n"
    )
    _, out, _ = run(capsys, "a.py", "--output-format", "json")
    assert [item["code"] for item in json.loads(out)] in (["PC101"], ["PC900"])


def test_deep_nesting_is_no_crash(tree, capsys):
    (tree / "a.py").write_text("SYSTEM = " + "[" * 90 + "'You are'" + "]" * 90 + "\n")
    (tree / "a.json").write_text('{"system": ' + "[" * 5000 + "]" * 5000 + "}")
    (tree / "a.yaml").write_text("system: " + "[" * 3000 + "]" * 3000)
    (tree / "a.j2").write_text("{{ " + "(" * 500 + "now()" + ")" * 500 + " }}" + RULES)
    assert run(capsys, "a.py", "a.json", "a.yaml", "a.j2")[0] in {0, 1}


def test_statistics(tree, capsys):
    _, out, _ = run(capsys, "prompts", "--statistics")
    assert out.split()[:2] == ["1", "PC101"]


def test_documents_in_a_folder_are_no_prompts(tree, capsys):
    (tree / "README.md").write_text("You are welcome. {now}\n" + RULES)
    (tree / "notes.txt").write_text("Call {now} to get the time.\n")
    assert run(capsys, ".", "--exclude", "clock.txt")[0] == 0


def test_light_install_is_enough():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'numpy', 'fastapi', 'openai']));"
        "from promptcache_lint.cli import main;"
        "sys.exit(main(['examples/prompts', '--output-format=json', '--no-cache']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert [(item["code"], item["filename"]) for item in json.loads(done.stdout)] == [
        ("PC101", "examples/prompts/support.j2")
    ]


def test_a_file_too_large_for_a_prompt_is_named_and_not_read(tree, capsys):
    (tree / "prompts" / "dump.txt").write_bytes(b"It is {now}. " * 700_000)
    status, out, _ = run(capsys, "prompts/dump.txt", "--output-format", "json")
    (finding,) = json.loads(out)
    assert status == 1
    assert (finding["code"], "8.7 MiB" in finding["message"]) == ("PC900", True)


def test_python_nested_too_deeply_is_not_called_invalid(tree, capsys):
    (tree / "prompts" / "deep.py").write_text("SYSTEM = " + " + ".join(['"x"'] * 20_000) + "\n")
    _, out, _ = run(capsys, "prompts/deep.py", "--output-format", "json")
    assert [finding["message"] for finding in json.loads(out)] == [
        "Nested too deeply for Python's own parser."
    ]
