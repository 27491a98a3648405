"""Records what transformers computes for a tiny model of each family, for the tests to compare with.

Run once, in an environment of its own: transformers is no dependency of promptcache, nor of its tests.

    python3 -m venv /tmp/reference-venv
    /tmp/reference-venv/bin/pip install torch==2.13.0 transformers==5.24.0 numpy
    PYTHONPATH=. /tmp/reference-venv/bin/python scripts/make_family_reference.py \
        tests/engine/models/reference/families.json

The configurations and the weights, which follow from the tensors' names and shapes, are those of
tests/engine/models/family_cases.py. Nothing of promptcache is imported. For each case the file holds the
configuration as transformers writes it, the tensors' shapes, and logits after some places of one prompt.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from tests.engine.models.family_cases import CASES, PLACES, PROMPT, SCORED, config_of, weights_of


def record(name: str) -> dict[str, Any]:
    """Build the case's model and compute its logits in float32."""
    fields = config_of(name)
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    shapes = {key: list(value.shape) for key, value in model.state_dict().items() if key not in tied}
    gemma = config.model_type.startswith("gemma")
    weights = weights_of(shapes, norms_offset_by_one=gemma)
    state = {key: torch.from_numpy(value) for key, value in weights.items()}
    missing = set(model.load_state_dict(state, strict=False).missing_keys)
    assert missing <= tied, missing
    model.tie_weights()
    with torch.inference_mode():
        logits = model(torch.tensor([PROMPT]), use_cache=False).logits[0, list(PLACES)]
    given = json.loads(config.to_json_string(use_diff=False))
    return {
        "config": {key: value for key, value in given.items() if key not in _NOISE},
        "shapes": shapes,
        "logits": [[round(value, 5) for value in row[:SCORED].tolist()] for row in logits],
        "log_sums": [round(value, 5) for value in logits.logsumexp(-1).tolist()],
    }


_NOISE = ("id2label", "label2id", "transformers_version", "_name_or_path", "problem_type")


def main(out: Path) -> None:
    """Record every case."""
    made_by = {"command": "scripts/make_family_reference.py"}
    made_by |= {name: version(name) for name in ("torch", "transformers", "numpy")}
    cases = {name: record(name) for name in CASES}
    text = json.dumps({"made_by": made_by, "cases": cases}, indent=None)
    out.write_text(text.replace('}, "', '},\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
