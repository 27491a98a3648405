"""Which files are ruled out unparsed: those whose hints at prompts mean something else there."""

from __future__ import annotations

from textwrap import dedent

import pytest

from promptcache_lint import lint_paths
from promptcache_lint.readers.python.hinting import is_about_prompts, may_hold_prompt

FAULT = """
from datetime import datetime


class {name}:
    def instructions(self):
        text = "{text} " + "Name the article, its size and its price, and say nothing of other shops. " * 1
        return f"{{datetime.now()}} {{text}}"
"""
PLAIN = {
    "bytecode": "def run(code):\n    instructions = list(code)\n    return instructions",
    "physics": "system = Particles(3)\nsystem.step(0.1)",
    "messages to people": 'raise ValueError("Are you sure that you are in the right folder? {instructions}")',
    "browsers": 'HEADERS = {"User-Agent": "x", "userAgent": instructions}',
    "words in words": "instructions = pattern.fullmatch(text), is_coherent, memcpy",
    "docstrings": 'def instructions(code):\n    """Given the code, write it.\n\n    Extract it."""',
}
ABOUT = {
    "an address": 'instructions = "You are a clerk."',
    "an order": 'instructions = "Answer in one word: " + question',
    "in brackets": 'instructions = (\n    f"Translate {text}"\n)',
    "behind a key": 'TEXTS = {"instructions": "Summarize this."}',
    "agents": "class ShopAgent:\n    instructions: str",
    "a library": "from llm import ask\nask(instructions)",
    "a class of models": "instructions = 1\nclass MyLLM: ...",
    "a server": "import mcp\ninstructions = read()",
    "a hint of its own": "prompt = read()",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_common_words_alone_are_no_prompt(text):
    assert may_hold_prompt(text)
    assert not is_about_prompts(text)


@pytest.mark.parametrize("text", ABOUT.values(), ids=ABOUT)
def test_a_file_that_has_to_do_with_models_is_read(text):
    assert is_about_prompts(text)


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("Shop", "Look at the shelf.", []),
        ("Shop", "You are a clerk.", ["PC101"]),
        ("ShopAgent", "Look.", ["PC101"]),
    ],
)
def test_files_of_a_tree(tmp_path, monkeypatch, name, text, codes):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "shop.py"
    file.write_text(dedent(FAULT.format(name=name, text=text)))
    assert [finding.code for finding in lint_paths([tmp_path]).findings] == codes
    assert [finding.code for finding in lint_paths([file]).findings] == ["PC101"]  # named, it is read anyway
