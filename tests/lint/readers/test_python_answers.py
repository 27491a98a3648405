"""The model's answer as it is sent back: what respaces it is information, what does not is silent."""

from __future__ import annotations

import pytest

from promptcache_lint import Severity

KEEP = """
import re, textwrap, unicodedata
from langchain_core.messages import AIMessage
from openai import OpenAI

def ask(client: OpenAI, messages):
    answer = client.chat.completions.create(model="m", messages=messages).choices[0].message.content
    {}
    return messages
"""


@pytest.mark.parametrize(
    "line",
    [
        'messages.append({"role": "assistant", "content": answer.strip()})',
        'messages.append({"role": "assistant", "content": " ".join(answer.split())})',
        'messages.append({"role": "assistant", "content": re.sub(r"\\s+", " ", answer)})',
        'messages.append({"role": "assistant", "content": re.sub(r"\\n{3,}", "\\n\\n", answer)})',
        'messages.append({"role": "assistant", "content": unicodedata.normalize("NFC", answer)})',
        'messages.append({"role": "assistant", "content": textwrap.dedent(answer)})',
        "messages.append(AIMessage(content=answer.strip()))",
        'said = answer.rstrip(); messages.append({"role": "assistant", "content": said})',
    ],
)
def test_respaced(codes, line):
    found = codes(KEEP.format(line), severity=Severity.INFO)
    assert [code for code, _ in found if code.startswith("PC2")] == ["PC206"]
    assert codes(KEEP.format(line)) == []


@pytest.mark.parametrize(
    "line",
    [
        'messages.append({"role": "assistant", "content": answer})',
        'messages.append({"role": "user", "content": answer.strip()})',
        'messages.append({"role": "assistant", "content": answer.strip("`")})',
        'messages.append({"role": "assistant", "content": re.sub(r"\\bfoo\\b", "bar", answer)})',
        'print(answer.strip()); messages.append({"role": "assistant", "content": answer})',
    ],
)
def test_kept_as_it_was_written(codes, line):
    assert codes(KEEP.format(line), severity=Severity.INFO) == []
