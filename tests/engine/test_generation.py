"""What is sent of tokens as they are sampled: their text, and with it their log-probabilities."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptcache_engine import SamplingParams, TokenDelta, TokenLogprob
from promptcache_engine.detokenizer import TextStream
from promptcache_engine.generation import Generation
from promptcache_engine.sampling import Draws
from promptcache_engine.scheduler import Sequence

WORDS = [b"r", b"a", b"ra", b"sr", b"xar", b"\n", b"\xc3", b"\xa9", b"Pa"]


def written(tokens: list[int], stops: tuple[str, ...]) -> tuple[list[TokenDelta], str | None, list[int]]:
    """The deltas of sampled tokens, how they ended, and the tokens that were taken by then."""
    params = SamplingParams(stop=stops, logprobs=0)
    sequence = Sequence(id="s", tokens=[0], prompt_tokens=1, max_length=1 + len(tokens))
    made = Generation(sequence, params, TextStream(WORDS.__getitem__, stops), Draws(params), None)
    deltas: list[TokenDelta] = []
    for at, token in enumerate(tokens):
        sequence.tokens.append(token)
        delta, reason = made.take(token, is_end=False, logprob=TokenLogprob(token, -1.0))
        deltas += [] if delta is None else [delta]
        if reason is not None:
            return deltas, reason, tokens[: at + 1]
    raise AssertionError


@given(
    st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=12),
    st.lists(st.sampled_from(["ra", "rr\n", "\n", "aé", "xa"]), max_size=2).map(tuple),
)
@example([3, 0, 1], ("ra",))  # the second r is held back while the first is sent
def test_tokens_go_with_their_text_and_none_of_a_stop_string_is_told(
    tokens: list[int], stops: tuple[str, ...]
) -> None:
    deltas, reason, taken = written(tokens, stops)
    assert [token for delta in deltas for token in delta.token_ids] == taken
    begins, whole = [], b""
    for token in taken:
        begins.append(len(TextStream(lambda _, data=whole: data, ()).push(0).text))
        whole += WORDS[token]
    sent, told = 0, 0
    for number, delta in enumerate(deltas):
        sent += len(delta.text)
        told += len(delta.logprobs)
        if reason == "stop" or number < len(deltas) - 1:
            assert all(begin < sent for begin in begins[:told])
            assert all(begin >= sent for begin in begins[told:]), "none is told late"
    if reason == "length":
        assert told == len(taken)


@pytest.mark.parametrize(
    ("tokens", "told"), [([3, 0, 1], ["sr"]), ([3, 1], ["sr"]), ([8, 1, 2], ["Pa", "a"])]
)
def test_a_token_that_reaches_into_the_stop_string_is_told(tokens: list[int], told: list[str]) -> None:
    deltas, reason, _ = written(tokens, ("ra",))
    assert reason == "stop"
    found = [WORDS[each.token_id].decode() for delta in deltas for each in delta.logprobs]
    assert found == told
