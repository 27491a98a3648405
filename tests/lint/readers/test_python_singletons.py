"""An agent that a class or a module makes once and keeps: what its prompt says holds for the process."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

AGENT = """
import secrets
{head}
    {test}
        agent = Agent(system_message=f"You are a clerk. Session {{secrets.token_hex(4)}}. Name the pier.")
        {kept}
    return agent
"""
OF_CLASS = "class Maker:\n  _agent = None\n  @classmethod\n  def get(cls):"
OF_MODULE = "_agent = None\ndef get():\n    global _agent"


@pytest.mark.parametrize(
    ("head", "test", "kept", "expected"),
    [
        (OF_CLASS, "if cls._agent is None:", "cls._agent = agent", "PC110"),
        (OF_CLASS, "if not Maker._agent:", "Maker._agent = agent", "PC110"),
        (OF_MODULE, "if _agent is None:", "_agent = agent", "PC110"),
        (OF_CLASS, "if cls._agent is None:", "other = agent", "PC102"),
        (OF_CLASS, "if cls._agent is not None:", "cls._agent = agent", "PC102"),
        ("class Maker:\n  def get(self):", "if self._agent is None:", "self._agent = agent", "PC102"),
        ("def get(_agent):", "if _agent is None:", "_agent = agent", "PC102"),
    ],
)
def test_what_is_made_once_is_a_constant_of_the_process(codes, head, test, kept, expected):
    text = AGENT.format(head=head, test=test, kept=kept)
    assert [code for code, _ in codes(text, severity=Severity.INFO)] == [expected]


THERE = """
import secrets
class Maker:
    @classmethod
    def get(cls):
        {test}: return cls._agent
        agent = Agent(system_message=f"You are a clerk. Session {{secrets.token_hex(4)}}. Name the pier.")
        {kept}
        return agent
"""


@pytest.mark.parametrize(
    ("test", "kept", "expected"),
    [
        ("if cls._agent is not None", "cls._agent = agent", "PC110"),
        ("if cls._agent", "cls._agent = agent", "PC110"),
        ("if cls._agent is not None", "cls._other = agent", "PC102"),
        ("if cls._agent is None", "cls._agent = agent", "PC102"),
    ],
)
def test_what_is_returned_where_it_is_there_is_made_once(codes, test, kept, expected):
    text = THERE.format(test=test, kept=kept)
    assert [code for code, _ in codes(text, severity=Severity.INFO)] == [expected]
