"""``promptcache diagnose`` end to end: what a log shows is named, what it does not show is not claimed."""

from __future__ import annotations

import gc
import html.parser
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from promptcache_gateway.diagnose import main
from tests.gateway.observe.scenes import Provider, chat, rules_text

if TYPE_CHECKING:
    from collections.abc import Iterable

RULES = rules_text()
START = 1_795_953_600.0


@pytest.fixture(autouse=True)
def nobodys_prices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROMPTCACHE_PRICES", str(tmp_path / "none.json"))


def clocked(number: int) -> dict[str, Any]:
    return {**chat(f"Time: 2026-11-29T12:{number:02}:07Z\n{RULES}", f"Question {number}?"), "model": "gpt-4o"}


def steady(number: int) -> dict[str, Any]:
    return {**chat(RULES, f"Question {number}?"), "model": "gpt-4o"}


def write(path: Path, bodies: Iterable[dict[str, Any]], *, usage: bool = True, times: bool = True) -> str:
    """A log of our own form, served by a simulated provider."""
    provider = Provider()
    entries = []
    for number, body in enumerate(bodies):
        now = START + 20 * number
        counted = provider.serve(body, now)
        entry: dict[str, Any] = {"request": body}
        if usage:
            details = {"cached_tokens": counted.cache_read}
            entry["usage"] = {"prompt_tokens": counted.total_input, "prompt_tokens_details": details}
            entry["usage"]["completion_tokens"] = 7
        if times:
            entry["time"] = now
        entries.append(json.dumps(entry))
    path.write_text("\n".join(entries))
    return str(path)


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main([*arguments, "--output-format", "json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, told


def test_a_clock_is_named_with_its_place_and_its_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "log.jsonl", [clocked(number) for number in range(10)])

    status, told = report(capsys, log)

    assert status == 1
    (template,) = told["templates"]
    assert (template["requests"], template["hit_rate"]) == (10, 0.0)
    assert template["achievable_hit_rate"] > 0.8
    cause = template["causes"][0]
    assert (cause["code"], cause["requests"], cause["attribution"]) == ("PC101", 9, "caller")
    assert cause["lost_usd"] == pytest.approx(cause["lost_tokens"] * 1.25 / 1e6)
    assert cause["example"]["path"] == "messages[0]"
    assert "12:00:07" in cause["example"]["before"]
    assert told["formats"] == {"plain": 10}


def test_a_log_without_faults_is_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, told = report(capsys, write(tmp_path / "log.jsonl", [steady(number) for number in range(6)]))

    assert status == 0
    assert told["total"]["lost_tokens"] == 0
    assert {cause["code"] for cause in told["total"]["causes"]} == {"PC801"}
    assert told["total"]["saved_usd"] > 0


def test_a_log_that_does_not_count_is_no_evidence_against_the_upstream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = [steady(1), steady(2), clocked(3), clocked(4), clocked(5)]
    status, told = report(capsys, write(tmp_path / "log.jsonl", bodies, usage=False, times=False))

    total = told["total"]
    codes = {cause["code"] for cause in total["causes"]}
    assert status == 1
    assert "PC101" in codes
    assert not codes & {"PC802", "PC809", "PC810"}
    assert total["hit_rate"] is None
    assert total["cached_tokens"] is None
    assert total["lost_usd"] is None
    assert total["estimated"]
    assert total["lost_tokens"] > 0


def test_bad_lines_are_counted_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    write(log, [steady(1)])
    with log.open("a") as file:
        file.write('\n{bad\n{"x": 1}\n{"messages": [{"role": 1}]}\n')

    status, told = report(capsys, str(log))

    assert status == 0
    assert told["bad_lines"] == 3
    assert [one["line"] for one in told["bad"]] == [2, 3, 4]
    assert "messages[0].role" in told["bad"][2]["problem"]


@pytest.mark.parametrize("text", ["", "{bad", '{"x": 1}\n'])
def test_a_log_without_requests_could_not_be_diagnosed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(text)
    assert main([str(log)]) == 2
    assert "no request of a known form" in capsys.readouterr().err
    assert main([str(tmp_path / "nothing")]) == 2


def test_an_expired_prefix_is_expected_only_where_times_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    usage = {"input_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 3_000}
    marked = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    entries = [
        {
            "request": {
                "model": "claude-sonnet-4-5",
                "system": marked,
                "messages": [{"role": "user", "content": question}],
            },
            "usage": usage,
            "time": START + after,
        }
        for question, after in (("One?", 0), ("Two?", 900))
    ]
    log.write_text("\n".join(map(json.dumps, entries)))

    status, told = report(capsys, str(log))

    assert status == 0
    assert [cause["code"] for cause in told["total"]["causes"]] == ["PC802", "PC801"]


def test_a_fault_behind_an_expiry_is_still_the_callers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clock would break each prefix that the pauses have ended already."""
    provider = Provider()
    lines = []
    for number in range(4):
        usage = provider.serve(clocked(number), START + 4_000 * number)
        counted = {"prompt_tokens": usage.total_input, "prompt_tokens_details": {"cached_tokens": 0}}
        entry = {"request": clocked(number), "usage": counted, "time": START + 4_000 * number}
        lines.append(json.dumps(entry))
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(lines))
    status, told = report(capsys, str(log))

    causes = {cause["code"]: cause for cause in told["total"]["causes"]}
    assert (causes["PC802"]["requests"], causes["PC802"]["attribution"]) == (3, "expected")
    assert causes["PC802"]["example"]["path"] is None
    assert (causes["PC101"]["requests"], causes["PC101"]["attribution"]) == (0, "caller")
    assert causes["PC101"]["example"]["path"] == "messages[0]"
    assert "12:01" in causes["PC101"]["example"]["after"]
    assert status == 1


def test_two_causes_have_an_example_each_at_its_own_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def body(number: int, said: str) -> dict[str, Any]:
        talk = ("Where is my order?", said + RULES, "And the other one?")
        return {**chat(f"Time: 2026-11-29T12:{number:02}:07Z\nRules.\n{RULES}", *talk), "model": "gpt-4o"}

    log = write(tmp_path / "log.jsonl", [body(1, "On its way. "), body(2, "It is on its way. ")])
    _, told = report(capsys, log)

    places = {cause["code"]: cause["example"]["path"] for cause in told["total"]["causes"][:2]}
    assert places == {"PC101": "messages[0]", "PC502": "messages[2]"}
    assert told["templates"][0]["mixed"] is False


def test_a_transcript_blames_nobody_for_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "session.jsonl"
    lines = []
    for number in range(3):
        moment = f"2026-11-29T12:00:{10 * number:02}Z"
        base = {"sessionId": "s", "timestamp": moment}
        lines.append(
            {**base, "type": "user", "message": {"role": "user", "content": f"Step {number}, please."}}
        )
        usage = {"input_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 20_000}
        message = {"id": f"m{number}", "model": "claude-opus-4-6", "content": [], "usage": usage}
        lines.append({**base, "type": "assistant", "message": message})
    log.write_text("\n".join(map(json.dumps, lines)))

    status, told = report(capsys, str(log))

    assert status == 0
    assert told["formats"] == {"claude-code": 6}
    assert told["total"]["requests"] == 3
    assert {cause["code"] for cause in told["total"]["causes"]} <= {"PC801"}
    assert told["total"]["lost_tokens"] == 0


class Page(html.parser.HTMLParser):
    """What a page would load, and what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [str(value) for name, value in attrs if name in {"src", "href", "action", "onerror"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_needs_nothing_else_and_escapes_what_a_log_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bodies = [
        {
            **chat(f"<script>alert({number})</script><img src=x onerror=alert(1)>\n{RULES}", "Hi?"),
            "model": "gpt-4o",
        }
        for number in (111_111, 222_222, 333_333)
    ]
    page_file = tmp_path / "report.html"

    main([write(tmp_path / "log.jsonl", bodies), "--html", str(page_file)])

    page = Page()
    page.feed(page_file.read_text(encoding="utf-8"))
    assert page.loads == []
    assert not {"script", "img", "link", "iframe"} & set(page.tags)
    assert "alert(" in page.text
    assert "url(" not in page_file.read_text(encoding="utf-8")
    capsys.readouterr()


def test_words_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([write(tmp_path / "log.jsonl", [clocked(number) for number in range(5)])])

    shown = capsys.readouterr().out
    assert "5 requests, 2026-11-29 12:00 UTC to" in shown
    assert "PC101" in shown
    assert "in messages[0], character" in shown
    assert "\x1b" not in shown


def test_what_two_causes_show_is_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Static text behind a clock stands where the clock does."""
    page = tmp_path / "report.html"
    main([write(tmp_path / "log.jsonl", [clocked(number) for number in range(5)]), "--html", str(page)])

    shown = capsys.readouterr().out
    assert "PC101" in shown
    assert "PC401" in shown
    assert shown.count("+ Time: 2026") == 1
    assert page.read_text().count("<ins>") == 1


def test_it_loads_neither_database_nor_server() -> None:
    code = (
        "import sys; import promptcache_gateway.diagnose.cli\n"
        "print([m for m in ('sqlalchemy', 'prometheus_client', 'fastapi', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_set_for_speed_is_set_back(tmp_path: Path) -> None:
    before = gc.get_threshold()
    log = tmp_path / "log.jsonl"
    log.write_text('{"model": "m", "usage": {"prompt_tokens": 2000}}\n', encoding="utf-8")

    assert main([str(log), "--quiet"]) == 0
    assert gc.get_threshold() == before
    assert main([str(tmp_path / "none"), "--quiet"]) == 2
    assert gc.get_threshold() == before


def test_lines_with_bytes_that_are_no_utf_8_are_read_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path(write(tmp_path / "log.jsonl", [steady(number) for number in range(4)]))
    log.write_bytes(log.read_bytes().replace(b"Question 2?", b"Question 2\xff?"))
    page = tmp_path / "report.html"

    status, told = report(capsys, str(log), "--html", str(page))

    assert (status, told["mended_lines"], told["bad_lines"], told["total"]["requests"]) == (0, 1, 0, 4)
    assert "1 line with bytes that are no UTF-8" in page.read_text("utf-8")
    assert main([str(log), "--quiet"]) == 0
    assert "1 line with bytes that are no UTF-8" in capsys.readouterr().out


def test_a_prompt_that_was_counted_is_no_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"model": "m", "usage": {"prompt_tokens": 2000, "completion_tokens": 1}}\n', "utf-8")

    assert main([str(log), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "  2,000 prompt tokens; the log does not say what was read" in shown
    assert "PC810" in shown


def test_the_page_never_replaces_the_log_and_is_refused_before_the_log_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Path(write(tmp_path / "log.jsonl", [steady(0)]))
    before = log.read_bytes()
    linked = tmp_path / "page.html"
    linked.symlink_to(log)

    for page in (log, linked, tmp_path, tmp_path / "none" / "page.html"):
        assert main([str(log), "--html", str(page), "--quiet"]) == 2
        told = capsys.readouterr()
        assert (told.out, told.err.count("another file")) == ("", 1)
    assert log.read_bytes() == before
