"""What is a prompt, and whose, does not depend on where the linter is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptcache_lint import Settings, Severity, lint_paths
from promptcache_lint.cli import main
from promptcache_lint.project_names import ProjectNames

RULES = (
    "Name the pier, the deck and the time of departure, in the language of the question. Never promise a "
    "seat to anybody. Say so when you do not know, and give the number of the office at the harbour. Do not "
    "speak of the weather unless you are asked for it, and then in one sentence, with the hour of the report."
)
PROMPT = f'It is {{{{ now().strftime("%H:%M") }}}} in our office.\n\n{RULES}\n{RULES}\n'
SENDS = f"""import time
from openai import OpenAI
def ask(talk):
    messages = [{{"role": "system", "content": f"It is {{time.time()}}. {RULES} {RULES}"}}, *talk]
    return OpenAI().chat.completions.create(model="m", messages=messages)
"""
MARKS = [None, ".git", "pyproject.toml", "package.json", "promptcache.toml"]


@pytest.fixture
def top(tmp_path) -> Path:
    """A folder with ``shop/prompts/clerk.j2``; its name says nothing."""
    folder = tmp_path / "top"
    (folder / "shop" / "prompts").mkdir(parents=True)
    (folder / "shop" / "prompts" / "clerk.j2").write_text(PROMPT)
    return folder


def marked(folder: Path, mark: str | None) -> None:
    if mark == ".git":
        (folder / mark).mkdir()
    elif mark is not None:
        (folder / mark).write_text("")


def found(*paths: str | Path) -> list[tuple[str, str, str]]:
    report = lint_paths(paths, Settings(severity=Severity.WARNING))
    return [(each.code, str(each.severity), each.place.path) for each in report.findings]


STARTS = [
    ("", "shop", "shop/prompts/clerk.j2"),
    ("", "shop/prompts", "shop/prompts/clerk.j2"),
    ("", "shop/prompts/clerk.j2", "shop/prompts/clerk.j2"),
    ("shop", ".", "prompts/clerk.j2"),
    ("shop", "prompts", "prompts/clerk.j2"),
    ("shop", "./prompts/", "prompts/clerk.j2"),
    ("shop/prompts", ".", "clerk.j2"),
    ("shop/prompts", "./", "clerk.j2"),
    ("shop/prompts", "../prompts", "clerk.j2"),
    ("shop/prompts", "..", "clerk.j2"),
    ("shop/prompts", "clerk.j2", "clerk.j2"),
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(("start", "given", "shown"), STARTS)
def test_a_prompt_is_found_from_wherever_the_linter_is_started(top, monkeypatch, mark, start, given, shown):
    marked(top / "shop", mark)
    monkeypatch.chdir(top / start)
    assert found(given) == [("PC101", "error", shown)]


@pytest.mark.parametrize("mark", MARKS)
def test_absolute_paths_and_links_to_folders(top, monkeypatch, mark):
    marked(top / "shop", mark)
    (top / "elsewhere").mkdir()
    (top / "link").symlink_to(top / "shop" / "prompts")
    file = top / "shop" / "prompts" / "clerk.j2"
    monkeypatch.chdir(top / "elsewhere")
    assert found(file.parent) == found(file) == found("../link") == [("PC101", "error", str(file))]
    monkeypatch.chdir(top / "link")
    assert found(".") == [("PC101", "error", "clerk.j2")]


@pytest.mark.parametrize("mark", MARKS)
def test_what_lies_above_a_project_says_nothing_of_its_files(top, monkeypatch, mark):
    outer = top / "agents" / "tests"
    (outer / "notes").mkdir(parents=True)
    (outer / "notes" / "letter.j2").write_text(PROMPT)  # a letter, as far as its own names say
    (outer / "notes" / "app.py").write_text(SENDS)
    marked(outer / "notes", mark)
    for start, given in [(top, outer / "notes"), (outer, "notes"), (outer / "notes", ".")]:
        monkeypatch.chdir(start)
        assert [each[:2] for each in found(given)] == [("PC101", "error")]


@pytest.mark.parametrize("mark", MARKS[1:])
def test_a_folder_of_tests_is_one_from_inside_as_well(top, monkeypatch, mark):
    marked(top, mark)
    (top / "tests" / "inner").mkdir(parents=True)
    (top / "tests" / "inner" / "app.py").write_text(SENDS)
    for start, given in [("", "tests"), ("tests", "."), ("tests/inner", "."), ("tests", "inner")]:
        monkeypatch.chdir(top / start)
        assert [each[:2] for each in found(given)] == [("PC101", "warning")]


def test_a_project_inside_of_a_repository_is_part_of_it(top, monkeypatch):
    marked(top, ".git")
    (top / "examples" / "one").mkdir(parents=True)
    marked(top / "examples" / "one", "pyproject.toml")
    (top / "examples" / "one" / "app.py").write_text(SENDS)
    monkeypatch.chdir(top / "examples" / "one")
    assert found(".") == [("PC101", "warning", "app.py")]


def test_several_processes_and_kept_results_tell_the_same(top, monkeypatch):
    kept = top / "kept"
    for start, shown in [("shop", "prompts/clerk.j2"), ("shop/prompts", "clerk.j2")]:
        monkeypatch.chdir(top / start)
        for jobs in (1, 2, 1):
            report = lint_paths(["."], jobs=jobs, cache=kept)
            assert [each.place.path for each in report.findings] == [shown]


def test_a_home_and_the_top_are_no_projects(top, monkeypatch):
    monkeypatch.setenv("HOME", str(top))
    marked(top, "package.json")
    folder = top / "shop" / "prompts"
    assert ProjectNames((folder,)).of(folder / "clerk.j2") == "prompts/clerk.j2"
    assert ProjectNames((Path("/"),)).of(Path("/clerk.j2")) == "clerk.j2"


def test_names_of_files_that_were_not_given(top):
    marked(top / "shop", "pyproject.toml")
    names = ProjectNames((top / "shop" / "prompts",))
    assert names.of(top / "shop" / "app.py") == "app.py"
    assert names.of(top / "lone" / "app.py") == "lone/app.py"


def test_ignores_of_files_and_baselines_stay_as_they_are(top, monkeypatch, capsys):
    (top / "shop" / "promptcache.toml").write_text(
        '[lint]\n[lint.per-file-ignores]\n"prompts/**" = ["PC101"]\n'
    )
    for start in ("", "shop", "shop/prompts"):
        monkeypatch.chdir(top / start)
        assert main([str(top / "shop"), "--no-cache"]) == 0
        assert main([".", "--no-cache"]) == 0
    (top / "shop" / "promptcache.toml").unlink()
    monkeypatch.chdir(top)
    accepted = ["--no-cache", "--baseline", str(top / "accepted.json")]
    assert main(["shop", *accepted]) == 0
    for start in ("", "shop", "shop/prompts"):
        monkeypatch.chdir(top / start)
        assert main([".", *accepted]) == 0
    (top / "shop" / "prompts" / "clerk.j2").write_text(PROMPT.replace("It is", "Now it is"))
    assert main([".", *accepted]) == 1
    assert f"clerk.j2:1:{len('Now it is ') + 1}" in capsys.readouterr().out


def test_fixes_are_tried_under_the_names_of_the_project(top, monkeypatch, capsys):
    monkeypatch.chdir(top / "shop" / "prompts")
    main([".", "--no-cache", "--diff", "--unsafe-fixes"])
    inside = capsys.readouterr().out
    monkeypatch.chdir(top / "shop")
    main(["prompts", "--no-cache", "--diff", "--unsafe-fixes"])
    assert capsys.readouterr().out == inside.replace("clerk.j2", f"prompts{os.sep}clerk.j2")
