"""Exporting what was recorded, and deleting what was recorded of a tenant, by command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.kept import KeptSettings
from promptcache_gateway.records.cli import main
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.store import LearnedRow, Store
from promptcache_gateway.tenancy.key_file import KeyFile
from tests.gateway.serving import serve
from tests.gateway.store.records import hit, miss, record

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.mock_upstream import MockUpstream

SECRET_NAME = "tenant-to-forget"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def kept(tmp_path: Path) -> list[str]:
    """Ids of 2,500 requests, of two tenants in turn."""
    store = Store(tmp_path / "promptcache.db")
    store.open()
    made = [
        record(
            miss(lost_usd=0.5) if number % 3 else hit(),
            tenant="shop" if number % 2 else SECRET_NAME,
            template="support" if number % 5 else "other",
            time=1_800_000_000.0 + number,
        )
        for number in range(2_500)
    ]
    for each in made:
        store.record(each)
    store.keep_learned(LearnedRow(SECRET_NAME, "learned-1", 1, (2,), (3,)))
    store.keep_learned(LearnedRow("shop", "learned-1", 1, (2,), (3,)))
    assert store.flush()
    store.close()
    return [each.id for each in made]


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_request_is_exported_once_and_in_order(kept: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert main(["export", "--data-dir", str(tmp_path), "-o", str(out)]) == 0

    rows = lines_of(out)
    assert [row["id"] for row in rows] == kept
    store = Store(tmp_path / "promptcache.db")
    store.open()
    assert rows[1] == store.read.request(kept[1])
    store.close()


def test_a_part_is_exported(
    kept: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    argv = ["--tenant", "shop", "--since", "2027-01-15T08:00:10", "--until", "1800000020"]
    assert main(["export", "--data-dir", str(tmp_path), *argv]) == 0
    assert [json.loads(line)["id"] for line in capfdbinary.readouterr().out.splitlines()] == kept[11:20:2]

    assert main(["export", "--data-dir", str(tmp_path), "--template", "other"]) == 0
    assert len(capfdbinary.readouterr().out.splitlines()) == 500


def test_parquet_holds_the_same(kept: list[str], tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra `parquet` is not installed")
    for name in ("jsonl", "parquet"):
        out = tmp_path / f"out.{name}"
        assert main(["export", "--data-dir", str(tmp_path), "--format", name, "-o", str(out)]) == 0

    table = pq.read_table(tmp_path / "out.parquet").to_pylist()
    rows = lines_of(tmp_path / "out.jsonl")
    assert [row["id"] for row in table] == kept
    for in_table, in_lines in zip(table[:50], rows[:50], strict=True):
        assert in_table["time"] == in_lines["time"]
        assert in_table["usage.cached_tokens"] == in_lines["usage"]["cached_tokens"]
        assert in_table["usage.reported"] is True
        assert in_table["diagnosis.causes"] == in_lines["diagnosis"]["causes"]
        assert in_table["diagnosis.lost_usd"] == in_lines["diagnosis"]["lost_usd"]
        assert json.loads(in_table["diagnosis.losses"]) == in_lines["diagnosis"]["losses"]


def test_an_empty_export_is_a_file_too(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra `parquet` is not installed")
    store = Store(tmp_path / "promptcache.db")
    store.open()
    store.close()
    out = tmp_path / "none.parquet"
    assert main(["export", "--data-dir", str(tmp_path), "--format", "parquet", "-o", str(out)]) == 0
    assert pq.read_table(out).num_rows == 0


def test_kept_responses_are_exported_with_their_text(
    mock: MockUpstream, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    upstream = UpstreamSettings(url=mock.url, apis=("chat",))
    told = Settings(upstream=upstream, data_dir=tmp_path, responses=KeptSettings(keep="database"))
    with serve(told) as served:
        name = served.post({"model": "m", "input": "Who?"}, path="/v1/responses").json()["id"]
    assert main(["export", "--responses", "--data-dir", str(tmp_path)]) == 0
    (row,) = map(json.loads, capsysbinary.readouterr().out.splitlines())
    assert (row["id"], row["input"]) == (name, [{"role": "user", "content": "Who?"}])
    assert row["response"]["output"][0]["content"][0]["text"] == "café  / ok"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["export"], "there is no database"),
        (["export", "--since", "yesterday"], "--since"),
        (["export", "--format", "parquet"], "--output"),
        (["export", "--responses", "--format", "parquet", "-o", "x"], "--responses"),
        (["export", "--responses", "--template", "t"], "--responses"),
        (["delete", "--tenant", "x", "--url", "ftp://x"], "--url"),
        (["delete", "--tenant", "x", "--url", "http://127.0.0.1:1"], "no gateway answers"),
    ],
)
def test_what_is_wrong_is_one_line(
    argv: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*argv, "--data-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_nothing_of_a_deleted_tenant_is_left_on_the_disk(
    kept: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def held() -> bytes:
        return b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert SECRET_NAME.encode() in held()
    assert main(["delete", "--tenant", SECRET_NAME, "--data-dir", str(tmp_path)]) == 0
    assert "1250 requests" in capsys.readouterr().out

    assert SECRET_NAME.encode() not in held()
    store = Store(tmp_path / "promptcache.db")
    store.open()
    assert sum(row["requests"] for row in store.read.templates()) == 1_250
    assert [row.tenant for row in store.read.learned()] == ["shop"]
    assert {row["tenant"] for row in store.read.requests(limit=1_000)[0]} == {"shop"}
    store.close()


def test_a_running_gateway_forgets_too(
    mock: MockUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = KeyFile(tmp_path / "keys.json")
    admin, _ = file.create("ops", admin=True)
    keys = {name: file.create(name)[0] for name in ("shop", "other")}
    told = Settings(upstream=UpstreamSettings(url=mock.url), data_dir=tmp_path, stored_keys=True)
    with serve(told) as served:
        answers = {name: served.post(BODY, authorization=f"Bearer {key}") for name, key in keys.items()}
        served.http.headers["authorization"] = f"Bearer {admin}"
        ids = {name: answer.headers["x-promptcache-request-id"] for name, answer in answers.items()}
        assert served.get(f"/promptcache/v1/requests/{ids['shop']}").status_code == 200

        monkeypatch.delenv("PROMPTCACHE_API_KEY", raising=False)
        assert main(["delete", "--tenant", "shop", "--url", served.url]) == 2
        assert "admin key" in capsys.readouterr().err
        monkeypatch.setenv("PROMPTCACHE_API_KEY", admin)
        assert main(["delete", "--tenant", "shop", "--url", served.url]) == 0
        assert "1 requests" in capsys.readouterr().out

        assert served.get(f"/promptcache/v1/requests/{ids['shop']}").status_code == 404
        assert served.get(f"/promptcache/v1/requests/{ids['other']}").status_code == 200
        assert [row["requests"] for row in served.get("/promptcache/v1/templates").json()] == [1]
        journal = served.gateway.observer.journal
        assert journal is not None
        assert {event.data.get("tenant") for event in journal.events.since(0)} <= {"other", None}
        again = served.post(BODY, authorization=f"Bearer {keys['shop']}")
        assert again.status_code == 200
