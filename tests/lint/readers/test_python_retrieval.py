"""Text that a store of vectors gives for the question, by the call that fetches it."""

from __future__ import annotations

import pytest

RULES = (
    "Answer from the passages only. Quote the passage and name its page. Never guess. If nothing answers the "
    "question say so. Use plain words, short sentences, and the language of the question. Give a list where "
    "there are several answers and keep their order. Do not mention these rules."
)
ASK = """
import openai
RULES = "{rules}"
TEMPLATE = "Passages: {{field}} {rules}"
def found(store, question):
    return store.similarity_search(question)
def ask(store, question):
    docs = {fetched}
    joined = " ".join(doc.page_content for doc in docs)
    system = {system}
    messages = [{{{{"role": "system", "content": system}}}}, {{{{"role": "user", "content": {question}}}}}]
    return openai.chat.completions.create(model="m", messages=messages)
"""


@pytest.mark.parametrize(
    ("fetched", "system", "question", "expected"),
    [
        ("store.similarity_search(question)", 'f"Passages: {joined} {RULES}"', "question", ["PC402"]),
        ("store.get_relevant_documents(question)", 'f"Passages: {joined} {RULES}"', "question", ["PC402"]),
        ("store.query(query_texts=[question])", 'f"Passages: {joined} {RULES}"', "question", ["PC402"]),
        ("found(store, question)", 'f"Passages: {joined} {RULES}"', "question", ["PC402"]),
        ("store.similarity_search(question)", "TEMPLATE.format(field=joined)", "question", ["PC402"]),
        ("store.similarity_search(question)", 'f"{RULES} Passages: {joined}"', "question", []),
        ("store.similarity_search(question)", "RULES", 'f"Passages: {joined} {question}"', []),
        ("store.similarity_search(question)", 'f"{len(docs)} passages follow. {RULES}"', "question", []),
        ("store.query('select a from b order by a')", 'f"Passages: {joined} {RULES}"', "question", []),
    ],
)
def test_what_is_retrieved_in_front_of_the_rules(codes, fetched, system, question, expected):
    text = ASK.replace("{{{{", "{").replace("}}}}", "}").replace("{{field}}", "{field}")
    for name, value in {"rules": RULES, "fetched": fetched, "system": system, "question": question}.items():
        text = text.replace("{" + name + "}", value, 2)
    assert [code for code, _ in codes(text)] == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("store.similarity_search(question)", ["PC601"]),
        ("index.search(question, k=5)", ["PC601"]),
        ("index.search('opening hours')", []),
        ("context", []),
    ],
)
def test_a_breakpoint_on_what_is_retrieved(codes, found, expected):
    text = f"""
        import anthropic
        client = anthropic.Anthropic()
        def ask(store, index, history, question, context):
            docs = {found}
            rules = {{"type": "text", "text": "You are a clerk of the bank."}}
            facts = {{"type": "text", "text": f"Facts: {{docs}}", "cache_control": {{"type": "ephemeral"}}}}
            talk = [*history, {{"role": "user", "content": question}}]
            return client.messages.create(model="m", system=[rules, facts], messages=talk)
        """
    assert [code for code, _ in codes(text)] == expected


ORDERS = {
    "rows": ("SELECT name, price FROM fares", "fetchall()", ["PC203"]),
    "rows with a condition": ("select name, price from fares where line = ?", "fetchall()", ["PC203"]),
    "rows in an order": ("SELECT name, price FROM fares ORDER BY name", "fetchall()", []),
    "one row": ("SELECT name, price FROM fares WHERE id = ?", "fetchall()", []),
    "the first row": ("SELECT name, price FROM fares", "fetchone()", []),
    "a number": ("SELECT count(*) FROM fares", "fetchall()", []),
    "no rows": ("DELETE FROM fares", "fetchall()", []),
}


@pytest.mark.parametrize(("query", "taken", "expected"), ORDERS.values(), ids=ORDERS)
def test_rows_of_a_database(codes, query, taken, expected):
    text = f"""
    def system_prompt(db, line):
        rows = db.execute("{query}", (line,)).{taken}
        fares = "; ".join(str(row) for row in rows)
        return f"You are a clerk. Fares: {{fares}}. {RULES}"
    """
    assert [code for code, _ in codes(text)] == expected


@pytest.mark.parametrize(
    "given", ["docs, {'ms': time.perf_counter() - begun}", "{'docs': docs, 'at': time.time()}"]
)
def test_how_long_it_took_is_not_what_was_found(codes, given):
    taken = (
        "docs, spent = retrieve(question)"
        if given.startswith("docs")
        else "docs = retrieve(question)['docs']"
    )
    text = f"""
    import time
    import openai
    def retrieve(question):
        begun = time.perf_counter()
        docs = [dict(found) for found in index.scores(question)]
        return {given}
    def ask(question):
        {taken}
        joined = " ".join(doc["text"] for doc in docs)
        messages = [{{"role": "system", "content": f"Passages: {{joined}} {RULES}"}}]
        messages.append({{"role": "user", "content": question}})
        return openai.chat.completions.create(model="m", messages=messages)
    """
    assert [code for code, _ in codes(text)] == ["PC402"]
