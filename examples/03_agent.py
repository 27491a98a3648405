"""An agent with tools, step after step: each request is the one before, continued.

Runs offline: a class stands for the client of a provider. Results come in any order, are written canonically
and kept in the order of the calls; a tool that must not be called is masked, and stays defined.
"""

import json
from itertools import pairwise

from promptcache import Conversation

TOOLS = [
    {"name": "read_file", "description": "Read a file.", "input_schema": {"type": "object"}},
    {"name": "list_files", "description": "List a folder.", "input_schema": {"type": "object"}},
    {"name": "delete_file", "description": "Delete a file.", "input_schema": {"type": "object"}},
]
FILES = {"readme.md": "A shop for bicycles.", "prices.csv": "bike,900\nlock,30"}
SCRIPT = [
    [{"type": "tool_use", "id": "c1", "name": "list_files", "input": {}}],
    [
        {"type": "thinking", "thinking": "Both matter.", "signature": "c2lnbmVk"},
        {"type": "tool_use", "id": "c2", "name": "read_file", "input": {"path": "readme.md"}},
        {"type": "tool_use", "id": "c3", "name": "read_file", "input": {"path": "prices.csv"}},
    ],
    [{"type": "text", "text": "A shop for bicycles; a lock costs 30."}],
]


class OfflineClient:
    """Stands for ``anthropic.Anthropic()``: keeps what was sent and answers from a script."""

    def __init__(self) -> None:
        self.sent, self.messages = [], self

    def create(self, **request: object) -> dict[str, object]:
        self.sent.append(json.dumps(request["messages"]))
        return {"type": "message", "role": "assistant", "content": SCRIPT[len(self.sent) - 1]}


def run(call: dict) -> object:
    return sorted(FILES) if call["name"] == "list_files" else FILES[call["input"]["path"]]


client = OfflineClient()
chat = Conversation("You answer questions about a folder.", tools=TOOLS, template="folder-agent", strict=True)
chat.mask_tools("delete_file")
chat.user("What is this, and what does a lock cost?")
while True:
    answer = chat.send(client, "claude-opus-5")
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    if not calls:
        break
    for call in reversed(calls):  # whichever is ready first
        chat.tool_result(call["id"], run(call))
print(answer["content"][0]["text"])
unmarked = [sent.replace(', "cache_control": {"type": "ephemeral"}', "") for sent in client.sent]
assert all(later.startswith(sent.removesuffix("]")) for sent, later in pairwise(unmarked))
print(f"{len(client.sent)} requests, each beginning with all of the one before")
