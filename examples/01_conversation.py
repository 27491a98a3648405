"""A conversation whose prefix never moves: run it, no server needed.

Each request is the text of the one before, continued. The clock, the new day and the tool's answer all come
last, so a provider's cache can reuse everything in front of them.
"""

from datetime import date, datetime
from itertools import pairwise

from promptcache import Conversation, canonical_json

LOOK_UP = {
    "type": "function",
    "function": {"name": "look_up_order", "parameters": {"type": "object", "properties": {"id": {}}}},
}

chat = Conversation(
    system="You are the helpdesk of Lark Bikes. Answer in one sentence.",
    tools=[LOOK_UP],
    context={"returns": "A bike may be returned within 30 days."},
    template="helpdesk",
)
sent: list[bytes] = []


def send(answer: object) -> None:
    """Stand for a provider: keep what was sent, and let the model answer."""
    sent.append(canonical_json(chat.to_openai("any-model")["messages"]))
    chat.assistant(answer)


chat.today(date(2031, 3, 4))
chat.user("Where is my order 17?", now=datetime(2031, 3, 4, 23, 58))
send(
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look_up_order", "arguments": '{"id": 17}'}}
        ],
    }
)
chat.tool_result("c1", {"status": "on its way", "day": date(2031, 3, 5)})
send("It is on its way and should arrive on 5 March.")
chat.today(date(2031, 3, 5))  # a new day is appended; nothing before it changes
chat.user("And now?", now=datetime(2031, 3, 5, 0, 3))
send("It should arrive today.")

for earlier, later in pairwise(sent):
    history = earlier.removesuffix(b"]")
    assert later.startswith(history), "a message that had been sent has changed"
    print(f"a request of {len(later)} bytes begins with all {len(history)} bytes of the one before")
print(f"breakpoints: {', '.join(point.path for point in chat.breakpoints)}")
