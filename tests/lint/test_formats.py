"""The formats, byte for byte where people or machines read them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from promptcache_lint import Finding, LintReport, Place, Severity, lint_paths
from promptcache_lint.formats import FORMATS, write_report

SOURCE = """\
from datetime import datetime


def now_line():
    return f"Time: {datetime.now()}"


def system_prompt():
    return now_line() + "\\nYou are a clerk of our company. Be brief and polite."
"""


@pytest.fixture
def report(tmp_path, monkeypatch):
    (tmp_path / "agent.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    found = lint_paths(["agent.py"])
    grave = tuple(replace(finding, severity=Severity.ERROR) for finding in found.findings)
    return replace(found, findings=grave)


@pytest.fixture
def odd_report():
    """A finding whose texts need escaping in every format."""
    place = Place('a,b:"<ü>%.txt', 2, 1, 3, 1)
    return LintReport((Finding("PC101", Severity.INFO, "100 %\n<&>\x00", place),), 1)


def test_full(report):
    assert write_report(report, "full") == (
        "error[PC101] clock-in-prefix: The clock (datetime.now()) reaches the system prompt; "
        "about 14 static tokens behind it cannot be reused.\n"
        "  --> agent.py:9:12\n"
        ' 9 |     return now_line() + "\\nYou are a clerk of our company. Be brief and polite."\n'
        "   |            ^^^^^^^^^^\n"
        "  the value comes from agent.py:5:21\n"
        ' 5 |     return f"Time: {datetime.now()}"\n'
        "   |                     ^^^^^^^^^^^^^^\n"
        "  remedy: Pass the time in the newest user turn (`chat.user(text, now=…)`), behind all static text, "
        "or give the model a clock tool.\n"
        "\n"
        "Found 1 error in 1 file.\n"
    )


def test_colours_only_when_asked(report):
    assert "\033[" not in write_report(report, "full")
    assert "\033[31m" in write_report(report, "full", colour=True)


def test_json(report):
    (item,) = json.loads(write_report(report, "json"))
    assert item == {
        "code": "PC101",
        "name": "clock-in-prefix",
        "severity": "error",
        "message": "The clock (datetime.now()) reaches the system prompt; "
        "about 14 static tokens behind it cannot be reused.",
        "filename": "agent.py",
        "location": {"row": 9, "column": 12},
        "end_location": {"row": 9, "column": 22},
        "source": {"filename": "agent.py", "row": 5, "column": 21},
        "flow": [
            {"filename": "agent.py", "row": 5, "column": 21},
            {"filename": "agent.py", "row": 9, "column": 12},
        ],
        "segment": "system",
        "stranded_tokens": 14,
        "fix": None,
        "url": "https://promptcache.dev/rules/PC101",
    }


def test_sarif(report):
    log = json.loads(write_report(report, "sarif"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "PC101"
    assert result["level"] == "error"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "agent.py"
    assert location["region"] == {"startLine": 9, "startColumn": 12, "endLine": 9, "endColumn": 22}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps] == [5, 9]


def test_github(report):
    assert write_report(report, "github") == (
        "::error file=agent.py,line=9,col=12,endLine=9,endColumn=22,title=PC101 clock-in-prefix::"
        "The clock (datetime.now()) reaches the system prompt; about 14 static tokens behind it cannot be "
        "reused.\n"
    )


def test_github_escapes(odd_report):
    line = write_report(odd_report, "github")
    assert line.startswith('::notice file=a%2Cb%3A"<ü>%25.txt,line=2,')
    assert line.count("\n") == 1


def test_gitlab(report, odd_report):
    (issue,) = json.loads(write_report(report, "gitlab"))
    assert issue["location"] == {"path": "agent.py", "lines": {"begin": 9, "end": 9}}
    assert issue["severity"] == "major"
    (other,) = json.loads(write_report(odd_report, "gitlab"))
    assert issue["fingerprint"] != other["fingerprint"]


def test_gitlab_whole(report):
    text = write_report(report, "gitlab")
    (issue,) = json.loads(text)
    assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert issue["check_name"] == "PC101"
    assert issue["description"].startswith("PC101 The clock (datetime.now())")
    assert text == write_report(report, "gitlab")


def test_gitlab_fingerprints_stay_when_lines_move(report, tmp_path):
    (tmp_path / "agent.py").write_text("\n\n" + SOURCE)
    moved = lint_paths(["agent.py"])
    before, after = (json.loads(write_report(each, "gitlab"))[0] for each in (report, moved))
    assert before["location"] != after["location"]
    assert before["fingerprint"] == after["fingerprint"]


def test_junit_whole(report):
    message = (
        "The clock (datetime.now()) reaches the system prompt; "
        "about 14 static tokens behind it cannot be reused."
    )
    remedy = report.findings[0].remedy
    assert write_report(report, "junit") == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="promptcache" tests="1" failures="1" errors="0">\n'
        '  <testsuite name="agent.py" tests="1" failures="1" errors="0">\n'
        '    <testcase name="PC101 at 9:12" classname="agent.py" time="0">\n'
        f'      <failure type="error" message="{message}">{remedy}</failure>\n'
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_junit(report, odd_report):
    root = ET.fromstring(write_report(report, "junit"))
    assert root.attrib["failures"] == "1"
    assert root.find("testsuite/testcase/failure").attrib["type"] == "error"
    odd = ET.fromstring(write_report(odd_report, "junit"))
    assert odd.attrib["failures"] == "0"
    assert ET.fromstring(write_report(LintReport((), 3), "junit")).attrib["failures"] == "0"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_writes_an_empty_report(name):
    assert isinstance(write_report(LintReport((), 3), name), str)


def test_long_lines_are_cut_around_the_finding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = "You are a clerk of our company. " * 40
    (tmp_path / "prompt.txt").write_text(f"{words}{{now}} {words}")
    text = write_report(lint_paths(["prompt.txt"]), "full")
    lines = text.splitlines()
    assert max(map(len, lines[1:4])) < 140
    assert lines[2].index("{now}") == lines[3].index("^")
