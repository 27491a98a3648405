"""How each kind of byte-level tokenizer cuts words, written out; and Qwen2's composed text.

The rules gpt-2, llama-bpe, qwen2, refact and starcoder were also compared with the models' own vocabularies
and the 47 texts that llama.cpp keeps for each: every token is equal.
"""

import pytest

from promptcache_engine.tokenizer.byte_pair import BytePairTokenizer, byte_alphabet
from promptcache_engine.tokenizer.vocabulary import Vocabulary
from promptcache_engine.tokenizer.words import WORD_RULES

TEXT = "I'LL pay 12345€ for HTTPServer/2 names;\n\n  x = naïve_fn(7)  \t# 你好 мир"
CALL = " =| naïve|_fn|(|7|)|  |\t|#| 你好| мир"
CALL_2 = CALL.replace("_fn", "_|fn")
WORDS = {
    "gpt-2": "I|'|LL| pay| 12345|€| for| HTTPServer|/|2| names|;|\n\n | x|" + CALL_2,
    "smollm": "I|'|LL| pay| |1|2|3|4|5|€| for| HTTPServer|/|2| names|;|\n\n | x|" + CALL_2,
    "llama-bpe": "I|'LL| pay| |123|45|€| for| HTTPServer|/|2| names|;\n\n| | x|" + CALL,
    "qwen2": "I|'LL| pay| |1|2|3|4|5|€| for| HTTPServer|/|2| names|;\n\n| | x|" + CALL,
    "tekken": "I|'LL| pay| |1|2|3|4|5|€| for| HTTPServer|/|2| names|;\n\n| | x|" + CALL,
    "gpt-4o": "I'LL| pay| |123|45|€| for| HTTPServer|/|2| names|;\n\n| | x|" + CALL,
}


def cut(pre: str, text: str) -> list[str]:
    pieces = WORD_RULES[pre].pre_tokenizer().pre_tokenize_str(text)
    alphabet = byte_alphabet()
    return [bytes(alphabet[char] for char in piece).decode() for piece, _ in pieces]


@pytest.mark.parametrize("pre", sorted(WORDS))
def test_words(pre: str) -> None:
    assert cut(pre, TEXT) == WORDS[pre].split("|")


def test_case_parts_words_of_newer_tokenizers() -> None:
    assert cut("tekken", "parseHTTP and/or") == ["parse", "HTTP", " and", "/or"]
    assert cut("gpt-4o", "parseHTTP don't") == ["parse", "HTTP", " don't"]
    assert cut("llama-bpe", "parseHTTP") == ["parseHTTP"]


@pytest.mark.parametrize("pre", sorted(WORD_RULES))
def test_no_rule_drops_a_byte(pre: str) -> None:
    assert "".join(cut(pre, TEXT * 3)) == TEXT * 3


def test_qwen2_composes_and_counts_so() -> None:
    tokens = list(byte_alphabet())
    vocabulary = Vocabulary("m", tokens, [1] * len(tokens), None, None, (), adds_bos=False)
    tokenizer = BytePairTokenizer(vocabulary, (), pre="qwen2")
    assert tokenizer.decode(tokenizer.encode("e\u0301")) == "é"
    hangul = "\u1112\u1161\u11ab" * 50
    assert tokenizer.least_tokens(hangul) <= len(tokenizer.encode(hangul)) == 150
