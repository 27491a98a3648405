"""A tokenizer whose tokens are the 256 bytes and a few control tokens: no file, no merges, for tests."""

import re
from collections.abc import Iterable, Sequence

from promptcache_engine.models.errors import TokenizerError
from promptcache_engine.tokenizer.base import join_bytes

CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Control tokens of the ChatML format; they get the ids from 256 on."""


class ByteTokenizer:
    """Token id b is byte b; ids from 256 on are the ``control`` tokens, in order."""

    def __init__(self, control: Sequence[str] = CHATML, *, eos: Sequence[str] = ("<|im_end|>",)) -> None:
        self._control = tuple(control)
        self._ids = {text: 256 + index for index, text in enumerate(self._control)}
        self._pattern = re.compile("(" + "|".join(map(re.escape, self._control)) + ")")
        self._eos = tuple(self._ids[text] for text in eos)

    @property
    def vocab_size(self) -> int:
        """256 and the control tokens."""
        return 256 + len(self._control)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids that end an answer."""
        return self._eos

    @property
    def bos_token_id(self) -> int | None:
        """There is none."""
        return None

    @property
    def adds_bos(self) -> bool:
        """Nothing is added."""
        return False

    def encode(self, text: str) -> list[int]:
        """``"a<|im_end|>"`` -> ``[97, 258]``."""
        ids: list[int] = []
        for piece in self._pattern.split(text):
            control = self._ids.get(piece)
            ids.extend(piece.encode("utf-8", errors="replace") if control is None else (control,))
        return ids

    def least_tokens(self, text: str) -> int:
        """One token for as many bytes as the longest control token has."""
        return -(-len(text.encode("utf-8", errors="replace")) // max(1, *map(len, self._control)))

    def decode(self, ids: Iterable[int]) -> str:
        """``[97, 258]`` -> ``"a"``."""
        return join_bytes(self, ids)

    def token_bytes(self, token_id: int) -> bytes:
        """One byte, or none for a control token."""
        self._check(token_id)
        return bytes((token_id,)) if token_id < 256 else b""

    def token_text(self, token_id: int) -> str:
        """The control token, or the byte as ``<0x61>``."""
        self._check(token_id)
        return f"<0x{token_id:02X}>" if token_id < 256 else self._control[token_id - 256]

    def _check(self, token_id: int) -> None:
        if not 0 <= token_id < self.vocab_size:
            raise TokenizerError(
                f"token id {token_id} is outside the vocabulary of {self.vocab_size}",
                "Use ids that this model's tokenizer made",
            )
