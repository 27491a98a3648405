"""Trains a small SentencePiece model and records how sentencepiece itself cuts texts with it.

Run once, in an environment of its own: sentencepiece is no dependency of promptcache, nor of its tests.

    python3 -m venv /tmp/reference-venv
    /tmp/reference-venv/bin/pip install sentencepiece==0.2.3
    /tmp/reference-venv/bin/python scripts/make_sentencepiece_reference.py LICENSE \
        tests/engine/tokenizer/reference/sentencepiece.json

The training options are Llama 2's: byte-pair, bytes as the last resort, digits alone, a space
before the text, no normalization. The scores are what a GGUF file carries; the training text is the licence.
"""

import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

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
]


def main(training_file: Path, out: Path) -> None:
    """Train, cut every text, and write pieces, scores, kinds and ids to ``out``."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_file.read_text(encoding="utf-8").splitlines()),
        model_writer=model,
        model_type="bpe",
        vocab_size=700,
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        character_coverage=1.0,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(processor.get_piece_size())
    record = {
        "made_by": {
            "command": "scripts/make_sentencepiece_reference.py LICENSE",
            "sentencepiece": version("sentencepiece"),
        },
        "tokens": [processor.id_to_piece(index) for index in ids],
        "scores": [processor.get_score(index) for index in ids],
        "kinds": [kind_of(processor, index) for index in ids],
        "cut": [{"text": text, "ids": processor.encode(text)} for text in TEXTS],
    }
    out.write_text(json.dumps(record, ensure_ascii=False, indent=None) + "\n", encoding="utf-8")


def kind_of(processor: sentencepiece.SentencePieceProcessor, index: int) -> int:
    """Return the number GGUF gives to a piece's kind."""
    if processor.is_unknown(index):
        return 2
    if processor.is_control(index):
        return 3
    return 6 if processor.is_byte(index) else 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
