"""How byte-level tokenizers cut text into words before merging: one entry for each ``tokenizer.ggml.pre``.

A file names the way it was trained with; the patterns are those of the models' own tokenizers. Merging inside
a word is ``byte_pair``'s business.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tokenizers import Regex, pre_tokenizers

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_PUNCTUATION = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+", rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
_CASED_PUNCTUATION = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_LLAMA_3 = rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}{{1,3}}|{_PUNCTUATION}"
_QWEN_2 = rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}|{_PUNCTUATION}"
_TEKKEN = rf"{_CASED[0]}|{_CASED[1]}|\p{{N}}|{_CASED_PUNCTUATION}"
_GPT_4O = rf"{_CASED[0]}{_CONTRACTIONS}?|{_CASED[1]}{_CONTRACTIONS}?|\p{{N}}{{1,3}}|{_CASED_PUNCTUATION}"


@dataclass(frozen=True)
class WordRule:
    """One way of cutting.

    Attributes:
        pattern: what a word is; None: GPT-2's words.
        single_digits: every digit is a word of its own, cut before all else.
        whole_words: a word that the vocabulary has is taken without merging.
        composes: text is brought to Unicode's composed form (NFC) first.
        adds_bos: a plain prompt begins with the first token where the file does not say.
    """

    pattern: str | None = None
    single_digits: bool = False
    whole_words: bool = False
    composes: bool = False
    adds_bos: bool = False

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """Build what the ``tokenizers`` library cuts with."""
        plain = self.pattern is None
        steps: list[pre_tokenizers.PreTokenizer] = [
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=plain)
        ]
        if self.pattern is not None:
            steps.insert(0, pre_tokenizers.Split(Regex(self.pattern), behavior="isolated"))
        if self.single_digits:
            steps.insert(0, pre_tokenizers.Digits(individual_digits=True))
        return steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)


_GPT_2_RULE = WordRule()
_DIGITS_RULE = WordRule(single_digits=True)
_LLAMA_3_RULE = WordRule(_LLAMA_3, whole_words=True, adds_bos=True)
_QWEN_2_RULE = WordRule(_QWEN_2, composes=True)

WORD_RULES: Mapping[str, WordRule] = MappingProxyType(
    {
        "gpt-2": _GPT_2_RULE,
        "smollm": _DIGITS_RULE,
        "starcoder": _DIGITS_RULE,
        "refact": _DIGITS_RULE,
        "codeshell": _DIGITS_RULE,
        "llama-bpe": _LLAMA_3_RULE,
        "llama3": _LLAMA_3_RULE,
        "llama-v3": _LLAMA_3_RULE,
        "falcon3": _LLAMA_3_RULE,
        "qwen2": _QWEN_2_RULE,
        "megrez": _QWEN_2_RULE,
        "deepseek-r1-qwen": WordRule(_QWEN_2),
        "tekken": WordRule(_TEKKEN, whole_words=True, adds_bos=True),
        "gpt-4o": WordRule(_GPT_4O),
    }
)
"""By the names llama.cpp's converter gives."""
