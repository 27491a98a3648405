"""Chooses and builds the tokenizer that a GGUF file describes."""

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import UnsupportedModelError
from promptcache_engine.tokenizer.base import Tokenizer
from promptcache_engine.tokenizer.byte_pair import BytePairTokenizer
from promptcache_engine.tokenizer.gguf_vocabulary import Vocabulary, read_vocabulary


def tokenizer_from_gguf(file: GGUFFile) -> tuple[Tokenizer, Vocabulary]:
    """Build the tokenizer of ``file``, and return the vocabulary it was built from too.

    Raises:
        ModelFileError: a key is missing or inconsistent.
        UnsupportedModelError: the file names a kind of tokenizer that is not implemented.
    """
    kind = file.metadata.text("tokenizer.ggml.model")
    vocabulary = read_vocabulary(file)
    if kind == "gpt2":
        pre = file.metadata.text("tokenizer.ggml.pre", "gpt-2")
        return BytePairTokenizer(
            vocabulary, file.metadata.texts("tokenizer.ggml.merges"), pre=pre
        ), vocabulary
    raise UnsupportedModelError(
        file.path, f"tokenizer kind {kind!r} is not supported; 'gpt2' is", where="key tokenizer.ggml.model"
    )
