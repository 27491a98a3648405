"""Functions that hand something volatile to those that make prompts are run; those that do not, are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptcache_lint.places import Source
from promptcache_lint.readers.python.modules import parse_module
from promptcache_lint.readers.python.yields import flow_into


def flow(body):
    text = "def run(self, items):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    module = parse_module(Path("/a.py"), Source("a.py", text))
    return flow_into(module.functions["run"], {"build"})


@pytest.mark.parametrize(
    "body",
    [
        "build(time())",
        "return await build(now=time())",
        "now = time()\nmaker.build(f'{now}')",
        "run(build, time())",
        "run(maker.build, now=time())",
        "clerk = Clerk(time())\nclerk.build()",
        "found = {}\nfound['now'] = time()\nbuild(found)",
        "items['now'] = time()\nbuild(items)",
        "items.append(time())\nbuild(items)",
        "self.now = time()\nbuild(self.now)",
        "build(later)\nlater = time()",
    ],
)
def test_what_is_handed_over(body):
    assert "time" in flow(body).called


@pytest.mark.parametrize(
    "body",
    [
        "start = time()\nbuild(items)\nlog.info(time() - start)",
        "build(items)\nreturn time()",
        "other(time())\nbuild(items)",
        "self.now = time()\nself.build(items)",
        "if time() > 3:\n    build(items)",
        "other.builder(time())",
    ],
)
def test_what_is_not(body):
    assert "time" not in flow(body).called


PARTS = """
def build(stamp):
    text = f"You are a clerk of our company. {stamp} Be brief and polite, and never promise anything."
    return [{"role": "system", "content": text}, {"role": "user", "content": "Hello"}]
class Clerk:
    def __init__(self, stamp):
        self.system_prompt = f"You are a clerk of our company. {stamp} Be brief, be polite, be kind."
"""


@pytest.mark.parametrize(
    "lines",
    [
        ["from parts import build", "def start():", "    return send(build(datetime.now()))"],
        ["from parts import build as made", "def start():", "    return send(made(datetime.now()))"],
        ["from parts import Clerk", "def start():", "    return Clerk(stamp=datetime.now())"],
        [
            "from parts import Clerk as C",
            "def start():",
            "    now = datetime.now()",
            "    return C(f'{now}')",
        ],
    ],
)
def test_it_is_found_where_it_is_handed_over(tree_codes, lines):
    hint = 'LABEL = "prompt"'  # the file is read; the function says nothing of prompts
    text = "\n".join(["from datetime import datetime", hint, *lines]) + "\n"
    found = tree_codes({"agent.py": text, "parts.py": PARTS})
    assert ("agent.py", "PC101") in {(name, code) for name, code, _ in found}
