"""Few-shot messages that are drawn for each request, and those that are drawn once or stand last."""

from __future__ import annotations

import pytest

from promptcache_lint import lint_text

ASK = """
import random
import numpy as np
import litellm
SYSTEM = {"role": "system", "content": "Route the mail of the shop to the one who can answer it best."}
PAIRS = [("refund", "desk"), ("late", "shipping"), ("broken", "workshop")]
SHOTS = [{"role": "user", "content": "refund"}, {"role": "assistant", "content": "desk"}]
def as_messages(pairs):
    made = []
    for q, a in pairs:
        made += [{"role": "user", "content": q}, {"role": "assistant", "content": a}]
    return made
class Examples:
    def pick(self, n):
        return random.sample(self.all, n)
def ask(text, examples: Examples):
    new = {"role": "user", "content": text}
    MESSAGES
    return litellm.completion(model="m", messages=messages)
"""
DRAWN = {
    "in place": "messages = [SYSTEM, *random.sample(SHOTS, 2), new]",
    "choices": "messages = [SYSTEM] + random.choices(SHOTS, k=2) + [new]",
    "through a helper": "messages = [SYSTEM, *as_messages(random.sample(PAIRS, 2)), new]",
    "of an object": "messages = [SYSTEM, *Examples().pick(2), new]",
    "shuffled": "shots = SHOTS[:]\n    random.shuffle(shots)\n    messages = [SYSTEM, *shots, new]",
    "extended": "messages = [SYSTEM]\n    messages.extend(random.sample(SHOTS, 2))\n    messages.append(new)",
    "made of pairs": "some = [{'role': 'user', 'content': q} for q, _ in random.sample(PAIRS, 2)]\n"
    "    messages = [SYSTEM, *some, new]",
    "in a loop": "messages = [SYSTEM]\n    for q, a in random.sample(PAIRS, 2):\n"
    "        messages.append({'role': 'user', 'content': q})\n    messages.append(new)",
    "permuted": "messages = [SYSTEM]\n    for at in np.random.permutation(3):\n"
    "        messages.append({'role': 'user', 'content': PAIRS[at][0]})\n    messages.append(new)",
    "no system prompt": "messages = [*random.sample(SHOTS, 2), new]",
}
QUIET = {
    "all of them": "messages = [SYSTEM, *SHOTS, new]",
    "with a seed": "messages = [SYSTEM, *random.Random(7).sample(SHOTS, 2), new]",
    "the first two": "messages = [SYSTEM, *SHOTS[:2], new]",
    "the newest message": "messages = [SYSTEM, *SHOTS, random.choice(SHOTS)]",
    "in the newest message": "messages = [SYSTEM, {'role': 'user', 'content': str(random.sample(PAIRS, 2))}]",
    "a name of a file": "open(random.choice('abc')).close()\n    messages = [SYSTEM, *SHOTS, new]",
    "asked one by one": "for q, _ in random.sample(PAIRS, 2):\n"
    "        messages = [SYSTEM, {'role': 'user', 'content': q}]",
}


def _codes(messages: str) -> list[str]:
    return [found.code for found in lint_text(ASK.replace("MESSAGES", messages), "router.py").findings]


@pytest.mark.parametrize("messages", DRAWN.values(), ids=DRAWN)
def test_messages_that_are_drawn(messages):
    assert _codes(messages) == ["PC103"]


@pytest.mark.parametrize("messages", QUIET.values(), ids=QUIET)
def test_messages_that_are_not(messages):
    assert _codes(messages) == []


def test_what_is_drawn_when_the_module_is_loaded_stays():
    text = ASK.replace("MESSAGES", "messages = [SYSTEM, *FEW, new]")
    assert lint_text(f"{text}\nFEW = random.sample(SHOTS, 2)\n", "router.py").findings == ()
