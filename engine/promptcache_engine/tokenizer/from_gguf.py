"""Chooses and builds the tokenizer that a GGUF file describes."""

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import UnsupportedModelError
from promptcache_engine.tokenizer.base import Tokenizer
from promptcache_engine.tokenizer.byte_pair import BytePairTokenizer
from promptcache_engine.tokenizer.gguf_vocabulary import read_vocabulary
from promptcache_engine.tokenizer.sentence_piece import SentencePieceTokenizer
from promptcache_engine.tokenizer.unigram import unigram_from_gguf
from promptcache_engine.tokenizer.vocabulary import Vocabulary
from promptcache_engine.tokenizer.words import WORD_RULES


def tokenizer_from_gguf(file: GGUFFile) -> tuple[Tokenizer, Vocabulary]:
    """Build the tokenizer of ``file``, and return the vocabulary it was built from too.

    Raises:
        ModelFileError: a key is missing or inconsistent.
        UnsupportedModelError: the file names a kind of tokenizer that is not implemented.
    """
    metadata = file.metadata
    kind = metadata.text("tokenizer.ggml.model")
    if kind == "gpt2":
        pre = metadata.text("tokenizer.ggml.pre", "gpt-2")
        rule = WORD_RULES.get(pre)
        vocabulary = read_vocabulary(file, adds_bos=rule is not None and rule.adds_bos)
        return BytePairTokenizer(vocabulary, metadata.texts("tokenizer.ggml.merges"), pre=pre), vocabulary
    if kind == "llama":
        vocabulary = read_vocabulary(file, adds_bos=True)
        scores = metadata.numbers("tokenizer.ggml.scores").tolist()
        space_prefix = metadata.flag("tokenizer.ggml.add_space_prefix", default=True)
        return SentencePieceTokenizer(vocabulary, scores, space_prefix=space_prefix), vocabulary
    if kind == "t5":
        vocabulary = read_vocabulary(file, adds_bos=False)
        return unigram_from_gguf(file, vocabulary), vocabulary
    problem = f"tokenizer kind {kind!r} is not supported; 'gpt2', 'llama' and 't5' are"
    raise UnsupportedModelError(file.path, problem, where="key tokenizer.ggml.model")
