"""Results from the cache and from several processes are the results of reading everything in one."""

from __future__ import annotations

import json

import pytest

from promptcache_lint import Settings, lint_paths
from promptcache_lint.cli import main
from promptcache_lint.configuration import SettingsTree
from promptcache_lint.finding_json import finding_from, finding_to
from promptcache_lint.result_cache import CACHE_FOLDER, ResultCache

RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    for number in range(6):
        (tmp_path / f"agent{number}.py").write_text(
            "from clock import stamp\n\n\ndef system_prompt():\n"
            f"    return f'{{stamp()}} {number}. {RULES}'\n"
        )
    (tmp_path / "clock.py").write_text("import time\n\n\ndef stamp():\n    return time.time()\n")
    (tmp_path / "system.j2").write_text("{% include 'head.j2' %}" + RULES)
    (tmp_path / "head.j2").write_text("It is {{ now() }}. ")
    (tmp_path / "broken.py").write_text("SYSTEM = 'You are\n")
    return tmp_path


def entries(folder):
    return sorted(path for path in (folder / "lint").rglob("*") if path.is_file())


def test_the_second_run_reads_nothing_and_says_the_same(tree, monkeypatch):
    cache = tree / "cache"
    first = lint_paths(["."], cache=cache)
    kept = entries(cache)
    assert len(first.findings) >= 8
    assert len(kept) >= 7
    monkeypatch.setattr("promptcache_lint.readers.python.reader._prompts", lambda *_: 1 / 0)
    second = lint_paths(["."], cache=cache)
    assert second.findings == first.findings
    assert second.sources == first.sources
    assert entries(cache) == kept


def test_what_an_import_leads_to_counts(tree):
    cache = tree / "cache"
    before = lint_paths(["agent0.py"], cache=cache)
    assert [finding.code for finding in before.findings] == ["PC101"]
    (tree / "clock.py").write_text("def stamp():\n    return 'noon'\n")
    assert lint_paths(["agent0.py"], cache=cache).findings == ()


@pytest.mark.parametrize("changed", ["a", "b", "c", "d"])
def test_rings_of_imports_count(tree, changed):
    imports = {"a": "b", "b": "c", "c": "a, d", "d": "b"}
    for name, others in imports.items():
        (tree / f"{name}.py").write_text(f"import {others}\n")
    (tree / "agent0.py").write_text("import a\n" + (tree / "agent0.py").read_text())
    cache = tree / "cache"
    lint_paths(["agent0.py"], cache=cache)
    lint_paths(["agent0.py"], cache=cache)
    assert len(entries(cache)) == 1
    (tree / f"{changed}.py").write_text("import json\n")
    lint_paths(["agent0.py"], cache=cache)
    assert len(entries(cache)) == 2


def test_what_a_template_includes_counts(tree):
    cache = tree / "cache"
    assert len(lint_paths(["system.j2"], cache=cache).findings) == 1
    (tree / "head.j2").write_text("Hello. ")
    assert lint_paths(["system.j2"], cache=cache).findings == ()


def test_settings_count(tree):
    cache = tree / "cache"
    lint_paths(["agent0.py"], cache=cache)
    assert lint_paths(["agent0.py"], Settings(ignore=("PC101",)), cache=cache).findings == ()


def test_damaged_entries_are_read_anew(tree):
    cache = tree / "cache"
    first = lint_paths(["."], cache=cache)
    for path in entries(cache):
        path.write_text('[{"code": 1}]' if path.name < "8" else "")
    assert lint_paths(["."], cache=cache).findings == first.findings


def test_the_cache_is_bounded(tree, monkeypatch):
    monkeypatch.setattr("promptcache_lint.result_cache._MOST_ENTRIES", 4)
    monkeypatch.setattr("promptcache_lint.result_cache._KEPT_ENTRIES", 3)
    lint_paths(["."], cache=tree / "cache")
    assert len(entries(tree / "cache")) == 3
    ResultCache(tree / "nothing").prune()


def test_a_cache_that_cannot_be_written_changes_nothing(tree):
    (tree / "cache").write_text("a file")
    assert lint_paths(["."], cache=tree / "cache").findings == lint_paths(["."]).findings


