"""A conversation's next prompt on the tokens of the last: known ids stay, only the rest is encoded.

A text encoded anew may be cut into other tokens than the model wrote it in, and from the first of them on
nothing cached can be reused. Whatever ids are given, the prompt stands for the text and nothing else.
"""

from collections.abc import Sequence

from promptcache_engine.tokenizer import Tokenizer

# A character has at most four bytes; further back than that something else is the matter.
_MAX_STEPS_BACK = 5


def encode_after(tokenizer: Tokenizer, text: str, known: Sequence[int]) -> list[int]:
    """Encode ``text``, keeping the ids at the front of ``known`` that write its beginning.

    Args:
        tokenizer: the model's.
        text: the prompt as the chat template wrote it.
        known: ids of an earlier prompt and its answer, as far as anybody knows them.

    Returns:
        The ids of ``text``: those of ``known`` as far as they agree with it, and the rest's.
    """
    written = text.encode("utf-8", errors="replace")
    kept, end = 0, 0
    for token in known:
        piece = _written(tokenizer, token)
        if piece is None or not piece or not written.startswith(piece, end):
            break
        kept, end = kept + 1, end + len(piece)
    for _ in range(min(kept, _MAX_STEPS_BACK)):
        rest = _encoded(tokenizer, written[end:])
        if rest is not None:
            return [*known[:kept], *rest]
        # A character was cut in two, or the tokenizer writes a beginning otherwise than a middle.
        kept -= 1
        end -= len(_written(tokenizer, known[kept]) or b"")
    return tokenizer.encode(text)


def _encoded(tokenizer: Tokenizer, rest: bytes) -> list[int] | None:
    """The ids of a text that continues another; None where they would write something else."""
    try:
        ids = tokenizer.encode(rest.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    pieces = [_written(tokenizer, token) for token in ids]
    return ids if b"".join(piece or b"" for piece in pieces) == rest else None


def _written(tokenizer: Tokenizer, token: int) -> bytes | None:
    """A token as it stands in a prompt's text, control tokens by name; None outside the vocabulary."""
    if not 0 <= token < tokenizer.vocab_size:
        return None
    return tokenizer.token_bytes(token) or tokenizer.token_text(token).encode()
