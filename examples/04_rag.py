"""Retrieval: instructions and standing documents first, what was found for this question last.

What a search finds changes with every question, so it rides in the user's turn, behind the text. What all
questions share is the static part, and has one hash.
"""

from promptcache import Conversation, Template, compare_requests

DOCUMENTS = {
    "returns": "A bicycle may be returned within 30 days, unused.",
    "shipping": "Bicycles are sent within 5 days; locks within 2.",
    "repairs": "Repairs of the frame are free for 10 years.",
}
HANDBOOK = Template(
    "handbook",
    "You answer for {{ shop }}, from the passages in the question only.\nRules: {{ rules|tojson }}\n",
    static=["shop", "rules"],
)
rules = {"tone": "kind", "languages": {"en", "de"}}


def search(question: str) -> list[str]:
    """Find passages: here, those with a long word of the question in them."""
    asked = [word for word in question.lower().strip("?").split() if len(word) > 5]
    return [text for text in DOCUMENTS.values() if any(word in text.lower() for word in asked)]


def ask(question: str) -> dict:
    chat = Conversation(HANDBOOK.render(shop="Lark Bikes", rules=rules), template=HANDBOOK.identity)
    chat.user(question, passages=search(question))
    return chat.to_openai("gpt-5")


first = ask("When are bicycles sent out?")
second = ask("Which repairs are free?")
print(first["messages"][1]["content"])
print()
print(second["messages"][1]["content"])
found = compare_requests(first, second)
print(f"\nThe two part at {found.path}, behind {found.shared_chars} characters in common.")
assert first["messages"][0] == second["messages"][0]
assert first["prompt_cache_key"] == second["prompt_cache_key"]
