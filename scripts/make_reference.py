"""Records what transformers computes for the default model, for the tests to compare with.

Run once, in an environment of its own: transformers is no dependency of promptcache, nor of its tests.

    python3 -m venv /tmp/reference-venv
    /tmp/reference-venv/bin/pip install torch==2.13.0 transformers==5.24.0 accelerate gguf
    /tmp/reference-venv/bin/python scripts/make_reference.py \
        ~/.cache/promptcache/models/SmolLM2-135M-Instruct.Q4_1.gguf \
        tests/engine/models/reference/smollm2-135m-instruct.json

The GGUF file that promptcache serves is dequantized to float32 by transformers, which then continues five
chats greedily, scores the tokens of one text, and tokenizes texts of many kinds. Nothing of promptcache is
imported. The file records the versions, the command and the model file's SHA-256.
"""

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.quantization_config import GgufConfig

CHATS = [
    [{"role": "user", "content": "Name three uses of a paper clip."}],
    [{"role": "user", "content": "Write a haiku about the sea in winter."}],
    [
        {"role": "system", "content": "You answer in one short paragraph, for a reader of twelve."},
        {"role": "user", "content": "Why is the sky blue?"},
    ],
    [
        {"role": "user", "content": "My order 48213 has not arrived. What should I do?"},
        {"role": "assistant", "content": "I am sorry to hear that. When did you place it?"},
        {"role": "user", "content": "Two weeks ago. Please write a short letter to the seller for me."},
    ],
    [{"role": "user", "content": "def add(a, b):\n    return a - b\n\nWhat is wrong with this function?"}],
]
SCORED = (
    "A cache keeps what was computed once so that it need not be computed again. It helps only when the "
    "beginning of a request is exactly what it was before; one changed character near the start undoes it."
)
SCORED_TOKENS = 40
GENERATED_TOKENS = 48
TEXTS = [
    "",
    " ",
    "\n\n  \t x",
    "Hello, world!",
    "hello  world   !",
    "don't we'll I'M you'RE",
    "3.14159 and 1,000,000",
    "x = 2**10 + 0xFF  # comment",
    "def f(x):\n\treturn [i for i in range(x)]\n",
    "naïve café Ångström",
    "Grüße aus Köln",
    "Привет, мир",
    "こんにちは世界",
    "你好\uff0c世界。",
    "안녕하세요",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "🙂🙃👩\u200d👩\u200d👧",
    "a\u0301 e\u0308 zero\u200bwidth",
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|im_start|><|im_end|>",
    "<|not_special|> <|im_start",
    "https://example.com/a?b=c&d=%20#e",
    '{"a": [1, 2.5e-3, null]}',
    "\r\nCRLF\r\n",
    "tab\tseparated\tvalues",
    "\ufb01 ligature",
    "\u00a0non-breaking\u2003em",
    "A" * 70,
    "0123456789" * 5,
]


def main(model_file: Path, out: Path) -> None:
    """Compute all reference values and write them to ``out``."""
    torch.set_grad_enabled(False)
    source = {"pretrained_model_name_or_path": str(model_file.parent), "gguf_file": model_file.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    model = AutoModelForCausalLM.from_pretrained(
        **source, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32
    ).eval()
    record = {
        "made_by": provenance(model_file),
        "chats": [continue_chat(model, tokenizer, messages) for messages in CHATS],
        "scored": score(model, tokenizer),
        "tokenized": [{"text": text, "ids": encode(tokenizer, text)} for text in TEXTS],
    }
    out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def provenance(model_file: Path) -> dict[str, str]:
    """Say with what, and from what, the values were made."""
    packages = {name: version(name) for name in ("torch", "transformers", "accelerate", "gguf", "tokenizers")}
    return {
        "command": "scripts/make_reference.py",
        "model_file": model_file.name,
        "model_sha256": hashlib.sha256(model_file.read_bytes()).hexdigest(),
        "python": platform.python_version(),
        "dtype": "float32",
        **packages,
    }


def encode(tokenizer: AutoTokenizer, text: str) -> list[int]:
    """Return the ids of ``text``, none added."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def continue_chat(model: AutoModelForCausalLM, tokenizer: AutoTokenizer, messages: list) -> dict:
    """Return the rendered prompt, its ids and the greedy continuation up to the end of the answer."""
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = encode(tokenizer, text)
    prompt = torch.tensor([ids])
    answer = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        do_sample=False,
        max_new_tokens=GENERATED_TOKENS,
    )[0, len(ids) :].tolist()
    logits = model(torch.tensor([ids + answer])).logits[0, len(ids) - 1 : -1]
    best = logits.topk(2, dim=-1).values
    return {
        "messages": messages,
        "prompt": text,
        "prompt_ids": ids,
        "answer_ids": answer,
        "answer": tokenizer.decode(answer),
        "smallest_lead": round(float((best[:, 0] - best[:, 1]).min()), 5),
    }


def score(model: AutoModelForCausalLM, tokenizer: AutoTokenizer) -> dict:
    """Return the log-probability of each token of the scored text after those before it, and the best ten."""
    ids = encode(tokenizer, SCORED)[:SCORED_TOKENS]
    logprobs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    best = logprobs.topk(10, dim=-1)
    return {
        "ids": ids,
        "logprobs": [round(float(logprobs[at, token]), 6) for at, token in enumerate(ids[1:])],
        "best_ids": best.indices.tolist(),
        "best_logprobs": [[round(value, 6) for value in row] for row in best.values.tolist()],
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
