"""Rows of a database in a prompt: built queries, cursors and Django's managers, ordered and not."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text

RULES = "Answer as the clerk of a shop would, and be kind. Never promise what the rules do not hold. " * 5
PROGRAM = f"""
from openai import OpenAI
from sqlalchemy import func, select, text
RULES = {RULES!r}
class Rule(Model):
    body = TextField()
class Ranked(Model):
    class Meta:
        ordering = ["rank"]
def ask(history, session, conn, cur):
    BODY
    messages = [{{"role": "system", "content": f"{{rules}} {{RULES}}"}}, *history]
    return OpenAI().chat.completions.create(model="m", messages=messages)
"""
JOINED = "rules = ' '.join(str(row) for row in ROWS)"
UNORDERED = {
    "a cursor": ("cur.execute('SELECT body FROM rules WHERE active = 1')", "cur.fetchall()"),
    "a cursor gone through": ("cur.execute('select body from rules')", "cur"),
    "a kind": ("cur.execute(\"SELECT body FROM rules WHERE body LIKE 'tax%'\")", "cur.fetchall()"),
    "sums of groups": ("cur.execute('SELECT sum(a), max(b) FROM rules GROUP BY c')", "cur.fetchall()"),
    "a text": ("", "conn.execute(text('SELECT body FROM rules'))"),
    "a select": ("", "session.execute(select(Rule).where(Rule.active)).scalars().all()"),
    "scalars of a select": ("query = select(Rule).join(Desk)", "session.scalars(query)"),
    "a query": ("", "session.query(Rule).filter(Rule.active).all()"),
    "a manager": ("", "Rule.objects.filter(active=True)"),
    "all of a manager": ("", "Rule.objects.all().values_list('body', flat=True)"),
    "a model from elsewhere": ("from shop.models import Note", "Note.objects.exclude(old=True)"),
}
ORDERED = {
    "a cursor": ("cur.execute('SELECT body FROM rules ORDER BY id')", "cur.fetchall()"),
    "one row": ("cur.execute('SELECT body FROM rules')", "cur.fetchone()"),
    "one row of a result": ("found = session.execute(select(Rule))", "found.scalar_one_or_none().lines"),
    "sums": ("cur.execute('SELECT COALESCE(SUM(CASE WHEN a THEN 1 END), 0), max(b) FROM rules')", "cur"),
    "a search": (
        "cur.execute('SELECT body FROM rules WHERE lower(body) LIKE ? LIMIT 3', [q])",
        "cur.fetchall()",
    ),
    "asked again": (
        "cur.execute('SELECT body FROM rules'); cur.execute('SELECT body FROM rules ORDER BY id')",
        "cur.fetchall()",
    ),
    "another cursor's": ("cur.execute('SELECT body FROM rules')", "conn.fetchall()"),
    "a select": ("", "session.scalars(select(Rule).where(Rule.active).order_by(Rule.id))"),
    "ordered later": ("query = session.query(Rule)\n    query = query.order_by(Rule.id)", "query.all()"),
    "a number": ("", "session.execute(select(func.count(Rule.id)))"),
    "the first": ("", "session.query(Rule).filter(Rule.active).first()"),
    "one of a manager": ("", "Rule.objects.get(pk=1).lines"),
    "how many": ("", "range(Rule.objects.filter(active=True).count())"),
    "a manager": ("", "Rule.objects.filter(active=True).order_by('id')"),
    "an ordered model": ("", "Ranked.objects.all()"),
    "sorted": ("", "sorted(row.body for row in Rule.objects.all())"),
}


def _codes(before: str, rows: str) -> list[str]:
    body = f"{before or 'pass'}\n    {JOINED.replace('ROWS', rows)}"
    return [found.code for found in lint_text(PROGRAM.replace("BODY", body), "clerk.py").findings]


@pytest.mark.parametrize(("before", "rows"), UNORDERED.values(), ids=UNORDERED)
def test_rows_in_no_order(before, rows):
    assert _codes(before, rows) == ["PC203"]


@pytest.mark.parametrize(("before", "rows"), ORDERED.values(), ids=ORDERED)
def test_rows_in_an_order(before, rows):
    assert _codes(before, rows) == []


DRAWN = {
    "sqlite": ("cur.execute('SELECT body FROM rules ORDER BY RANDOM() LIMIT 3')", "cur.fetchall()"),
    "mysql": ("", "conn.execute(text('select body from rules order by rand() limit 3'))"),
    "a select": ("", "session.scalars(select(Rule).order_by(func.random()).limit(3))"),
    "a manager": ("", "Rule.objects.filter(active=True).order_by('?')[:3]"),
}


@pytest.mark.parametrize(("before", "rows"), DRAWN.values(), ids=DRAWN)
def test_rows_that_are_drawn_by_lot(before, rows):
    body = "\n    ".join([before or "pass", JOINED.replace("ROWS", rows)])
    found = lint_text(PROGRAM.replace("BODY", body), "shop.py").findings
    assert [finding.code for finding in found] == ["PC103"]


FOUND = [
    ("store.query_points('leases', query=vector, limit=6).points", ["PC402"]),
    ("store.search(collection_name='leases', query_vector=vector)", ["PC402"]),
    ("index.query(vector=vector, top_k=5)['matches']", ["PC402"]),
    ("leases.query.near_text(query=history[-1], limit=5).objects", ["PC402"]),
    ("store.search(collection_name='leases')", []),
    ("store.scroll('leases', limit=5)", []),
]


@pytest.mark.parametrize(("found", "expected"), FOUND)
def test_what_a_store_of_vectors_finds(found, expected):
    body = f"vector = embed(history[-1])\n    {JOINED.replace('ROWS', found)}"
    told = lint_text(PROGRAM.replace("BODY", body), "shop.py").findings
    assert [finding.code for finding in told] == expected
