"""What the programs of a tree say of its files: a role, a use, or nothing."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, Severity, lint_paths, run, standing
from promptcache_lint.discovery import discover

RULES = (
    "Name the pier, the deck and the time of departure, in the language of the question. Never promise a "
    "seat to anybody. Say so when you do not know, and give the number of the office at the harbour. Do not "
    "speak of the weather unless you are asked for it, and then in one sentence, with the hour of the report."
)
PROMPT = f"You are the clerk of a ferry line. It is {{{{current_time}}}}.\n{RULES}\n{RULES}\n"
NOTICE = f"Job {{{{job_id}}}} has ended after {{{{retry_count}}}} tries.\n{RULES}\n"
CLIENT = "from openai import OpenAI\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def written(**files: str) -> None:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return written


def found(*paths: str, least: Severity = Severity.INFO) -> set[tuple[str, str]]:
    report = lint_paths(paths or ["."], Settings(severity=least))
    return {(finding.code, str(finding.severity)) for finding in report.findings}


LOADS = {
    "by its name, as a system prompt": ('SYSTEM_PROMPT = open("prompts/clerk.md").read()\n', "warning"),
    "by its name": ('text = open("prompts/clerk.md").read()\n', "warning"),
    "by its stem": ('text = load("clerk")\n', "warning"),
    "all of its folder": ('texts = [p.read_text() for p in (HERE / "prompts").glob("*.md")]\n', "warning"),
    "not at all": ("text = ask()\n", "info"),
}


@pytest.mark.parametrize(("load", "severity"), LOADS.values(), ids=LOADS)
def test_a_file_of_prompts_is_what_the_program_makes_of_it(tree, load, severity):
    tree(prompts__clerk_dot_md=PROMPT.replace("You are", "# Clerk\n\nYou are"), app_dot_py=CLIENT + load)
    assert found() == {("PC101", severity)}


@pytest.mark.parametrize("program", [CLIENT + 'text = open("prompts/system.md").read()\n', CLIENT])
def test_when_a_file_that_names_its_role_is_filled_in_only_a_program_shows(tree, program):
    tree(prompts__system_dot_md=PROMPT, app_dot_py=program)
    assert found() == {("PC101", "warning")}


def test_a_tree_without_programs_speaks_for_itself(tree):
    tree(prompts__system_dot_md=PROMPT, prompts__job_dot_md=NOTICE)
    assert found() == {("PC101", "error"), ("PC102", "warning"), ("PC107", "warning")}


@pytest.mark.parametrize(("named", "walks"), [(["."], 1), (["prompts", "pyproject.toml"], 2)])
def test_a_tree_that_was_walked_is_not_walked_again_for_its_programs(tree, monkeypatch, named, walks):
    tree(prompts__system_dot_md=PROMPT, pyproject_dot_toml="")
    asked: list[list[str]] = []

    def counted(paths, settings, **options):
        asked.append([str(path) for path in paths])
        return discover(paths, settings, **options)

    monkeypatch.setattr(run, "discover", counted)
    lint_paths(named)
    assert len([paths for paths in asked if paths]) == walks


def test_a_notice_that_programs_use_is_information_and_left_out_with_warnings(tree):
    tree(prompts__job_dot_md=NOTICE, app_dot_ts='import job from "./prompts/job.md";\n')
    assert found() == {("PC102", "info"), ("PC107", "info")}
    assert found(least=Severity.WARNING) == set()


@pytest.mark.parametrize("folder", ["skills__prompts", "_dot_claude__agents"])
def test_a_skill_is_read_behind_what_was_said(tree, folder):
    clerk = {f"{folder}__clerk_dot_md": PROMPT}
    tree(**clerk, app_dot_py=CLIENT + 'SYSTEM_PROMPT = load("clerk.md")\n')
    assert found() == {("PC101", "info")}


def test_a_document_is_no_prompt_even_without_programs(tree):
    tree(docs__system_dot_md=PROMPT)
    assert found() == {("PC101", "info")}


def test_a_file_that_was_named_speaks_for_itself(tree):
    tree(prompts__system_dot_md=PROMPT, app_dot_py=CLIENT)
    assert found("prompts/system.md") == {("PC101", "error")}
    assert found("prompts") == {("PC101", "error")}  # a folder of prompts, and nothing else


SENDS = f"""import time
def ask(client, talk):
    messages = [{{"role": "system", "content": f"It is {{time.time()}}. {RULES} {RULES}"}}, *talk]
    return client.{{call}}(messages)
