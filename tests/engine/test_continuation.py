"""A prompt on known ids stands for the same text, keeps what agrees, and never breaks where it does not."""

from hypothesis import given, settings
from hypothesis import strategies as st

from promptcache_engine.continuation import encode_after
from promptcache_engine.tokenizer import ByteTokenizer


class Merging(ByteTokenizer):
    """Bytes, and pairs of letters that ``encode`` always prefers: an answer may be cut otherwise."""

    PAIRS = ("ab", "bc", "é")

    @property
    def vocab_size(self) -> int:
        return super().vocab_size + len(self.PAIRS)

    def encode(self, text: str) -> list[int]:
        ids = super().encode(text)
        for index, pair in enumerate(self.PAIRS):
            first, second = pair.encode()
            at = 0
            while at < len(ids) - 1:
                if ids[at : at + 2] == [first, second]:
                    ids[at : at + 2] = [259 + index]
                at += 1
        return ids

    def token_bytes(self, token_id: int) -> bytes:
        return self.PAIRS[token_id - 259].encode() if token_id >= 259 else super().token_bytes(token_id)

    def token_text(self, token_id: int) -> str:
        return self.PAIRS[token_id - 259] if token_id >= 259 else super().token_text(token_id)


TOKENIZER = Merging()


def spelled(ids: list[int]) -> bytes:
    return b"".join(TOKENIZER.token_bytes(token) or TOKENIZER.token_text(token).encode() for token in ids)


def test_known_ids_stay_though_the_tokenizer_would_cut_otherwise() -> None:
    text = "<|im_start|>abc<|im_end|> next"
    anew = TOKENIZER.encode(text)
    written = [257, ord("a"), 260, 258]  # a·bc, where encode says ab·c
    assert anew[1:3] == [259, ord("c")]
    assert encode_after(TOKENIZER, text, written) == [*written, *TOKENIZER.encode(" next")]


def test_ids_that_leave_the_text_are_dropped_from_there() -> None:
    assert encode_after(TOKENIZER, "abcd", [97, 260, 120]) == [97, 260, 100]
    assert encode_after(TOKENIZER, "abcd", [120]) == TOKENIZER.encode("abcd")
    assert encode_after(TOKENIZER, "ab", [97, 98, 99, 100]) == [97, 98]
    assert encode_after(TOKENIZER, "ab", [10**6]) == TOKENIZER.encode("ab")


def test_half_a_character_is_not_kept() -> None:
    first, second = "é".encode()
    assert encode_after(TOKENIZER, "xé", [120, first]) == [120, 261]
    assert encode_after(TOKENIZER, "xé", [120, first, second]) == [120, first, second]


@settings(max_examples=150)
@given(
    st.text(alphabet="abcé<|im_end|> 😀", max_size=20),
    st.lists(st.integers(-1, 265), max_size=20),
    st.integers(0, 20),
)
def test_whatever_is_known_the_text_is_the_same(text: str, noise: list[int], agreeing: int) -> None:
    known = [*ByteTokenizer().encode(text)[:agreeing], *noise]
    ids = encode_after(TOKENIZER, text, known)
    assert spelled(ids) == text.encode()
