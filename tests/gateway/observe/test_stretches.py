"""Outlines: they cover the prompt without a gap, hold no text, and stay short."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from promptcache_gateway.observe.masking import Masker
from promptcache_gateway.observe.prompt import read_prompt
from promptcache_gateway.observe.stretches import MOST, outline, outline_json


def prompt_of(texts):
    roles = ["system", *(["user", "assistant"] * len(texts))]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return read_prompt({"model": "m", "messages": messages}, Masker())


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(0, 100_000), st.integers(1, 12))
def test_stretches_cover_the_prompt(texts, tokens, most) -> None:
    prompt = prompt_of(texts)
    stretches = outline(prompt, most)
    drawn = outline_json(stretches, tokens)
    assert len(drawn) <= most
    assert sum(stretch.size for stretch in stretches) == prompt.offsets[-1]
    at = 0
    for stretch in drawn:
        assert stretch["start_token"] == at
        at += stretch["tokens"]
    assert at == (tokens if texts else 0)
    assert len({*(stretch["path"] for stretch in drawn)}) == len(drawn)


def test_paths_and_roles_and_no_text() -> None:
    drawn = outline_json(outline(prompt_of(["You help.", "Where is it?"])), None)
    assert [(row["path"], row["last"], row["kind"], row["role"]) for row in drawn] == [
        ("messages[0]", "messages[0]", "message", "system"),
        ("messages[1]", "messages[1]", "message", "user"),
    ]
    assert [(row["tokens"], row["start_token"]) for row in drawn] == [(None, None)] * 2
    assert "help" not in str(drawn)


def test_a_very_long_conversation_is_drawn_in_few_pieces() -> None:
    stretches = outline(prompt_of(["word"] * 1_001))
    assert MOST // 2 < len(stretches) <= MOST
    assert (stretches[0].path, stretches[0].last) == ("messages[0]", "messages[5]")
    assert stretches[-1].last == "messages[1000]"
