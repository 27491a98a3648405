"""Text to token ids and back; ``Tokenizer`` is what the engine needs of one."""

from promptcache_engine.tokenizer.base import Tokenizer
from promptcache_engine.tokenizer.byte_level import ByteTokenizer

__all__ = ["ByteTokenizer", "Tokenizer"]
