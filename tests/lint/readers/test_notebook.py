"""Notebooks: places are told in the file, whatever the cells hold."""

from __future__ import annotations

import json

import pytest

from promptcache_lint import Settings, Severity, lint_text

CELL = [
    "from datetime import datetime\n",
    "def system_prompt():\n",
    '    greeting = "Grüß \\"Gott\\" 😀"\n',
    '    return f"You are a clerk. {greeting} It is {datetime.now():%H:%M}. Be brief and polite."',
]


def notebook(*cells, kind="code", indent=1, ascii_only=False):
    body = {"cells": [{"cell_type": kind, "metadata": {}, "source": cell} for cell in cells], "nbformat": 4}
    return json.dumps(body, indent=indent, ensure_ascii=ascii_only)


def found(text, name="agent.ipynb"):
    return lint_text(text, name, Settings(severity=Severity.WARNING)).findings


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("indent", [1, None])
def test_the_place_is_where_the_file_spells_it(ascii_only, indent):
    text = notebook(["# heading\n", "x = 1"], CELL, indent=indent, ascii_only=ascii_only)
    (finding,) = found(text)
    assert finding.code == "PC101"
    line = text.split("\n")[finding.place.row - 1]
    spelled = line[finding.place.column - 1 : finding.place.end_column - 1]
    assert "datetime.now()" in spelled or spelled.startswith("datetime")


def test_the_place_of_what_is_done_to_a_conversation_is_where_the_file_spells_it():
    lines = [
        "import openai\n",
        "def ask(history):\n",
        '    return openai.OpenAI().chat.completions.create(model="m", messages=history[-8:])\n',
    ]
    text = notebook("x = 1", lines)
    (finding,) = found(text)
    assert finding.code == "PC501"
    line = text.split("\n")[finding.place.row - 1]
    assert line[finding.place.column - 1 : finding.place.end_column - 1] == "history[-8:]"


def test_a_cell_may_be_one_string():
    text = notebook("".join(CELL))
    (finding,) = found(text)
    line = text.split("\n")[finding.place.row - 1]
    assert line[finding.place.column - 1 :].startswith("datetime.now()")


def test_cells_share_their_names():
    first = ["import uuid\n", "def tag():\n", "    return uuid.uuid4().hex"]
    second = ["def system_prompt():\n", "    return f'Run {tag()}. You are a clerk. Be brief and polite.'"]
    (finding,) = found(notebook(first, second))
    assert finding.code == "PC102"
    assert finding.source is not None
    assert finding.source.row < finding.place.row


def test_magics_shell_lines_and_broken_cells_are_left_out():
    noise = ["%matplotlib inline\n", "!pip install openai\n", "if True:\n", "    %time f()\n", "print?"]
    text = notebook(noise, ["this is no python"], ["%%bash\n", "echo 'You are'"], CELL)
    assert [finding.code for finding in found(text)] == ["PC101"]


def test_markdown_and_outputs_are_silent():
    assert found(notebook(CELL, kind="markdown")) == ()


@pytest.mark.parametrize("alone", [True, False])
def test_suppression(alone):
    comment = "# promptcache: ignore[PC101] shown on purpose"
    lines = [*CELL[:3], f"    {comment}\n", CELL[3]] if alone else [*CELL[:3], f"{CELL[3]}  {comment}"]
    assert found(notebook(lines)) == ()


def test_what_is_no_notebook_is_said_once():
    cell = '{"cell_type": "code", "source": %s}'
    cells = ("3", "[7]", f"[{cell % 3}]", f"[{cell % 'null'}]", f"[{cell % '[1]'}]", "{}")
    for text in ("[]", "{", '"prompt"', *(f'{{"cells": {each}}}' for each in cells)):
        assert [finding.code for finding in found(text)] == ["PC900"], text
    for text in (
        "{}",
        '{"cells": []}',
        '{"cells": [{"cell_type": "raw", "source": 3}, {"cell_type": "code"}]}',
    ):
        assert found(text) == ()


@pytest.mark.parametrize(
    "before", [[], "", ["frame?\n", "\n", "\n", "x = 1"], ["\n", "\n", "  %time x\n", "\n"]]
)
def test_lines_stay_where_they_are_beside_empty_cells_and_magics(before):
    findings = found(notebook(before, CELL, indent=None))
    assert [finding.code for finding in findings] == ["PC101"]


def test_a_notebook_is_no_product_and_holds_no_error():
    lines = [
        "import openai, time\n",
        "def ask(talk):\n",
        '    rules = f"It is {time.time()}. " + "Answer as a clerk would, and be kind to all. " * 20\n',
        '    messages = [{"role": "system", "content": rules}, *talk]\n',
        '    return openai.OpenAI().chat.completions.create(model="m", messages=messages)\n',
    ]
    program = lint_text("".join(lines), "agent.py").findings
    assert [str(finding.severity) for finding in program] == ["error"]
    assert [str(finding.severity) for finding in found(notebook(lines))] == ["warning"]
