"""An answer's chunks, from what an engine tells."""

from promptcache_gateway.upstreams.answers import Choice, TextAnswer
from promptcache_gateway.upstreams.pieces import Chance, TokenChance, Wishes
from promptcache_gateway.upstreams.tool_calls import Content


def token(text: str) -> TokenChance:
    return TokenChance(Chance(text, text.encode(), -1.0), ())


def test_offsets_count_a_character_with_the_token_that_completes_it() -> None:
    """Whole and in chunks, the places are those of the text, whatever its tokens' bytes are."""
    text = " 日 two 日 one"
    pieces = [b" ", b"\xe6", b"\x97", b"\xa5", b" two", b" \xe6\x97", b"\xa5", b" one"]
    assert b"".join(pieces).decode() == text
    chances = [TokenChance(Chance(piece.decode("utf-8", "replace"), piece, -1.0), ()) for piece in pieces]
    end = TokenChance(Chance("<|end|>", b"<|end|>", -1.0, written=False), ())
    chances[4:4] = [end]
    answer, choice = TextAnswer("cmpl-1", 0, "m", Wishes(logprobs=True)), Choice(0, chances=chances)
    whole = answer.whole([choice], {})["choices"][0]["logprobs"]["text_offset"]
    assert whole == [0, 1, 1, 1, 2, 2, 6, 7, 8]
    assert text[whole[4] :].startswith(" two")
    assert text[whole[-1] :] == " one"
    streamed = [
        answer.delta(choice, Content(""), (), [each])["choices"][0]["logprobs"]["text_offset"]
        for each in chances
    ]
    assert [place for places in streamed for place in places] == whole


def test_an_empty_text_has_empty_lists() -> None:
    told, untold = Wishes(logprobs=True), Wishes()
    choice = Choice(0, finish_reason="stop")
    whole = TextAnswer("cmpl-1", 0, "m", told).whole([choice], {})
    empty = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    assert whole["choices"][0]["logprobs"] == empty
    assert TextAnswer("cmpl-1", 0, "m", untold).whole([choice], {})["choices"][0]["logprobs"] is None


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
