"""Several logs and folders of them are one report, and what cannot be read there is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from promptcache_gateway.diagnose import main
from promptcache_gateway.diagnose.lines import UnreadableLogError
from promptcache_gateway.diagnose.ordering import TimeOrder
from promptcache_gateway.diagnose.progress import Progress
from promptcache_gateway.diagnose.sources import Source, find_sources
from tests.gateway.diagnose.test_diagnose import clocked, steady, write


def names(*given: Path) -> list[str]:
    return [Path(source.path).name for source in find_sources([str(one) for one in given])]


def test_a_folder_means_the_logs_below_it_each_once(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a/z.ndjson", "a/c.JSONL.gz", "a/settings.json", ".hidden/x.jsonl", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    assert names(tmp_path) == ["c.JSONL.gz", "z.ndjson", "b.jsonl"]
    assert names(tmp_path / "b.jsonl", tmp_path, tmp_path / "a") == ["b.jsonl", "c.JSONL.gz", "z.ndjson"]
    assert names(tmp_path / "notes.txt") == ["notes.txt"]


def test_a_folder_without_lines_means_its_json(tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text("[]")
    assert names(tmp_path) == ["export.json"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableLogError, match="holds no log"):
        names(tmp_path / "empty")


def report(capsys: pytest.CaptureFixture[str], *logs: str) -> tuple[int, dict[str, Any]]:
    status = main([*logs, "--output-format", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, told


def test_a_place_is_named_with_its_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path / "good.jsonl", map(steady, range(4)))
    bad = write(tmp_path / "bad.jsonl", map(clocked, range(4)))
    (tmp_path / "bad.jsonl").write_text("{cut\n" + (tmp_path / "bad.jsonl").read_text())

    status, told = report(capsys, good, bad)
    assert (status, told["log"], told["logs"], told["total"]["requests"]) == (1, "2 logs", 2, 8)
    assert told["bad"] == [{"log": bad, "line": 1, "problem": "not JSON"}]
    every = [cause for one in told["templates"] for cause in one["causes"]]
    examples = [cause["example"] for cause in every if cause["code"] == "PC101"]
    assert [(one["log"], one["line"]) for one in examples] == [(bad, 3)]
    main([good, bad, "--html", str(tmp_path / "page.html")])
    assert f"{bad}, line 3 in messages[0]" in capsys.readouterr().out
    assert f"{bad}, line 3" in (tmp_path / "page.html").read_text()


def test_a_log_of_before_the_others_is_judged_by_its_own_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimeOrder.__init__, "__defaults__", (4, 1 << 20))
    logs = []
    for number, tenant in enumerate(("late", "early")):
        log = tmp_path / f"{number}.jsonl"
        text = Path(write(log, map(clocked, range(8)))).read_text()
        entries = [json.loads(line) for line in text.splitlines()]
        for entry in entries:
            entry |= {"tenant": tenant, "time": entry["time"] + (86_400 if tenant == "late" else 0)}
        log.write_text("\n".join(map(json.dumps, entries)))
        logs.append(str(log))
    _, told = report(capsys, *logs)
    causes = {one["code"]: one["requests"] for one in told["total"]["causes"]}
    assert causes["PC101"] == 14


def test_what_cannot_be_read_in_a_folder_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "good.jsonl", map(steady, range(4)))
    packed = gzip.compress(b'{"a": 1}\n' * 50)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[:12])
    status, told = report(capsys, str(tmp_path))
    assert (status, told["total"]["requests"]) == (0, 4)
    problem = "its compressed data are damaged"
    assert [(Path(one["log"]).name, one["problem"]) for one in told["bad"]] == [("a.jsonl.gz", problem)]
    assert main([str(tmp_path / "a.jsonl.gz"), str(tmp_path / "good.jsonl")]) == 2


def test_progress_is_of_all_logs_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [Source("a", 1_000_000), Source("b", 3_000_000)]
    Progress(sources).tell(5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    moments = iter((0.0, 0.1, 0.6, 0.7))
    monkeypatch.setattr("promptcache_gateway.diagnose.progress.time.monotonic", lambda: next(moments))
    progress = Progress(sources)
    progress.tell(5)  # a small log is read before anybody asks
    progress.next_log(sources[0])
    progress.tell(1_000_000)
    progress.left(7)  # too soon after the last word
    progress.end()
    told = capsys.readouterr().err
    assert "read 2 of 4 MB (50%)" in told
    assert told.endswith("\r\x1b[2K")
