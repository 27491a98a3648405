"""A trace over replicas: queues and caches as they are, and the shipped router found by entry point."""

from __future__ import annotations

import json
import random
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from promptcache_engine.simulate import RoutingError, Trace, TraceRequest, cli, play
from promptcache_engine.simulate import fleet as simulated
from promptcache_engine.simulate.fleet import routings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGE = 512


class Fixed:
    """A router that sends where it is told, and remembers what it heard."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.heard: list[tuple[float, int, int, int]] = []

    def send(self, now: float, pages: Sequence[int], tokens: int, page_tokens: int) -> tuple[int, int]:
        assert page_tokens == PAGE
        return self.numbers.pop(0), len(self.numbers)

    def answered(self, now: float, replica: int, ticket: int, computed: int) -> None:
        self.heard.append((now, replica, ticket, computed))


def trace(*requests: tuple[float, tuple[int, ...]]) -> Trace:
    made = tuple(TraceRequest(time, pages, len(pages) * PAGE) for time, pages in requests)
    return Trace(made, PAGE)


def test_queues_and_caches_are_each_replicas_own() -> None:
    router = Fixed(0, 0, 1, 0)
    played = trace((0.0, (1, 2)), (0.0, (1, 2, 3)), (0.0, (1, 2)), (5.0, (1, 2, 3)))
    told = play(played, router, 2, 100, prefill_rate=512.0)
    # 2 pages; behind them 1 of 3; on the other replica 2; and at last nothing but the one token that is due.
    assert told.hits == 0 + 2 + 0 + 3
    assert told.num_pages == 10
    assert told.mean_ttft_s == pytest.approx((2 + 3 + 2 + 1 / 512) / 4)
    assert told.p50_ttft_s == 2.0
    assert told.p99_ttft_s == 3.0
    assert told.share == pytest.approx(2 * (1024 + 512 + 1) / (1024 + 512 + 1 + 1024))
    assert router.heard == [(2.0, 0, 3, 1024), (2.0, 1, 1, 1024), (3.0, 0, 2, 512)]


def test_a_small_cache_forgets() -> None:
    played = trace((0.0, (1, 2)), (10.0, (3, 4)), (20.0, (1, 2)))
    assert play(played, Fixed(0, 0, 0), 1, 2).hits == 0
    assert play(played, Fixed(0, 0, 0), 1, 4).hits == 2


def conversations(turns: int = 12, number: int = 40, seed: int = 7) -> Trace:
    """Conversations that grow by two pages a turn, all behind one page of instructions."""
    rng = random.Random(seed)
    made = []
    for one in range(number):
        now, pages = rng.uniform(0, 60), [0]
        for turn in range(turns):
            pages += [1 + one * 1000 + 2 * turn, 2 + one * 1000 + 2 * turn]
            made.append(TraceRequest(now, tuple(pages), len(pages) * PAGE + 100))
            now += rng.uniform(3, 20)
    return Trace(tuple(sorted(made, key=lambda request: request.time)), PAGE)


def test_the_shipped_policy_is_no_worse_than_any_other() -> None:
    played = conversations()
    told = {name: play(played, make(4, 4000), 4, 4000) for name, make in routings().items()}
    assert set(told) == {"prefix", "session", "least-load", "round-robin"}
    best = told.pop("prefix")
    for name, other in told.items():
        assert best.hit_rate >= other.hit_rate - 0.01, name
        assert best.mean_ttft_s <= other.mean_ttft_s * 1.05, name
    assert best.hit_rate > told["round-robin"].hit_rate + 0.25


def test_routers_are_found_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = entry_points(group="promptcache.routers")
    assert entry.value == "promptcache_gateway.fleet.simulated"
    monkeypatch.setattr(simulated, "entry_points", lambda group: ())
    with pytest.raises(RoutingError, match="no router is installed"):
        routings()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = [
        {"timestamp": 1000 * at, "input_length": 1024, "hash_ids": [at % 3, 10 + at % 3]} for at in range(60)
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_the_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([str(file), "--replicas", "3", "--routing", "round-robin", "--capacity", "50%"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("60 requests over 3 replicas, 7,000 prompt tokens a second each, lru eviction")
    assert told[2].split() == ["capacity", "routing", "hit", "rate", "mean", "TTFT", "p50", "p99", "busiest"]
    assert told[3].split()[:3] == ["50%", "round-robin", "95.00"]


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--replicas", "2", "--prefill-rate", "1e3", "--output-format", "json"]
    assert cli.main([str(file), *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["replicas"], told["requests"], told["prefill_rate"]) == (2, 60, 1000)
    assert [row["routing"] for row in told["results"]] == list(routings())
    assert all(0 <= row["hit_rate"] <= 1 and row["capacity"] == "10%" for row in told["results"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--replicas", "2", "--routing", "fastest"], "'fastest' is no routing policy. Known: prefix"),
        (["--routing", "prefix"], "--routing needs replicas"),
    ],
)
def test_what_cannot_run_is_one_sentence(
    file: Path, wrong: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([str(file), *wrong]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert said in told.err


@pytest.mark.parametrize("wrong", [["--replicas", "0"], ["--replicas", "x"], ["--prefill-rate", "-1"]])
def test_what_is_no_number_is_refused(
    file: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([str(file), *wrong])
    assert caught.value.code == 2
    assert "invalid number" in capsys.readouterr().err
