"""A batch, ordered so that requests with the same beginning run together; results return in the old order.

The first of each group computes the prefix, the others are released at its first byte. Runs offline: a
function stands for a provider that caches what it has seen.
"""

from collections.abc import Iterator

from promptcache import Conversation, group_by_prefix, warm_then_fan_out

MANUALS = {name: f"The manual of the {name}. " * 40 for name in ("bicycle", "lock", "lamp")}


def request(manual: str, question: str) -> dict:
    chat = Conversation(MANUALS[manual], template="manuals")
    chat.user(question)
    return chat.to_openai("gpt-5")


questions = [(name, f"Question {i} about the {name}?") for i in range(4) for name in MANUALS]
batch = group_by_prefix([request(*one) for one in questions])
print(f"{len(batch.requests)} requests with {len(batch.groups)} beginnings, in the order {batch.order}")

cache: set[str] = set()
uses: list[str] = []


def send(body: dict) -> Iterator[str]:
    """Stand for a stream of a provider: the prefix can be read once the answer has begun."""
    prefix = body["messages"][0]["content"]
    uses.append("read" if prefix in cache else "computed")
    cache.add(prefix)
    yield f"An answer to: {body['messages'][1]['content']}"


answers: list[str] = []
for group in batch.groups:
    leader, *followers = [lambda body=body: send(body) for body in group]
    answers += ["".join(events) for events in warm_then_fan_out(leader, followers)]

for (_, question), answer in zip(questions, batch.restore(answers), strict=True):
    assert answer.endswith(question)
print(f"prefixes computed {uses.count('computed')} times and read {uses.count('read')} times")
assert uses.count("computed") == len(batch.groups)
