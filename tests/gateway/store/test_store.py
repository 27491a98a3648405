"""The store: what goes in comes out, sums are right, a restart and a kill lose nothing that was written."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_gateway.bounds import Bounds
from promptcache_gateway.metrics import Metrics
from promptcache_gateway.store import DatabaseUnusableError, LearnedRow, Store
from promptcache_gateway.store import recorder as recorder_module
from tests.gateway.store.records import SECRET, hit, miss, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptcache_gateway.observe import Diagnosis


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "data" / "promptcache.db")
    made.open()
    yield made
    made.close()


def test_a_request_comes_back_as_it_went_in_without_excerpts(store: Store) -> None:
    kept = record(miss(causes=("PC101", "PC401"), losses={"PC101": 800}, lost_usd=0.002), saved_usd=-0.01)
    store.record(kept)
    store.flush()

    assert store.read.request(kept.id) == kept.to_dict(excerpts=False)
    assert store.read.request("pcr_unknown") is None


def test_unknown_stays_unknown(store: Store) -> None:
    kept = record(
        miss("PC810", None, attribution="unknown", reusable_tokens=None),
        reported=False,
        cached_tokens=None,
        cache_write_tokens=None,
        uncached_tokens=None,
        ttft_ms=None,
    )
    store.record(kept)
    store.flush()

    found = store.read.request(kept.id)
    assert found is not None
    assert found["usage"]["cached_tokens"] is None
    assert found["diagnosis"]["lost_tokens"] is None
    (row,) = store.read.templates()
    assert row["hit_rate"] is None
    assert row["achievable_hit_rate"] is None
    assert row["cached_tokens"] is None
    assert row["lost_tokens"] is None
    assert row["prompt_tokens"] == 1_000


def test_rates_take_only_what_was_reported(store: Store) -> None:
    """Half of what is known was cached; two requests that say nothing change no rate."""
    for cached, reported in ((None, False), (0, True), (960, True), (None, False)):
        diagnosis = hit(reusable_tokens=960 if cached else None)
        store.record(record(diagnosis, cached_tokens=cached, reported=reported))
    store.flush()

    (row,) = store.read.templates()
    assert row["hit_rate"] == pytest.approx(0.48)
    assert row["reported_requests"] == 2
    assert row["requests"] == 4
    assert row["reported_prompt_tokens"] == 2_000


def test_totals_of_a_template(store: Store) -> None:
    store.record(record(miss("PC101", 800, lost_usd=0.004), time=1_800_000_000.0, ttft_ms=400.0))
    store.record(record(miss("PC101", 600, lost_usd=0.003), time=1_800_000_100.0, ttft_ms=200.0))
    store.record(record(miss("PC301", 700, lost_usd=0.009, attribution="caller"), time=1_800_003_700.0))
    store.record(record(hit(), cached_tokens=900, saved_usd=0.5, time=1_800_003_800.0, ttft_ms=50.0))
    store.flush()

    (row,) = store.read.templates(name="support")
    assert row["requests"] == 4
    assert row["hits"] == 1
    assert row["misses"] == 3
    assert row["prompt_tokens"] == 4_000
    assert row["cached_tokens"] == 900
    assert row["hit_rate"] == pytest.approx(0.225)
    assert row["achievable_hit_rate"] == pytest.approx((800 * 3 + 900) / 4_000)
    assert row["lost_tokens"] == 2_100
    assert row["lost_usd"] == pytest.approx(0.016)
    assert row["saved_usd"] == pytest.approx(0.5)
    assert row["ttft_ms"] == {"hit": 50.0, "miss": pytest.approx(700 / 3)}
    assert (row["first_seen"], row["last_seen"]) == (1_800_000_000.0, 1_800_003_800.0)
    assert [(cause["code"], cause["requests"], cause["lost_tokens"]) for cause in row["causes"]] == [
        ("PC301", 1, 700),
        ("PC101", 2, 1_400),
    ]
    hours = store.read.hours("support")
    assert [hour["requests"] for hour in hours] == [2, 2]
    assert sum(hour["prompt_tokens"] for hour in hours) == 4_000


DIAGNOSES = st.one_of(
    st.builds(hit),
    st.builds(lambda: hit(hit=None, cause="PC810", causes=("PC810",), attribution="unknown")),
    st.builds(lambda: hit(hit=None)),
    st.builds(
        lambda codes, lost, usd: miss(
            codes[0],
            lost,
            causes=tuple(codes),
            losses={
                code: share
                for code, share in zip(codes, (lost - lost // 3, lost // 3), strict=False)
                if share
            },
            lost_usd=usd,
        ),
        st.lists(
            st.sampled_from(["PC101", "PC301", "PC401", "PC801", "PC803"]),
            min_size=2,
            max_size=4,
            unique=True,
        ),
        st.integers(0, 900),
        st.none() | st.just(0.5),
    ),
)


@given(st.lists(DIAGNOSES, max_size=12))
@settings(max_examples=25)
def test_causes_add_up_to_the_misses_and_metrics_agree(diagnoses: list[Diagnosis]) -> None:
    metrics = Metrics()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "d.sqlite")
        store.open()
        for diagnosis in diagnoses:
            store.record(record(diagnosis))
            metrics.count(record(diagnosis))
        store.flush()
        rows = store.read.templates()
        store.close()

    expected = Counter(diagnosis.cause for diagnosis in diagnoses if diagnosis.hit is False)
    lost: Counter[str] = Counter()
    for diagnosis in diagnoses:
        lost.update(diagnosis.losses)
    causes = rows[0]["causes"] if rows else []
    counted = {cause["code"]: cause["requests"] for cause in causes if cause["requests"]}
    unsaid = counted.pop("PC810", 0)
    assert counted == expected
    assert sum(counted.values()) == (rows[0]["misses"] if rows else 0)
    assert unsaid == sum(diagnosis.cause == "PC810" for diagnosis in diagnoses)
    assert {cause["code"]: cause["lost_tokens"] for cause in causes if cause["lost_tokens"]} == +lost
    misses = metrics.registry.get_sample_value
    for code in {*expected, "PC810"}:
        labels = {"template": "support", "cause": code}
        assert (misses("promptcache_misses_total", labels) or 0) == expected[code]
        assert (misses("promptcache_lost_tokens_total", labels) or 0) == lost[code]


def test_a_stream_that_was_cut_counts_as_failed(store: Store) -> None:
    for status, error in ((200, None), (200, "upstream_closed"), (502, "upstream_unreachable")):
        store.record(record(status=status, error=error))
    store.flush()

    (row,) = store.read.templates(name="support")
    assert row["failed_requests"] == 2


def test_money_without_a_price_is_unknown_and_does_not_hide_what_is_known(store: Store) -> None:
    store.record(record(miss("PC101", 800, lost_usd=None)))
    store.record(record(miss("PC101", 800, lost_usd=0.25)))
    store.record(record(miss("PC101", 800, lost_usd=None), template="other"))
    store.flush()

    rows = {row["name"]: row for row in store.read.templates()}
    assert rows["support"]["lost_usd"] == pytest.approx(0.25)
    assert rows["support"]["causes"][0]["lost_usd"] == pytest.approx(0.25)
    assert rows["other"]["lost_usd"] is None


def test_tenants_with_one_name_are_added_up_unless_asked_for(store: Store) -> None:
    store.record(record(tenant="a"))
    store.record(record(tenant="b"))
    store.record(record(miss(), tenant="b"))
    store.flush()

    assert store.read.templates()[0]["requests"] == 3
    assert store.read.templates(tenant="b")[0]["requests"] == 2
    assert store.read.templates(tenant="a")[0]["causes"] == []
    assert len(store.read.requests(tenant="a")[0]) == 1


def test_pages_of_requests(store: Store) -> None:
    kept = [record(miss() if number % 3 == 0 else hit()) for number in range(10)]
    for one in kept:
        store.record(one)
    store.flush()
    newest_first = [one.id for one in reversed(kept)]

    seen: list[str] = []
    cursor = None
    for _ in range(10):
        rows, cursor = store.read.requests(limit=4, before=cursor)
        seen += [row["id"] for row in rows]
        if cursor is None:
            break

    assert seen == newest_first
    missed, following = store.read.requests(cause="PC101")
    assert [row["id"] for row in missed] == [one.id for one in reversed(kept[::3])]
    assert following is None
    assert store.read.requests(template="nope") == ([], None)
    assert store.read.requests(cause="PC10") == ([], None)


def test_a_secondary_cause_is_found_too(store: Store) -> None:
    store.record(record(miss(causes=("PC101", "PC401"))))
    store.flush()

    assert len(store.read.requests(cause="PC401")[0]) == 1


def test_a_restart_keeps_totals_requests_and_learned_templates(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    learned = LearnedRow("default", "learned-3f2a", 2**64 - 1, (1, 2**63), (3, 4, 5))
    for _ in range(2):
        store = Store(path)
        store.open()
        store.record(record(miss()))
        store.keep_learned(learned)
        store.close()

    store = Store(path)
    store.open()
    (row,) = store.read.templates()
    assert row["requests"] == 2
    assert row["causes"][0]["requests"] == 2
    assert store.learned_templates() == [learned]
    assert store.read.known_causes() == {("default", "support", "PC101")}
    assert len(store.read.requests()[0]) == 2
    store.close()


def test_no_text_of_a_prompt_reaches_the_disk(tmp_path: Path) -> None:
    store = Store(tmp_path / "p.db")
    store.open()
    for _ in range(20):
        store.record(record(miss()))
    store.flush()
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    store.close()

    assert SECRET.encode() not in held
    assert b"support" in held


def test_a_full_queue_drops_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    real = recorder_module.add_totals
    monkeypatch.setattr(recorder_module, "add_totals", lambda *given: (gate.wait(10), real(*given)))
    store = Store(tmp_path / "p.db", capacity=5)
    store.open()
    store.record(record())
    time.sleep(0.2)  # the thread has taken the first and waits at the gate
    begun = time.perf_counter()
    for _ in range(12):
        store.record(record())
    took = time.perf_counter() - begun

    assert store.dropped == 7
    assert took < 0.5
    gate.set()
    assert store.flush()
    assert store.read.templates()[0]["requests"] == 6
    store.close()


def test_a_database_that_refuses_is_counted_and_recovers(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*given: Any) -> None:
        from sqlalchemy.exc import OperationalError

        raise OperationalError("INSERT", {}, Exception(SECRET))

    with monkeypatch.context() as patched:
        patched.setattr(recorder_module, "add_totals", refuse)
        store.record(record())
        assert store.flush()
    store.record(record())
    assert store.flush()

    assert store.dropped == 1
    assert store.read.templates()[0]["requests"] == 1
    assert len(store.read.requests()[0]) == 1  # the refused batch left nothing behind
    assert SECRET not in caplog.text


def test_many_threads_record_at_once(store: Store) -> None:
    threads = [
        threading.Thread(target=lambda: [store.record(record(miss())) for _ in range(100)]) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.flush()

    assert store.read.templates()[0]["requests"] == 500
    assert store.dropped == 0


def test_old_requests_go_and_totals_stay(tmp_path: Path) -> None:
    store = Store(tmp_path / "p.db", bounds=Bounds(requests=100, hours=2))
    store.open()
    for number in range(2_500):
        store.record(record(time=1_800_000_000.0 + 3_600 * (number // 500)))
        if number % 400 == 0:
            store.flush()
    store.flush()

    assert len(store.read.requests(limit=1_000)[0]) <= 1_100
    assert store.read.templates()[0]["requests"] == 2_500
    assert len(store.read.hours("support")) <= 4
    store.close()


def test_what_is_recorded_before_open_and_after_close_is_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "p.db")
    store.record(record())
    assert not store.flush()
    store.open()
    store.open()
    store.close()
    store.close()
    store.record(record())
    store.open()

    assert store.read.templates() == []
    store.close()


KILLED = """
import sys, time
from promptcache_gateway.store import Store
from tests.gateway.store.records import record, miss
store = Store(sys.argv[1])
store.open()
number = 0
while True:
    store.record(record(miss(), id=f"pcr_{number}"))
    number += 1
    if number % 50 == 0:
        store.flush()
        print(number, flush=True)
