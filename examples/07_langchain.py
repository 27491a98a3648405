"""An existing LangChain message list, passed through without a changed byte. LangChain itself is not needed.

The list is what ``langchain_core.messages.messages_to_dict(messages)`` returns. Texts, and the arguments of
tool calls where LangChain has kept what the model wrote, come out as they went in.
"""

from promptcache import Conversation

ARGUMENTS = '{"city": "Oslo", "days": 2.0}'
CALL = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": ARGUMENTS}}
STORED = [
    {"type": "system", "data": {"content": "You tell the weather."}},
    {"type": "human", "data": {"content": "And tomorrow?\n"}},
    {
        "type": "ai",
        "data": {
            "content": "",
            "additional_kwargs": {"tool_calls": [CALL]},
            "tool_calls": [{"id": "c1", "name": "forecast", "args": {"city": "Oslo", "days": 2.0}}],
        },
    },
    {"type": "tool", "data": {"content": '{"sky":"clear"}', "tool_call_id": "c1"}},
    {"type": "ai", "data": {"content": "Clear sky."}},
]


def from_langchain(stored: list[dict], **options: object) -> Conversation:
    """Return the conversation that a list of LangChain messages tells."""
    system = "".join(one["data"]["content"] for one in stored if one["type"] == "system")
    chat = Conversation(system, **options)
    for one in stored:
        data = one["data"]
        if one["type"] == "human":
            text, parts = (data["content"], []) if isinstance(data["content"], str) else ("", data["content"])
            chat.user(text, *parts)
        elif one["type"] == "ai":
            message = {"role": "assistant", "content": data["content"]}
            calls = (data.get("additional_kwargs") or {}).get("tool_calls")
            chat.assistant({**message, "tool_calls": calls} if calls else message)
        elif one["type"] == "tool":
            chat.tool_result(data["tool_call_id"], data["content"])
    return chat


messages = from_langchain(STORED, template="weather").to_openai("any-model")["messages"]
assert [message["content"] for message in messages] == [one["data"]["content"] for one in STORED]
assert messages[2]["tool_calls"] == [CALL]
print(f"{len(messages)} messages passed through; the model's arguments are still {ARGUMENTS}")
