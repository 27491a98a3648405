"""An answer's chunks, from what an engine tells."""

from promptcache_gateway.upstreams.answers import Choice, TextAnswer
from promptcache_gateway.upstreams.pieces import Chance, TokenChance, Wishes
from promptcache_gateway.upstreams.tool_calls import Content


def token(text: str) -> TokenChance:
    return TokenChance(Chance(text, text.encode(), -1.0), ())


def test_offsets_of_tokens_whose_text_is_held_back() -> None:
    """Told before its text goes out, a token keeps the place that it has in the whole answer."""
    answer, choice = TextAnswer("cmpl-1", 0, "m", Wishes(logprobs=True)), Choice(0)
    offsets = []
    for text, tokens in (("ab", ["ab", "c"]), ("cd", ["d"]), ("ef", ["é", "f"]), ("", ["g"])):
        choice.add(Content(text), "")
        chances = [token(each) for each in tokens]
        choice.chances += chances
        chunk = answer.delta(choice, Content(text), (), chances)
        offsets += chunk["choices"][0]["logprobs"]["text_offset"]
    assert offsets == [0, 2, 3, 4, 5, 6]
    choice.finish_reason = "stop"
    whole = answer.whole([choice], {})
    assert whole["choices"][0]["logprobs"]["text_offset"] == offsets
