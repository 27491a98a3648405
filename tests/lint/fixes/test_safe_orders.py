"""What safe fixes sort, and what they leave alone because it may not compare or has an order already."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint.cli import main

HEAD = """\
import glob, json, orjson, os, pathlib
import json as j
from openai import OpenAI

client = OpenAI()
RULES = "You are a clerk of our company. Be brief and polite, and never promise anything. "
TOOLS = {"mail": {"type": "function"}, "search": {"type": "function"}}


def send(extra, history):
    messages = [{"role": "system", "content": RULES + extra + " Be kind to all."}, *history]
    return client.chat.completions.create(model="m", messages=messages)


"""


@pytest.fixture
def fixed(tmp_path, monkeypatch, capsys):
    """``fixed(text, *options)``: the text behind HEAD after ``--fix``."""
    monkeypatch.chdir(tmp_path)

    def run(text, *options):
        (tmp_path / "agent.py").write_text(HEAD + dedent(text).lstrip("\n"), encoding="utf-8")
        main(["agent.py", "--fix", "--no-cache", *options])
        capsys.readouterr()
        return (tmp_path / "agent.py").read_text(encoding="utf-8").removeprefix(HEAD)

    return run


TOOLBOX = """
def ask(names: {said}, history):
    wanted = set(names)
    tools = [TOOLS[name] for name in wanted]
    return client.chat.completions.create(model="m", messages=history, tools=tools)
"""
SORTED = {
    'send(", ".join(u.name for u in {Tool(x) for x in d}), h)': (
        'send(", ".join(sorted(u.name for u in {Tool(x) for x in d})), h)'
    ),
    'send(", ".join([u.name for u in set(d)]), h)': 'send(", ".join(sorted([u.name for u in set(d)])), h)',
    'send("".join("- " + u for u in set(d)), h)': 'send("".join("- " + u for u in sorted(set(d))), h)',
    'send("".join(f"{n} " for n in {"b", "a"}), h)': 'send("".join(f"{n} " for n in sorted({"b", "a"})), h)',
    'send("".join(open(p).read() for p in pathlib.Path(d).glob("*")), h)': (
        'send("".join(open(p).read() for p in sorted(pathlib.Path(d).glob("*"))), h)'
    ),
    'send("\\n".join(list(x for x in set(d))), h)': 'send("\\n".join(sorted(list(x for x in set(d)))), h)',
    "send(j.dumps(d), h)": "send(j.dumps(d, sort_keys=True), h)",
    "send(orjson.dumps(d, option=None).decode(), h)": (
        "send(orjson.dumps(d, option=orjson.OPT_SORT_KEYS).decode(), h)"
    ),
}


@pytest.mark.parametrize("call", SORTED)
def test_what_compares_is_sorted(fixed, call):
    assert fixed(f"def ask(d, h):\n    return {call}\n") == f"def ask(d, h):\n    return {SORTED[call]}\n"


@pytest.mark.parametrize("said", ["list[str]", "set[str]", "tuple[str, ...]", "frozenset[int]"])
def test_the_names_of_tools_are_sorted_and_not_the_tools(fixed, said):
    text = TOOLBOX.format(said=said)
    assert fixed(text) == text.lstrip("\n").replace("in wanted]", "in sorted(wanted)]")


@pytest.mark.parametrize("said", ["list", "list[str | None]", "set[Tool]", "dict", "tuple[str, int]"])
def test_tools_by_names_of_unknown_kind_are_sorted_when_asked(fixed, said):
    text = TOOLBOX.format(said=said)
    assert fixed(text) == text.lstrip("\n")
    assert "key=str)" in fixed(text, "--unsafe-fixes")


def test_a_set_that_grows(fixed):
    text = """
        def ask(rows, h):
            seen = set()
            for row in rows:
                seen.add({0})
            out = ""
            for each in seen:
                out += str(each)
            return send(out, h)
        """
    assert "in sorted(seen):" in fixed(text.replace("{0}", 'f"{row}"'))
    assert "sorted" not in fixed(text.replace("{0}", "row"))


@pytest.mark.parametrize(
    "body",
    [
        'send("".join(f"{u}" for u in first for v in set(d)), h)',
        'send(f"{set(d)}", h)',
        "send(str(list(map(TOOLS.get, frozenset(d)))), h)",
        "send(codec.dumps(json.loads(d)), h)",
        "send(json.dumps({1: d, 'a': 2}), h)",
        "send(orjson.dumps(d, None, orjson.OPT_INDENT_2).decode(), h)",
        "send(orjson.dumps(d, option=orjson.OPT_INDENT_2 if d else None).decode(), h)",
    ],
)
def test_what_may_not_compare_stays(fixed, body):
    text = f"def ask(d, h):\n    first = [2, 1]\n    return {body}\n"
    assert fixed(text) == text


def test_sorted_of_their_own_stays(fixed):
    text = 'def sorted(x):\n    return x\n\n\ndef ask(d, h):\n    return send(", ".join(set(d)), h)\n'
    assert fixed(text) == text


def test_values_in_templates_are_not_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (
        "You are a clerk of our company. Be brief and polite, and never promise anything.\n"
        "{% for tool in tools.values() %}\n- {{ tool.name }}\n{% endfor %}\n"
        "Always answer in the language of the user.\n"
    )
    (tmp_path / "prompt.j2").write_text(text)
    main(["prompt.j2", "--fix"])
    capsys.readouterr()
    after = text.replace("tools.values()", "tools|dictsort|map('last')")
    assert (tmp_path / "prompt.j2").read_text() == after


ACCEPTED = """
def ask(d, h):
    return send(json.dumps(d), h)
"""
NEW = """

def tell(d, h):
    return send(json.dumps(d["x"]) {}, h)
"""


def test_what_the_baseline_accepts_stays(fixed, tmp_path, capsys):
    (tmp_path / "agent.py").write_text(HEAD + ACCEPTED.lstrip("\n"))
    main(["agent.py", "--baseline", "b.json", "--no-cache"])
    capsys.readouterr()
    assert fixed(ACCEPTED, "--baseline", "b.json") == ACCEPTED.lstrip("\n")
    both = ACCEPTED + NEW.format('+ "All."')
    after = fixed(both, "--baseline", "b.json")
    assert after == both.lstrip("\n").replace('d["x"]', 'd["x"], sort_keys=True')
    (tmp_path / "agent.py").write_text(HEAD + ACCEPTED.lstrip("\n"))
    assert main(["agent.py", "--baseline", "b.json", "--no-cache", "--diff"]) == 0
    assert "Nothing could be fixed." in capsys.readouterr().err


def test_an_accepted_finding_stays_beside_a_new_one_in_its_line(fixed, tmp_path, capsys):
    before = 'def ask(d, h):\n    return send(", ".join(set(d)) + json.dumps(d), h)\n'
    (tmp_path / "agent.py").write_text(HEAD + before)
    main(["agent.py", "--baseline", "b.json", "--no-cache", "--select", "PC201"])
    capsys.readouterr()
    assert fixed(before, "--baseline", "b.json") == before.replace("set(d)", "sorted(set(d))")
