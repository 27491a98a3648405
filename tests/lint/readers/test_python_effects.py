"""Where nobody takes the value of an expression, what it sends, binds and changes is seen all the same."""

from __future__ import annotations

import pytest

REQUEST = """client.chat.completions.create(model="m", messages=[
            {"role": "system", "content": f"You are a clerk. It is {datetime.now()}. Be brief and polite."},
            {"role": "user", "content": question},
        ])"""
HEAD = """
import logging, openai
from datetime import datetime
client = openai.OpenAI()
logger = logging.getLogger(__name__)
def ask(question, tests):
"""


@pytest.mark.parametrize(
    "statement",
    [
        "{}",
        "if {}: pass",
        "while {}: break",
        "ok = 1 if {} else 2",
        "ok = {} == 1",
        "ok = not {}",
        "if tests and {}.ok: pass",
        "if -{}[tests:1] > 1: pass",
        "print({})",
        "logger.info('%s', {})",
        "logger.info('told', extra={})",
        "size = len({})",
        "found = [test for test in tests if {}]",
        "match {}:\n        case _: pass",
        "kept = {{{}: 1}}",
        "kept = tests[{}]",
    ],
)
def test_a_request_is_seen_wherever_it_stands(codes, statement):
    found = codes(HEAD + "    " + statement.format(REQUEST) + "\n")
    assert [code for code, _ in found] == ["PC101"]


def test_a_request_in_a_coroutines_condition_is_seen(codes):
    text = HEAD.replace("def ask", "async def ask") + f"    if (await {REQUEST}).ok: pass\n"
    assert [code for code, _ in codes(text)] == ["PC101"]


def test_what_a_condition_binds_is_bound(codes):
    text = """
        from datetime import datetime
        def system_prompt():
            if (now := datetime.now()) and not now.tzinfo:
                return f"You are a clerk of our company. It is {now}. Be brief and polite to all."
        """
    assert [code for code, _ in codes(text)] == ["PC101"]


def test_what_is_only_logged_compared_or_measured_is_silent(codes):
    text = HEAD + (
        '    logger.info("You are told that it is %s", datetime.now())\n'
        '    print(f"You are asked at {datetime.now()}")\n'
        "    if datetime.now() > tests:\n"
        "        pass\n"
        '    system_prompt = f"You are a clerk with {len([datetime.now()])} clocks. Be brief and polite."\n'
        "    return system_prompt\n"
    )
    assert codes(text) == []


def test_a_list_that_a_condition_fills_is_filled(codes):
    text = """
        import time
        def add_stamp(lines):
            lines.append(str(time.time()))
            return True
        def system_prompt():
            lines = ["You are a clerk of our company."]
            if add_stamp(lines):
                lines.append("Be brief and polite, and never promise anything.")
            return " ".join(lines)
        """
    assert [code for code, _ in codes(text)] == ["PC101"]
