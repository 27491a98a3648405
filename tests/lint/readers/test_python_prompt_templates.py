"""Prompt templates of libraries: filled by values, by functions they call each time, and in chains."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

RULES = "Answer in the language of the customer, briefly, and never promise a refund. " * 60
HEAD = f"""\
import uuid
from datetime import datetime
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate, SystemMessagePromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_openai import ChatOpenAI
llm = ChatOpenAI(model="gpt-4.1")
P = ChatPromptTemplate.from_messages([("system", "At {{x}}. {RULES}"), ("human", "{{q}} {{y}}")])
def clock():
    return datetime.now().isoformat()
def rules():
    return "Be polite to each of them."
"""
ROW = 7


@pytest.mark.parametrize(
    "line",
    [
        "P = P.partial(x=clock)",
        "P = P.partial(x=lambda: datetime.now().isoformat())",
        "P = P.partial(x=datetime.now)",
        "chain = {'x': lambda _: clock(), 'q': RunnablePassthrough()} | P | llm",
        "chain = RunnablePassthrough.assign(x=lambda given: clock()) | P | llm",
        "chain = RunnableParallel(x=RunnableLambda(lambda _: clock()), q=RunnablePassthrough()) | (P | llm)",
    ],
)
def test_a_function_is_called_each_time(codes, line):
    found = codes(HEAD + line + "\n", "app.py")
    assert [each for each in found if each[0] == "PC101"] == [("PC101", ROW)]


@pytest.mark.parametrize(
    "line",
    [
        "P = P.partial(y=clock)",
        "P = P.partial(x=rules)",
        "P = P.partial(x=clock())",
        "chain = {'x': lambda _: rules(), 'y': lambda _: clock()} | P | llm",
        "chain = RunnablePassthrough.assign(y=lambda _: clock()) | P | llm",
        "chain = {'x': clock} | {'y': llm}",
    ],
)
def test_a_steady_value_and_the_newest_message(codes, line):
    assert codes(HEAD + line + "\n", "app.py") == []


@pytest.mark.parametrize(
    "lines",
    [
        "return chain.invoke({'x': clock(), 'q': q})",
        "return await chain.ainvoke({'x': datetime.now(), 'q': q})",
        "given = {'q': q}\n    given['x'] = clock()\n    return chain.with_config(tags=['a']).stream(given)",
        "return chain.batch([{'x': clock(), 'q': q}])",
        "return llm.invoke(P.format_messages(x=clock(), q=q))",
        "return llm.invoke(P.invoke({'x': clock(), 'q': q}))",
    ],
)
def test_what_a_chain_is_asked_with(codes, lines):
    text = f"{HEAD}chain = P | llm\nasync def ask(q):\n    {lines}\n"
    assert codes(text, "app.py", Severity.ERROR) == [("PC101", ROW)]


@pytest.mark.parametrize(
    "lines",
    [
        "return chain.invoke({'x': 'noon', 'y': clock(), 'q': q})",
        "return chain.invoke({'q': clock()})",
        f"plan = chain.invoke({{'y': clock()}})\n    return llm.invoke([('system', f'{{plan}} {RULES}')])",
    ],
)
def test_what_comes_last_or_comes_out_of_a_chain(codes, lines):
    text = f"{HEAD}chain = P | llm\ndef ask(q):\n    {lines}\n"
    assert [found for found in codes(text, "app.py") if found[0] != "PC402"] == []


def test_a_template_of_another_module(tree_codes):
    app = (
        "from prompts import P, llm, clock\n"
        "def ask(q):\n    chain = P | llm\n    return chain.invoke({'x': clock(), 'q': q})\n"
    )
    assert tree_codes({"app.py": app, "prompts.py": HEAD}, Severity.ERROR) == [("app.py", "PC101", 4)]


@pytest.mark.parametrize(
    "template",
    [
        f"PromptTemplate(template='At {{x}}. {RULES} {{q}}', partial_variables={{'x': clock}})",
        f"PromptTemplate('At {{x}}. {RULES} {{q}}', function_mappings={{'x': lambda **_: clock()}})",
        f"ChatPromptTemplate([SystemMessagePromptTemplate('{{x}} {RULES}')]).partial(x=uuid.uuid4)",
    ],
)
def test_other_templates(codes, template):
    rows = len(HEAD.splitlines())
    assert [row for _, row in codes(f"{HEAD}T = {template}\n", "app.py")] == [rows + 1]