def test_command_keeps_results_in_the_project(tree, capsys):
    main(["."])
    assert (tree / CACHE_FOLDER / ".gitignore").read_text() == "*\n"
    first = capsys.readouterr().out
    main(["."])
    assert capsys.readouterr().out == first


def test_no_cache(tree, capsys):
    main([".", "--no-cache"])
    assert not (tree / CACHE_FOLDER).exists()


def test_findings_survive_being_written_down(tree):
    findings = lint_paths(["."], Settings(fixes=True)).findings
    assert [finding_from(json.loads(json.dumps(finding_to(finding)))) for finding in findings] == list(
        findings
    )


def test_several_processes_say_the_same(tree):
    (tree / "inner").mkdir()
    (tree / "inner" / "agent.py").write_text((tree / "agent0.py").read_text())
    (tree / "inner" / "promptcache.toml").write_text('[lint]\nignore = ["PC101"]\n')
    alone = lint_paths(["."], SettingsTree())
    together = lint_paths(["."], SettingsTree(), jobs=2, cache=tree / "cache")
    assert together.findings == alone.findings
    assert together.files == alone.files
    assert together.sources == alone.sources


def test_a_number_of_processes_is_a_number(tree, capsys):
    with pytest.raises(SystemExit) as leaving:
        main([".", "-j", "many"])
    assert leaving.value.code == 2


@pytest.fixture
def web(tree):
    pytest.importorskip("tree_sitter_typescript")
    folder = tree / "web"
    (folder / "lib").mkdir(parents=True)
    (folder / "tsconfig.json").write_text('{"compilerOptions": {"paths": {"#lib/*": ["./lib/*"]}}}')
    (folder / "agent.ts").write_text(
        f'import {{ head }} from "#lib/head";\nexport const systemPrompt = () => `${{head()}} {RULES}`;\n'
    )
    (folder / "lib" / "head.ts").write_text('export { stamp as head } from "./clock.js";\n')
    (folder / "lib" / "clock.ts").write_text("export const stamp = () => new Date().toISOString();\n")
    return folder


def test_typescript_is_kept_until_something_it_imports_changes(web, tree, monkeypatch):
    cache = tree / "cache"
    first = lint_paths(["web"], cache=cache)
    assert [finding.code for finding in first.findings] == ["PC101"]
    with monkeypatch.context() as patch:
        patch.setattr("promptcache_lint.readers.typescript.reader._prompts", lambda *_: 1 / 0)
        assert lint_paths(["web"], cache=cache).findings == first.findings
    (web / "lib" / "clock.ts").write_text("export const stamp = () => 'noon';\n")
    assert lint_paths(["web"], cache=cache).findings == ()


@pytest.mark.parametrize("change", ["another file is meant", "the configuration", "it is gone"])
def test_what_a_typescript_import_means_counts(web, tree, change):
    cache = tree / "cache"
    assert len(lint_paths(["web"], cache=cache).findings) == 1
    if change == "another file is meant":  # a `.ts` goes before the folder's index and a `.js`
        (web / "lib" / "head.ts").rename(web / "lib" / "head.js")
        assert len(lint_paths(["web"], cache=cache).findings) == 1
        (web / "lib" / "head.ts").write_text("export const head = () => 'noon';\n")
    elif change == "the configuration":
        (web / "tsconfig.json").write_text("{}")
    else:
        (web / "lib" / "clock.ts").unlink()
    assert lint_paths(["web"], cache=cache).findings == ()


def test_rings_of_typescript_imports_count(web, tree):
    cache = tree / "cache"
    (web / "lib" / "head.ts").write_text(
        'import { stamp } from "./clock";\nexport const head = () => stamp();\nexport const one = 1;\n'
    )
    (web / "lib" / "clock.ts").write_text(
        'import { one } from "./head";\nexport const stamp = () => `${one} ${Date.now()}`;\n'
    )
    assert len(lint_paths(["web"], cache=cache).findings) == 1
    (web / "lib" / "clock.ts").write_text(
        'import { one } from "./head";\nexport const stamp = () => `${one}`;\n'
    )
    assert lint_paths(["web"], cache=cache).findings == ()
