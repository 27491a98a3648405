"""The default model against what transformers computes from the same file (scripts/make_reference.py)."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from promptcache_engine.models import ForwardBatch, KVPool, LoadedModel, SequenceSlice
from tests.engine.models.steps import Context, indices, step

REFERENCE = json.loads(
    (Path(__file__).parent / "reference/smollm2-135m-instruct.json").read_text(encoding="utf-8")
)
COMPARED_TOKENS = 32

pytestmark = pytest.mark.model


def all_logprobs(loaded: LoadedModel, tokens: list[int]) -> torch.Tensor:
    slots = torch.arange(len(tokens))
    batch = ForwardBatch(indices(tokens), slots, slots, [SequenceSlice(0, len(tokens), slots)], slots)
    return loaded.model.forward(batch, KVPool(loaded.config, len(tokens), torch.float32, "cpu")).log_softmax(
        -1
    )


def test_the_file_is_the_one_the_reference_was_made_from(default_model_path: Path) -> None:
    digest = hashlib.sha256(default_model_path.read_bytes()).hexdigest()
    assert digest == REFERENCE["made_by"]["model_sha256"]


def test_the_reference_covers_what_is_promised() -> None:
    assert len(REFERENCE["chats"]) == 5
    assert all(len(chat["answer_ids"]) >= COMPARED_TOKENS for chat in REFERENCE["chats"])
    assert len(REFERENCE["scored"]["ids"]) == 40
    # A lead far above rounding: equality of greedy answers is no matter of luck.
    assert min(chat["smallest_lead"] for chat in REFERENCE["chats"]) > 1e-2


@pytest.mark.parametrize("chat", REFERENCE["chats"], ids=lambda chat: chat["messages"][-1]["content"][:24])
def test_greedy_answers_are_equal(default_model: LoadedModel, chat: Mapping[str, Any]) -> None:
    assert default_model.chat_template is not None
    prompt = default_model.chat_template.render(chat["messages"])
    assert prompt == chat["prompt"]
    tokens = default_model.tokenizer.encode(prompt)
    assert tokens == chat["prompt_ids"]
    pool = KVPool(default_model.config, 512, torch.float32, "cpu")
    context, answer = Context(torch.arange(512)), []
    for _ in range(COMPARED_TOKENS):
        tokens = [int(step(default_model, pool, [(context, tokens)]).argmax())]
        answer += tokens
    assert answer == chat["answer_ids"][:COMPARED_TOKENS]
    assert chat["answer"].startswith(default_model.tokenizer.decode(answer))


def test_log_probabilities_agree(default_model: LoadedModel) -> None:
    scored = REFERENCE["scored"]
    found = all_logprobs(default_model, scored["ids"])
    own = found[:-1].gather(1, indices(scored["ids"][1:])[:, None])[:, 0]
    torch.testing.assert_close(own, torch.tensor(scored["logprobs"]), atol=1e-3, rtol=0)
    best = found.gather(1, torch.tensor(scored["best_ids"]))
    torch.testing.assert_close(best, torch.tensor(scored["best_logprobs"]), atol=1e-3, rtol=0)


@pytest.mark.parametrize("case", REFERENCE["tokenized"], ids=lambda case: repr(case["text"])[:24])
def test_tokens_are_equal(default_model: LoadedModel, case: Mapping[str, Any]) -> None:
    ids = default_model.tokenizer.encode(case["text"])
    assert ids == case["ids"]
    text = case["text"].replace("<|im_start|>", "").replace("<|im_end|>", "")  # control tokens are no text
    assert default_model.tokenizer.decode(ids) == text


def test_every_kind_of_digit_is_a_token_of_its_own(default_model: LoadedModel) -> None:
    """Transformers' conversion of the file joins a digit with the space before it; llama.cpp does not."""
    tokenizer = default_model.tokenizer
    assert [tokenizer.token_text(token) for token in tokenizer.encode("a ½7٣")] == [
        "a",
        "Ġ",
        "Â½",
        "7",
        "Ù",
        "£",
    ]


def test_answers_end_at_the_turns_end(default_model: LoadedModel) -> None:
    ends = {default_model.tokenizer.token_text(token) for token in default_model.config.eos_token_ids}
    assert ends == {"<|im_end|>", "<|endoftext|>"}
    assert default_model.tokenizer.eos_token_ids == default_model.config.eos_token_ids
