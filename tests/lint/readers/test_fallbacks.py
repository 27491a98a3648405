"""A clock or an id that is taken only where something else is missing."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity, lint_text
from promptcache_lint.settings import Settings

RULES = "Answer as the clerk of a shop would, and be kind. Never promise what the rules do not hold. " * 5
PYTHON = f"""
from datetime import datetime
from uuid import uuid4
from openai import OpenAI
RULES = {RULES!r}
def ask(history, note, options, now=None):
    value = VALUE
    messages = [{{"role": "system", "content": f"{{value}} {{RULES}}"}}, *history]
    return OpenAI().chat.completions.create(model="m", messages=messages)
"""
TYPESCRIPT = f"""
import OpenAI from "openai";
const RULES = {RULES!r};
export async function ask(history: Message[], note: Note, options: Options, now?: Date) {{
  const value = VALUE;
  const messages = [{{role: "system", content: `${{value}} ${{RULES}}`}}, ...history];
  return new OpenAI().chat.completions.create({{model: "m", messages}});
}}
"""
IN_PYTHON = {
    "note.created_at or datetime.now()": None,
    "(getattr(note, 'created_at', None) or datetime.now()).isoformat()": None,
    "note.sent_at if note.sent_at else datetime.now()": None,
    "note.get('timestamp') or datetime.now()": None,
    "options.stamp or datetime.now()": Severity.WARNING,
    "options.run_key or uuid4()": Severity.WARNING,
    "options['now'] or datetime.now()": Severity.ERROR,
    "now or datetime.now()": Severity.ERROR,
    "datetime.now() or note.created_at": Severity.ERROR,
}
IN_TYPESCRIPT = {
    "note.createdAt ?? new Date().toISOString()": None,
    "(note.sentAt || new Date()).toISOString()": None,
    "options.stamp ?? new Date().toISOString()": Severity.WARNING,
    "options.now ?? new Date().toISOString()": Severity.ERROR,
    "now ?? new Date().toISOString()": Severity.ERROR,
}


def _worst(program: str, value: str, name: str) -> Severity | None:
    found = lint_text(program.replace("VALUE", value), name, Settings(severity=Severity.WARNING)).findings
    return max((each.severity for each in found), default=None)


@pytest.mark.parametrize(("value", "severity"), IN_PYTHON.items(), ids=IN_PYTHON)
def test_python(value, severity):
    assert _worst(PYTHON, value, "clerk.py") == severity


@pytest.mark.parametrize(("value", "severity"), IN_TYPESCRIPT.items(), ids=IN_TYPESCRIPT)
def test_typescript(value, severity):
    assert _worst(TYPESCRIPT, value, "clerk.ts") == severity