"""


@pytest.mark.parametrize(("call", "severity"), [("chat.completions.create", "error"), ("store", "warning")])
def test_a_program_that_nowhere_asks_a_model_has_no_error(tree, call, severity):
    tree(app_dot_py=SENDS.replace("{call}", call))
    assert found() == {("PC101", severity)}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tests__app_dot_py", {("PC101", "warning")}),
        ("test_app_dot_py", {("PC101", "warning")}),
        ("docs__guide__app_dot_py", {("PC101", "info")}),
        ("examples__app_dot_py", {("PC101", "warning")}),
        ("chat_demo__app_dot_py", {("PC101", "warning")}),
        ("demo_dot_py", {("PC101", "warning")}),
        ("latest__app_dot_py", {("PC101", "error")}),
    ],
)
def test_what_stands_beside_the_product_has_no_error(tree, name, told):
    tree(**{name: SENDS.replace("{call}", "chat.completions.create")})
    assert found() == told


def test_a_prompt_is_as_grave_where_it_is_written_as_where_it_is_sent(tree):
    tree(
        prompts_dot_py="from datetime import datetime\ndef build_system_prompt():\n"
        f"    return f'It is {{datetime.now()}}. {RULES} {RULES}'\n",
        two_dot_py="from prompts import build_system_prompt\nfrom openai import OpenAI\ndef ask(talk):\n"
        "    messages = [{'role': 'system', 'content': build_system_prompt()}, *talk]\n"
        "    return OpenAI().chat.completions.create(model='m', messages=messages)\n",
    )
    report = lint_paths(["."])
    told = [(found.code, str(found.severity), found.place.path) for found in report.findings]
    assert told == [("PC101", "error", "prompts.py")]


@pytest.mark.parametrize(("name", "severity"), [("app_dot_py", "warning"), ("scripts__daily_dot_py", "info")])
def test_each_run_of_a_script_has_a_day_of_its_own(tree, name, severity):
    text = SENDS.replace("{call}", "chat.completions.create").replace("time.time()", "datetime.date.today()")
    tree(**{name: text.replace("import time", "import datetime")})
    assert found() == {("PC109", severity)}


@pytest.mark.parametrize("word", ["a" * 300_000, "a@" * 150_000, "a." + "b@" * 150_000])
def test_a_program_with_a_word_of_any_length_is_searched_for_names_of_files_in_time(tree, word):
    load = f'text = open("prompts/clerk.md").read()\n# {word}\n'
    tree(prompts__clerk_dot_md=PROMPT.replace("You are", "# Clerk\n\nYou are"), app_dot_py=CLIENT + load)
    assert found() == {("PC101", "warning")}


@pytest.mark.parametrize("count", [1, 12])
def test_programs_are_searched_once_for_each_folder_of_prompts(tree, monkeypatch, count):
    searched: list[tuple[str, str]] = []

    def counted(text, folder, kind):
        searched.append((folder, kind))
        return loads(text, folder, kind)

    loads = standing._loads
    monkeypatch.setattr(standing, "_loads", counted)
    tree(app_dot_py=CLIENT, **{f"texts__form{n}_dot_md": PROMPT for n in range(count)})
    assert found() == {("PC101", "info")}
    assert searched == [("texts", ".md")]
