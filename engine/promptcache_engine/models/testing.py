"""A tiny model with random weights and a byte tokenizer, so that tests need no download.

Its text is nonsense, but its logits depend on every token of the context, as a real model's do: a wrong
slot, position or copy changes them.
"""

import torch
from torch import Tensor

from promptcache_engine.models.chat_template import ChatTemplate
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.llama import LayerWeights, Linear, LlamaModel, LlamaWeights
from promptcache_engine.models.loaded import LoadedModel
from promptcache_engine.models.products import dense, logits_head
from promptcache_engine.models.rope import RotaryTable
from promptcache_engine.tokenizer.byte_level import ByteTokenizer

CHATML_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tiny_model(
    seed: int = 0,
    *,
    num_layers: int = 2,
    hidden_size: int = 32,
    num_heads: int = 4,
    num_kv_heads: int = 2,
    intermediate_size: int = 64,
    context_length: int = 2048,
    dtype: torch.dtype = torch.float32,
    deterministic: bool = False,
    chat_template: str | None = CHATML_TEMPLATE,
) -> LoadedModel:
    """Make a Llama of about 30,000 parameters from ``seed``; equal arguments give equal weights."""
    tokenizer = ByteTokenizer()
    config = ModelConfig(
        architecture="llama",
        num_layers=num_layers,
        hidden_size=hidden_size,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=hidden_size // num_heads,
        intermediate_size=intermediate_size,
        vocab_size=tokenizer.vocab_size,
        context_length=context_length,
        eos_token_ids=tokenizer.eos_token_ids,
        name=f"tiny-{seed}",
    )
    weights = _random_weights(config, torch.Generator().manual_seed(seed), dtype)
    rope = RotaryTable(config.head_dim, config.rope_theta)
    return LoadedModel(
        model=LlamaModel(config, weights, rope, deterministic=deterministic),
        tokenizer=tokenizer,
        chat_template=None if chat_template is None else ChatTemplate(chat_template),
        config=config,
    )


def _random_weights(config: ModelConfig, generator: torch.Generator, dtype: torch.dtype) -> LlamaWeights:
    def matrix(rows: int, columns: int, gain: float = 1.5) -> Tensor:
        values: Tensor = torch.randn(rows, columns, generator=generator) * (gain * columns**-0.5)
        return values.to(dtype)

    def linear(rows: int, columns: int, gain: float = 1.5) -> Linear:
        return dense(matrix(rows, columns, gain))

    def norm() -> Tensor:
        values: Tensor = 1 + 0.1 * torch.randn(config.hidden_size, generator=generator)
        return values.to(dtype)

    def layer() -> LayerWeights:
        return LayerWeights(
            attention_norm=norm(),
            qkv=linear(config.query_width + 2 * config.kv_width, config.hidden_size, gain=3),
            output=linear(config.hidden_size, config.query_width),
            mlp_norm=norm(),
            gate_up=linear(2 * config.intermediate_size, config.hidden_size),
            down=linear(config.hidden_size, config.intermediate_size),
        )

    return LlamaWeights(
        embedding=matrix(config.vocab_size, config.hidden_size, gain=config.hidden_size**0.5),
        layers=tuple(layer() for _ in range(config.num_layers)),
        final_norm=norm(),
        head=logits_head(matrix(config.vocab_size, config.hidden_size), dtype, torch.device("cpu")),
    )
