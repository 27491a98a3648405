"""Trains small SentencePiece models and records how sentencepiece itself cuts texts with them.

Run once, in an environment of its own: sentencepiece is no dependency of promptcache, nor of its tests.

    python3 -m venv /tmp/reference-venv
    /tmp/reference-venv/bin/pip install sentencepiece==0.2.3
    /tmp/reference-venv/bin/python scripts/make_sentencepiece_reference.py LICENSE \
        tests/engine/tokenizer/reference/

The training options of ``sentencepiece.json`` are Llama 2's: byte-pair, bytes as the last resort, digits
alone, a space before the text, no normalization. Those of ``unigram.json`` are T5's: Unigram, a map of
characters, spaces that say nothing dropped; the map is a short one of our own. The scores are
what a GGUF file carries; the training text is the licence.
"""

import base64
import io
import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sentencepiece

TEXTS = [
    "",
    " ",
    "   ",
    "Hello",
    "License",
    "the License and the Work",
    "  two spaces  inside  ",
    "line\nbreaks\n\nand\ttabs",
    "1234567890 and 3.14",
    "You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0",
    "naïve café Ångström",
    "Привет, мир",
    "こんにちは世界",
    "🙂🙃👩\u200d👧",
    "a\u0301 zero\u200bwidth",
    "contributioncontributor's contributory",
    "\u2581already\u2581marked",
    "x" * 50,
    "(except as stated in this section) patent license",
    'def f(x):\n    return {"a": [x]}',
    "\uff21pache \ufb01le ½ caf\u00e9",
]


CHARACTERS = {"\uff21": "A", "\ufb01": "fi", "\t": " ", "\u00bd": "1/2", "\u200b": "", "\u00e9": "e\u0301"}
"""The map of characters of ``unigram.json``."""

LLAMA_2 = {
    "model_type": "bpe",
    "vocab_size": 700,
    "byte_fallback": True,
    "split_digits": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True,
}
T5 = {"model_type": "unigram", "vocab_size": 500}


def main(training_file: Path, folder: Path) -> None:
    """Train both models, cut every text, and write pieces, scores, kinds and ids to ``folder``."""
    lines = training_file.read_text(encoding="utf-8").splitlines()
    rules = folder / "rules.tsv"
    rules.write_text("".join(f"{codes(old)}\t{codes(new)}\n" for old, new in CHARACTERS.items()))
    for name, options in (
        ("sentencepiece", LLAMA_2),
        ("unigram", {**T5, "normalization_rule_tsv": str(rules)}),
    ):
        record = train_and_cut(lines, options)
        text = json.dumps(record, ensure_ascii=False, indent=None)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    rules.unlink()


def train_and_cut(lines: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Train one model and record it with what it makes of the texts."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        character_coverage=1.0,
        minloglevel=2,
        **options,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(processor.get_piece_size())
    return {
        "made_by": {
            "command": "scripts/make_sentencepiece_reference.py LICENSE",
            "sentencepiece": version("sentencepiece"),
        },
        "tokens": [processor.id_to_piece(index) for index in ids],
        "scores": [processor.get_score(index) for index in ids],
        "kinds": [kind_of(processor, index) for index in ids],
        "charsmap": base64.b64encode(charsmap_of(model.getvalue())).decode(),
        "cut": [{"text": text, "ids": processor.encode(text)} for text in TEXTS],
    }


def codes(text: str) -> str:
    """A text as sentencepiece's rules write it: code points in hexadecimal."""
    return " ".join(f"{ord(char):X}" for char in text)


def charsmap_of(model: bytes) -> bytes:
    """The precompiled map of characters: field 2 of field 3 (the normalizer) of a model's protobuf."""
    normalizer = next((value for field, value in fields(model) if field == 3), b"")
    return next((value for field, value in fields(normalizer) if field == 2), b"")


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message that have a length; others are stepped over."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 2:
            size, at = varint(message, at)
            yield key >> 3, message[at : at + size]
        else:
            size = {1: 8, 5: 4}.get(kind, 0)
            if kind == 0:
                _, at = varint(message, at)
        at += size if kind else 0


def varint(message: bytes, at: int) -> tuple[int, int]:
    """A whole number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def kind_of(processor: sentencepiece.SentencePieceProcessor, index: int) -> int:
    """Return the number GGUF gives to a piece's kind."""
    if processor.is_unknown(index):
        return 2
    if processor.is_control(index):
        return 3
    return 6 if processor.is_byte(index) else 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
