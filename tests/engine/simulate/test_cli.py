"""``promptcache simulate`` as typed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from promptcache_engine.simulate import cli

TRACE = "\n".join(
    json.dumps({"timestamp": 1_000 * i, "input_length": 1_024, "hash_ids": [0, 1 + i % 3]}) for i in range(30)
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.jsonl"
    file.write_text(TRACE, "utf-8")
    return file


def test_the_table(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main([str(trace), "--capacity", "3", "100%", "--page-size", "512", "--policy", "lru", "lfu"]) == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        "30 requests, 60 pages of 512 tokens, 4 different",
        "a cache that never evicts: 93.33 %",
        "",
        "capacity  pages    lru    lfu  optimum",
        "       3      3  48.33  48.33    71.67",
        "    100%      4  93.33  93.33    93.33",
    ]


def test_json(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([str(trace), "--capacity", "4", "--policy", "learned", "--output-format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["results"] == [
        {"capacity": "4", "pages": 4, "hit_rate": {"learned": 56 / 60}, "optimum": 56 / 60}
    ]


@pytest.mark.parametrize(
    "wrong",
    [["--capacity", "many"], ["--page-size", "100"], ["--capacity", "0%"], ["--capacity", "inf%"]],
    ids=lambda wrong: wrong[1],
)
def test_what_cannot_run_is_one_sentence_and_two(
    trace: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([str(trace), *wrong]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("promptcache simulate: ")
    assert captured.err.count("\n") == 1


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([str(tmp_path / "none.jsonl")]) == 2
    assert "none.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--policy", "newest"], ["--page-size", "0"], ["--page-size", "x"]])
def test_argparse_refuses_what_it_knows_to_be_wrong(trace: Path, wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([str(trace), *wrong])
    assert caught.value.code == 2


def test_simulating_loads_no_torch() -> None:
    code = "import sys, promptcache_engine.simulate.cli; print('torch' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["False"]
