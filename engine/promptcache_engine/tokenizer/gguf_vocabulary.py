"""The vocabulary as a GGUF file states it: tokens, their kinds, and which of them have a role.

How text is cut into these tokens is decided by the implementation chosen in ``from_gguf``.
"""

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.errors import ModelFileError
from promptcache_engine.tokenizer.vocabulary import TokenKind, Vocabulary, answer_ends


def read_vocabulary(file: GGUFFile, *, adds_bos: bool) -> Vocabulary:
    """Read the tokens of ``file``; raise ModelFileError naming the key that is missing or inconsistent.

    ``adds_bos`` is the habit of the tokenizer's kind, for files that do not say.
    """
    metadata = file.metadata
    tokens = metadata.texts("tokenizer.ggml.tokens")
    if len(set(tokens)) != len(tokens):
        raise ModelFileError(file.path, "a token is listed twice", where="key tokenizer.ggml.tokens")
    kinds = [int(TokenKind.NORMAL)] * len(tokens)
    if "tokenizer.ggml.token_type" in metadata:
        kinds = metadata.numbers("tokenizer.ggml.token_type").tolist()
    if len(kinds) != len(tokens):
        problem = f"{len(kinds)} token types for {len(tokens)} tokens"
        raise ModelFileError(file.path, problem, where="key tokenizer.ggml.token_type")
    bos = _token_id(file, "bos", len(tokens))
    return Vocabulary(
        path=file.path,
        tokens=tokens,
        kinds=kinds,
        bos_token_id=bos,
        eos_token_id=_token_id(file, "eos", len(tokens)),
        eos_token_ids=answer_ends(
            tokens, kinds, (_token_id(file, role, len(tokens)) for role in ("eos", "eot", "eom"))
        ),
        adds_bos=bos is not None and metadata.flag("tokenizer.ggml.add_bos_token", adds_bos),
    )


def _token_id(file: GGUFFile, role: str, count: int) -> int | None:
    key = f"tokenizer.ggml.{role}_token_id"
    if key not in file.metadata:
        return None
    index = file.metadata.integer(key)
    if not 0 <= index < count:
        raise ModelFileError(file.path, f"token id {index} is outside the {count} tokens", where=f"key {key}")
    return index
