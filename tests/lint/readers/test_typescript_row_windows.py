"""Windows over what a database has kept of a talk in TypeScript, and reads that only look like them."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("tree_sitter_typescript")

from promptcache_lint import Settings, lint_text

if TYPE_CHECKING:
    from collections.abc import Callable

ROUTE = """
import OpenAI from "openai";
import { desc, eq } from "drizzle-orm";
import { prisma, db, supabase, Message, pool } from "./db";
import { messages as saved } from "./schema";
const client = new OpenAI();
const KEEP = 20;

export async function POST(req: Request) {
  const { chatId, text } = await req.json();
  READ
  const history = rows.reverse().map((m: any) => ({ role: m.role, content: m.content }));
  const reply = await client.chat.completions.create({
    model: "gpt-4o",
    messages: [{ role: "system", content: "You are kind." }, ...SENT, { role: "user", content: text }],
  });
  return Response.json(reply);
}
"""
PRISMA = 'const rows = await prisma.message.findMany({ where: { chatId }, orderBy: { createdAt: "desc" }, take: 20 });'
READS = {
    "prisma": PRISMA,
    "a constant": PRISMA.replace("20", "KEEP"),
    "drizzle": "const rows = await db.select().from(messages).where(eq(messages.chatId, chatId)).orderBy(desc(messages.id)).limit(12);",
    "supabase": 'const { data: rows } = await supabase.from("chat_messages").select("*").eq("chat", chatId).order("id", { ascending: false }).limit(10);',
    "mongoose": "const rows = await Message.find({ chatId }).sort({ createdAt: -1 }).limit(10).lean();",
    "sql": 'const rows = await pool.any("SELECT role, content FROM messages WHERE chat = $1 ORDER BY id DESC LIMIT 20", [chatId]);',
}
OTHERS = {
    "all": PRISMA.replace(", take: 20", ""),
    "many": PRISMA.replace("20", "200"),
    "the last": PRISMA.replace("20", "1"),
    "the first ones": PRISMA.replace("desc", "asc"),
    "something else": PRISMA.replace("prisma.message", "prisma.product"),
}


def _found(read: str, sent: str = "history") -> list[str]:
    text = ROUTE.replace("READ", read).replace("SENT", sent)
    report = lint_text(text, "app/api/chat/route.ts", Settings(select=("PC501",)))
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_the_newest_rows_are_a_window(read: str) -> None:
    assert _found(read) == ["PC501"]


@pytest.mark.parametrize("read", OTHERS.values(), ids=OTHERS)
def test_other_rows_are_none(read: str) -> None:
    assert _found(read) == []


def test_what_is_only_shown_is_no_message() -> None:
    assert _found(PRISMA, "[]") == []


def test_a_store_of_another_module(tree_codes: Callable[..., list[tuple[str, str, int]]]) -> None:
    store = """
        import { prisma } from "./db";
        export async function loadTurns(chatId: string) {
          const rows = await prisma.message.findMany({ where: { chatId }, orderBy: { createdAt: "desc" }, take: 20 });
          return rows.reverse().map((m: any) => ({ role: m.role, content: m.content }));
        }
    """
    bot = """
        import OpenAI from "openai";
        import { loadTurns } from "./store";
        const client = new OpenAI();
        export async function say(chatId: string, text: string) {
          const past = await loadTurns(chatId);
          return client.chat.completions.create({ model: "gpt-4o", messages: [...past, { role: "user", content: text }] });
        }
    """
    assert [row[:2] for row in tree_codes({"store.ts": store, "bot.ts": bot})] == [("bot.ts", "PC501")]