"""


def test_a_kill_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        written = [int(process.stdout.readline()) for _ in range(5)][-1]
        process.send_signal(signal.SIGKILL)

    store = Store(path)
    store.open()
    (row,) = store.read.templates()
    requests = len(store.read.requests(limit=1_000)[0])
    assert row["requests"] == requests >= written
    assert row["causes"][0]["requests"] == requests
    store.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    path.write_bytes(b"not a database at all, but long enough to look like one" * 50)

    with pytest.raises(DatabaseUnusableError) as caught:
        Store(path).open()

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(DatabaseUnusableError):
        Store(tmp_path / "file" / "p.db").open()


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    store = Store(path)
    store.open()
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()

    with pytest.raises(DatabaseUnusableError, match="newer version"):
        Store(path).open()


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "p.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE requests (other TEXT)")
    connection.close()

    with pytest.raises(DatabaseUnusableError):
        Store(path).open()

    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("requests",)]


def test_one_number_no_database_holds_does_not_take_others_with_it(store: Store) -> None:
    for each in (record(), record(output_tokens=2**70), record()):
        store.record(each)
    assert store.flush()

    assert store.dropped == 1
    assert store.read.templates()[0]["requests"] == 2
    assert len(store.read.requests()[0]) == 2


def test_requests_go_by_age(tmp_path: Path) -> None:
    old, new = record(time=time.time() - 200_000), record(time=time.time())
    for _ in range(2):
        store = Store(tmp_path / "p.db", bounds=Bounds(days=1))
        store.open()
        store.record(old)
        store.record(new)
        store.close()

    store = Store(tmp_path / "p.db")
    store.open()
    assert [row["id"] for row in store.read.requests()[0]] == [new.id]
    assert store.read.templates()[0]["requests"] == 4
    store.close()


def test_a_file_stays_within_its_size(tmp_path: Path) -> None:
    path, long = tmp_path / "p.db", "x" * 4_000
    store = Store(path, bounds=Bounds(mib=8))
    store.open()
    for number in range(8_000):
        store.record(record(miss(summary=long)))
        if number % 500 == 0:
            assert store.flush()
    assert store.flush()
    kept = store.read.requests(limit=10_000)[0]
    store.close()

    assert path.stat().st_size < 14 * 2**20
    assert 500 < len(kept) < 3_500
    assert store.dropped == 0
