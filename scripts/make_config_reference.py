"""Records what transformers takes sparse configurations to mean, for the tests to compare with.

Run once, in an environment of its own: transformers is no dependency of promptcache, nor of its tests; torch
is not needed.

    python3 -m venv /tmp/reference-venv
    /tmp/reference-venv/bin/pip install transformers==5.24.0
    /tmp/reference-venv/bin/python scripts/make_config_reference.py tests/engine/models/reference/configs.json

The configurations lack what configurations in the wild lack. For each the file holds the keys given and,
under ``means``, those of transformers' own object that decide what is computed.
"""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import AutoConfig

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 7,
    "num_attention_heads": 8,
    "vocab_size": 300,
}
GEMMA_3_SIZES = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
STRETCHED = {"factor": 8.0, "rope_type": "linear"}

CASES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SIZES},
    "llama, heads shared": {
        "model_type": "llama",
        **SIZES,
        "num_key_value_heads": 2,
        "rope_scaling": STRETCHED,
    },
    "mistral": {"model_type": "mistral", **SIZES},
    "mistral without windows": {"model_type": "mistral", **SIZES, "sliding_window": None},
    "llama, each head its own keys": {"model_type": "llama", **SIZES, "num_key_value_heads": None},
    "qwen2": {"model_type": "qwen2", **SIZES, "num_key_value_heads": 2, "sliding_window": 32},
    "qwen2 with windows": {
        "model_type": "qwen2",
        **SIZES,
        "num_hidden_layers": 30,
        "num_key_value_heads": 2,
        "use_sliding_window": True,
    },
    "qwen3": {"model_type": "qwen3", **SIZES, "num_key_value_heads": 2},
    "gemma2": {"model_type": "gemma2", "num_hidden_layers": 7},
    "gemma2 without caps": {
        "model_type": "gemma2",
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "sliding_window": None,
    },
    "gemma3 text": {"model_type": "gemma3_text"},
    "gemma3 text, bases of its own": {
        "model_type": "gemma3_text",
        "rope_theta": 5e5,
        "rope_local_base_freq": 2e4,
        "sliding_window_pattern": 3,
    },
    "gemma3 text, newer keys": {
        "model_type": "gemma3_text",
        "rope_parameters": {"full_attention": STRETCHED},
    },
    "gemma3 that reads images": {
        "model_type": "gemma3",
        "eos_token_id": [1, 106],
        "text_config": {
            **GEMMA_3_SIZES,
            "model_type": "gemma3_text",
            "rope_scaling": STRETCHED,
            "sliding_window": 1024,
        },
    },
}

KEYS = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "rms_norm_eps",
    "tie_word_embeddings",
    "sliding_window",
    "layer_types",
    "rope_parameters",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
)


def record(given: dict[str, Any]) -> dict[str, Any]:
    """Let transformers read the configuration as a folder's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(given), encoding="utf-8")
        config = AutoConfig.from_pretrained(folder).get_text_config()
    return {"given": given, "means": {key: getattr(config, key) for key in KEYS if hasattr(config, key)}}


def main(out: Path) -> None:
    """Record every case."""
    made_by = {"command": "scripts/make_config_reference.py", "transformers": version("transformers")}
    cases = {name: record(given) for name, given in CASES.items()}
    text = json.dumps({"made_by": made_by, "cases": cases})
    out.write_text(text.replace('}, "', '},\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
