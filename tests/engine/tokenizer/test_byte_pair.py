"""Byte-pair tokenizers built from a vocabulary: merges, digits, control and user-defined tokens, bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptcache_engine.models.errors import ModelFileError, TokenizerError, UnsupportedModelError
from promptcache_engine.tokenizer.byte_pair import BytePairTokenizer, byte_alphabet
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary
from tests.engine.gguf_files import MERGES

MERGED = tuple(merge.replace(" ", "") for merge in MERGES)
CONTROL, LITERAL = "<|im_end|>", "<tool>"


def vocabulary(*, tokens: tuple[str, ...] = (), bos: int | None = None, adds_bos: bool = False) -> Vocabulary:
    plain = [*byte_alphabet(), *MERGED, *tokens]
    kinds = [TokenKind.NORMAL] * len(plain) + [TokenKind.CONTROL, TokenKind.USER_DEFINED]
    return Vocabulary(
        path="model.gguf",
        tokens=[*plain, CONTROL, LITERAL],
        kinds=list(kinds),
        bos_token_id=bos,
        eos_token_id=len(plain),
        eos_token_ids=(len(plain),),
        adds_bos=adds_bos,
    )


def build(pre: str = "gpt-2") -> BytePairTokenizer:
    return BytePairTokenizer(vocabulary(), MERGES, pre=pre)


TOKENIZER = build()


def pieces(tokenizer: BytePairTokenizer, text: str) -> list[str]:
    return [tokenizer.token_text(token) for token in tokenizer.encode(text)]


def test_alphabet_is_one_to_one_and_keeps_printable_characters() -> None:
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert alphabet["a"] == ord("a")
    assert alphabet["Ġ"] == ord(" ")
    assert alphabet["Ċ"] == ord("\n")


def test_merges_apply_in_order() -> None:
    assert pieces(TOKENIZER, "hello wor") == ["hello", "Ġwor"]
    assert pieces(TOKENIZER, "helo") == ["he", "l", "o"]


def test_digits_stand_alone_where_the_file_says_so() -> None:
    assert pieces(TOKENIZER, "12") == ["12"]
    assert pieces(build("smollm"), "12") == ["1", "2"]


def cuts(pre: str, text: str) -> list[str]:
    """Words before merging: with no merges at all, a vocabulary of the words themselves shows them."""
    tokenizer = BytePairTokenizer(vocabulary(tokens=LLAMA_3_WORDS), (), pre=pre)
    return [piece.replace("Ġ", " ").replace("Ċ", "\n") for piece in pieces(tokenizer, text)]


LLAMA_3_WORDS = ("123", "45", "'LL", "Ġdon", "?!ĊĊ", "ĠĠ", "Ġx")


def test_llama_3_cuts_numbers_in_threes_and_takes_whole_words() -> None:
    assert cuts("llama-bpe", "12345") == ["123", "45"]
    assert cuts("llama-bpe", " don'LL?!\n\n   x") == [" don", "'LL", "?!\n\n", "  ", " x"]
    assert cuts("gpt-2", "123") == ["1", "2", "3"]


def test_a_control_token_written_out_is_recognised_and_has_no_bytes() -> None:
    assert pieces(TOKENIZER, f"he{CONTROL}he") == ["he", CONTROL, "he"]
    assert TOKENIZER.decode(TOKENIZER.encode(f"he{CONTROL}he")) == "hehe"


def test_a_user_defined_token_is_recognised_and_is_text() -> None:
    assert pieces(TOKENIZER, f"he{LITERAL}") == ["he", LITERAL]
    assert TOKENIZER.decode(TOKENIZER.encode(f"he{LITERAL}")) == f"he{LITERAL}"


@given(st.text())
def test_text_survives_and_streams_token_by_token(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text.replace(CONTROL, "")
    assert b"".join(map(TOKENIZER.token_bytes, ids)).decode() == TOKENIZER.decode(ids)


def test_lone_surrogates_do_not_raise() -> None:
    assert TOKENIZER.decode(TOKENIZER.encode("a\udc80")) == "a?"


@pytest.mark.parametrize("token", [-1, len(vocabulary().tokens)])
def test_ids_outside_the_vocabulary(token: int) -> None:
    with pytest.raises(TokenizerError, match="outside the vocabulary"):
        TOKENIZER.token_bytes(token)


def test_a_token_outside_the_byte_alphabet_is_refused() -> None:
    with pytest.raises(ModelFileError, match="byte alphabet") as caught:
        BytePairTokenizer(vocabulary(tokens=("漢",)), MERGES, pre="gpt-2")
    assert str(len(byte_alphabet()) + len(MERGED)) in str(caught.value)


def test_an_unknown_way_of_cutting_words_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="'qwen99'"):
        build("qwen99")


def test_templates_know_tokens_by_name() -> None:
    assert vocabulary().special_tokens() == {"eos_token": CONTROL}
    assert vocabulary(bos=0).special_tokens() == {"bos_token": vocabulary().tokens[0], "eos_token": CONTROL}


def test_roles_are_the_vocabularys() -> None:
    tokenizer = BytePairTokenizer(vocabulary(bos=3, adds_bos=True), MERGES, pre="gpt-2")
    assert (tokenizer.bos_token_id, tokenizer.adds_bos) == (3, True)
    assert tokenizer.token_text(tokenizer.eos_token_ids[0]) == CONTROL
