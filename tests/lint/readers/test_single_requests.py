"""Rows in no order where one short request ends with them: nothing behind them could be reused."""

from __future__ import annotations

import pytest

from promptcache_lint import Settings, Severity, lint_text

PYTHON = """
from openai import OpenAI
client = OpenAI()

def answer(db, shop, question, history):
    rows = db.execute("SELECT name, price FROM products WHERE shop = ?", (shop,)).fetchall()
    listing = "\\n".join(f"{name}: {price}" for name, price in rows)
    return client.chat.completions.create(model="gpt-4o-mini", MORE messages=[
        {"role": "system", "content": f"TITLE{listing}END"}, TALK {"role": "user", "content": question}])
"""
TYPESCRIPT = """
import OpenAI from "openai";
import { db } from "./db";
const openai = new OpenAI();
export async function answer(shopId: string, question: string, history: any[]) {
  const rows = await db.product.findMany({ where: { shopId } });
  const list = rows.map((r) => `${r.name}: ${r.price}`).join("\\n");
  return openai.chat.completions.create({ model: "gpt-4o-mini", MORE
    messages: [{ role: "system", content: `TITLE${list}END` }, TALK { role: "user", content: question }] });
}
"""
RULES = "Never promise a delivery. Name the price with tax. " * 8
_CASES = [
    ("# Products\\n", "", "", "", "INFO"),
    ("You sell tea.\\n", "\\nBe brief.", "", "", "INFO"),
    ("You sell tea.\\n", RULES, "", "", "WARNING"),
    ("You sell tea. " * 400, "", "", "", "WARNING"),
    ("# Products\\n", "", "HISTORY", "", "WARNING"),
]


def _severities(text: str, name: str) -> list[str]:
    settings = Settings(select=("PC203",), severity=Severity.INFO)
    return [finding.severity.name for finding in lint_text(text, name, settings).findings]


def _filled(text: str, title: str, end: str, talk: str, more: str) -> str:
    return text.replace("TITLE", title).replace("END", end).replace("TALK", talk).replace("MORE", more)


@pytest.mark.parametrize(("title", "end", "talk", "more", "severity"), _CASES)
def test_rows_behind_a_title(title: str, end: str, talk: str, more: str, severity: str) -> None:
    text = _filled(PYTHON, title, end, talk.replace("HISTORY", "*history,"), more)
    assert _severities(text, "shop.py") == [severity]


@pytest.mark.parametrize(
    ("title", "end", "talk", "more", "severity"),
    [*_CASES, ("# Products\\n", "", "", "tools: TOOLS,", "WARNING")],
)
def test_rows_behind_a_title_in_typescript(title: str, end: str, talk: str, more: str, severity: str) -> None:
    pytest.importorskip("tree_sitter_typescript")
    text = _filled(TYPESCRIPT, title, end, talk.replace("HISTORY", "...history,"), more)
    assert _severities(text, "shop.ts") == [severity]


def test_a_list_that_is_made_before_may_grow() -> None:
    text = _filled(PYTHON, "# Products\\n", "", "", "").replace("messages=[", "messages=talk or [")
    assert "WARNING" in _severities(text, "shop.py")
