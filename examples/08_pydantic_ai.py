"""An existing pydantic-ai message history, passed through without a changed byte. The library is not needed.

The list is what ``ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")`` returns.
"""

from promptcache import Conversation

ARGUMENTS = '{"city": "Oslo", "days": 2.0}'
RETURN = {"tool_name": "forecast", "content": {"sky": "clear"}, "tool_call_id": "c1"}
SYSTEM = {"part_kind": "system-prompt", "content": "You tell the weather."}
STORED = [
    {"kind": "request", "parts": [SYSTEM, {"part_kind": "user-prompt", "content": "And tomorrow?\n"}]},
    {
        "kind": "response",
        "parts": [
            {"part_kind": "text", "content": "Let me look."},
            {"part_kind": "tool-call", "tool_name": "forecast", "args": ARGUMENTS, "tool_call_id": "c1"},
        ],
    },
    {"kind": "request", "parts": [{"part_kind": "tool-return", **RETURN}]},
    {"kind": "response", "parts": [{"part_kind": "text", "content": "Clear sky."}]},
]


def answer_of(parts: list[dict]) -> dict:
    """Return a response as the message the model wrote; arguments stay the text they are."""
    text = "".join(part["content"] for part in parts if part["part_kind"] == "text")
    calls = [
        {
            "id": part["tool_call_id"],
            "type": "function",
            "function": {"name": part["tool_name"], "arguments": part["args"]},
        }
        for part in parts
        if part["part_kind"] == "tool-call"
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def from_pydantic_ai(stored: list[dict], **options: object) -> Conversation:
    """Return the conversation that a history of pydantic-ai tells."""
    system = [one["content"] for one in stored[0]["parts"] if one["part_kind"] == "system-prompt"]
    chat = Conversation("\n\n".join(system), **options)
    for message in stored:
        if message["kind"] == "response":
            chat.assistant(answer_of(message["parts"]))
        for part in message["parts"]:
            if part["part_kind"] == "user-prompt":
                chat.user(part["content"])
            elif part["part_kind"] == "tool-return":
                chat.tool_result(part["tool_call_id"], part["content"])
    return chat


messages = from_pydantic_ai(STORED, template="weather").to_openai("any-model")["messages"]
assert messages[2]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
print(f"{len(messages)} messages passed through; the model's arguments are still {ARGUMENTS}")
