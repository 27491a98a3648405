"""Windows over what a database has kept of a conversation, and reads that only look like them."""

# ruff: noqa: E501 - snippets of programs

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_lint import Settings, lint_text

if TYPE_CHECKING:
    from collections.abc import Callable

BOT = """
from openai import OpenAI
client = OpenAI()
KEEP = 20

class Bot:
    def __init__(self, db):
        self.db = db

    def turns(self, user, limit=20):
        READ
        return [{"role": row.role, "content": row.content} for row in reversed(rows)]

    def say(self, user, text):
        self.db.save(user, "user", text)
        USE
        reply = client.chat.completions.create(
            model="gpt-4.1", messages=[{"role": "system", "content": "You are a diary."}, *SENT]
        )
        self.db.save(user, "assistant", reply.choices[0].message.content)
        return reply
"""
SQL = "rows = self.db.execute('SELECT role, content FROM messages WHERE user = ? ORDER BY id DESC LIMIT LENGTH', (user,))"
READS = {
    "sql": SQL.replace("LENGTH", "20"),
    "sql with a parameter": SQL.replace("LENGTH", "?"),
    "sql of an f-string": SQL.replace("'SELECT", "f'SELECT").replace("LENGTH", "{limit}"),
    "a query inside": "rows = self.db.execute('SELECT * FROM (SELECT * FROM chat_history ORDER BY id DESC LIMIT 10) "
    "ORDER BY id ASC').fetchall()",
    "sqlalchemy": "rows = self.db.query(Message).filter_by(user=user).order_by(Message.id.desc()).limit(limit).all()",
    "sqlalchemy 2": "query = select(ChatMessage).order_by(desc(ChatMessage.id))\n"
    "        rows = self.db.scalars(query.limit(KEEP)).all()",
    "django": "rows = Message.objects.filter(user=user).order_by('-created_at')[:20]",
    "supabase": "rows = self.db.table('messages').select('*').order('id', desc=True).limit(12).execute().data",
    "mongo": "rows = list(self.db.conversations.find({'user': user}).sort('ts', -1).limit(10))",
}
OTHERS = {
    "all": "rows = self.db.execute('SELECT role, content FROM messages WHERE user = ? ORDER BY id', (user,))",
    "many": SQL.replace("LENGTH", "200"),
    "the last": SQL.replace("LENGTH", "1"),
    "the first ones": SQL.replace("DESC", "ASC").replace("LENGTH", "20"),
    "something else": SQL.replace("messages", "orders").replace("LENGTH", "5"),
    "no limit": "rows = self.db.query(Message).filter_by(user=user).order_by(Message.id.desc()).all()",
}


def _found(text: str) -> list[str]:
    report = lint_text(text, "bot.py", Settings(select=("PC501",)))
    return [finding.code for finding in report.findings]


def _bot(read: str, use: str = "pass", sent: str = "self.turns(user)") -> list[str]:
    return _found(BOT.replace("READ", read).replace("USE", use).replace("SENT", sent))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_newest_rows_are_a_window(read: str) -> None:
    assert _bot(read) == ["PC501"]
    assert _bot(read, "past = self.turns(user)", "past") == ["PC501"]


@pytest.mark.parametrize("read", OTHERS.values(), ids=OTHERS)
def test_other_rows_are_none(read: str) -> None:
    assert _bot(read) == []


def test_what_is_only_shown_is_no_message() -> None:
    assert _bot(READS["sql"], "shown = self.turns(user)", "self.all(user)") == []


def test_the_caller_says_how_many() -> None:
    assert _bot(READS["sql with a parameter"], sent="self.turns(user, limit=500)") == []
    assert _bot(READS["sql with a parameter"], sent="self.turns(user, 12)") == ["PC501"]


def test_older_messages_that_are_summed_up_are_not_lost() -> None:
    read = READS["sql"] + "\n        rows = [summarize(self.db, user), *rows]"
    assert _bot(read) == []


SAME = """
from openai import OpenAI
client = OpenAI()

def say(db, user, text):
    rows = db.execute("SELECT role, content FROM messages WHERE user = ? ORDER BY id DESC LIMIT 20", (user,)).fetchall()
    messages = [{"role": "system", "content": "You are a diary."}]
    for row in reversed(rows):
        messages.append({"role": row[0], "content": row[1]})
    messages.append({"role": "user", "content": text})
    return client.chat.completions.create(model="gpt-4.1", messages=SENT)

def show(db, user):
    rows = db.execute("SELECT role, content FROM messages WHERE user = ? ORDER BY id DESC LIMIT 20", (user,)).fetchall()
    return [{"role": row[0], "content": row[1]} for row in reversed(rows)]
"""


def test_the_function_that_reads_may_send_itself() -> None:
    assert _found(SAME.replace("SENT", "messages")) == ["PC501"]
    assert _found(SAME.replace("SENT", "[{'role': 'user', 'content': text}]")) == []


def test_a_store_of_another_module(tree_codes: Callable[..., list[tuple[str, str, int]]]) -> None:
    store = f"""
        def load_turns(db, user):
            {READS["sqlalchemy"].replace("self.db", "db").replace("limit(limit)", "limit(20)")}
            return [{{"role": row.role, "content": row.content}} for row in reversed(rows)]
    """
    bot = """
        from openai import OpenAI
        from store import load_turns

        def say(db, user, text):
            past = load_turns(db, user)
            return OpenAI().chat.completions.create(
                model="gpt-4.1", messages=[*past, {"role": "user", "content": text}]
            )
    """
    assert tree_codes({"store.py": store, "bot.py": bot}) == [("bot.py", "PC501", 5)]


LANGCHAIN = f"""
from langchain_core.messages import HumanMessage, SystemMessage

def load_history(db, user):
    {READS["mongo"].replace("self.db", "db")}
    return [HumanMessage(row["text"]) for row in reversed(rows)]

def answer(bound, db, user, text):
    history = load_history(db, user)
    return bound.invoke([SystemMessage("You plan walks."), *history, HumanMessage(text)])
"""


def test_messages_of_langchain() -> None:
    assert _found(LANGCHAIN) == ["PC501"]
    assert _found(LANGCHAIN.replace("*history, ", "")) == []
