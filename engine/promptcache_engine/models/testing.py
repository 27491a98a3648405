"""Tiny models with random weights and a byte tokenizer, so that tests need no download.

Their text is nonsense, but their logits depend on every token of the context, as a real model's do: a wrong
slot, position or copy changes them. There is one for each family, and any mixture of their parts.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from promptcache_engine.models.chat_template import ChatTemplate
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.decoder import DecoderModel
from promptcache_engine.models.families import FAMILIES, Family
from promptcache_engine.models.loaded import LoadedModel
from promptcache_engine.models.operations import Operations
from promptcache_engine.models.products import dense, logits_head
from promptcache_engine.models.rope_settings import RopeSettings
from promptcache_engine.models.weights import DecoderWeights, LayerWeights, Linear
from promptcache_engine.tokenizer.byte_level import ByteTokenizer

CHATML_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
FAMILY_NAMES = tuple(family.name for family in FAMILIES)


def tiny_model(
    seed: int = 0,
    *,
    family: str = "llama",
    num_layers: int = 2,
    hidden_size: int = 32,
    num_heads: int = 4,
    num_kv_heads: int = 2,
    intermediate_size: int = 64,
    context_length: int = 2048,
    layer_windows: Sequence[int | None] = (),
    dtype: torch.dtype = torch.float32,
    deterministic: bool = False,
    operations: Operations | None = None,
    chat_template: str | None = CHATML_TEMPLATE,
) -> LoadedModel:
    """Make a model of about 30,000 parameters from ``seed``; equal arguments give equal weights.

    ``family`` is one of FAMILY_NAMES; ``layer_windows`` has an entry a layer or none, whatever the family.
    """
    tokenizer = ByteTokenizer()
    kind = next(each for each in FAMILIES if each.name == family)
    config = ModelConfig(
        architecture=kind.gguf,
        num_layers=num_layers,
        hidden_size=hidden_size,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_dim=hidden_size // num_heads,
        intermediate_size=intermediate_size,
        vocab_size=tokenizer.vocab_size,
        context_length=context_length,
        window_rope=RopeSettings(kind.window_theta / 10) if kind.window_theta else None,
        eos_token_ids=tokenizer.eos_token_ids,
        name=f"tiny-{seed}",
        layer_windows=tuple(layer_windows),
        activation=kind.activation,
        attention_softcap=kind.softcaps[0],
        final_softcap=kind.softcaps[1],
        embedding_scale=hidden_size**0.5 if kind.scaled_embeddings else 1.0,
    )
    weights = _RandomWeights(config, kind, seed, dtype).make()
    return LoadedModel(
        model=DecoderModel(config, weights, deterministic=deterministic, operations=operations),
        tokenizer=tokenizer,
        chat_template=None if chat_template is None else ChatTemplate(chat_template),
        config=config,
    )


class _RandomWeights:
    """Draws a model's weights one after the other from one generator."""

    def __init__(self, config: ModelConfig, family: Family, seed: int, dtype: torch.dtype) -> None:
        self._config = config
        self._family = family
        self._generator = torch.Generator().manual_seed(seed)
        self._dtype = dtype

    def make(self) -> DecoderWeights:
        """Draw all weights."""
        config = self._config
        gain = config.hidden_size**0.5 / config.embedding_scale
        return DecoderWeights(
            embedding=self._matrix(config.vocab_size, config.hidden_size, gain=gain),
            layers=tuple(self._layer() for _ in range(config.num_layers)),
            final_norm=self._norm(config.hidden_size),
            head=logits_head(
                self._matrix(config.vocab_size, config.hidden_size), self._dtype, torch.device("cpu")
            ),
        )

    def _layer(self) -> LayerWeights:
        config, family = self._config, self._family
        hidden, inner, head = config.hidden_size, config.intermediate_size, config.head_dim
        wide = config.query_width + 2 * config.kv_width
        return LayerWeights(
            attention_norm=self._norm(hidden),
            qkv=self._linear(wide, hidden, gain=3, bias=family.qkv_bias),
            output=self._linear(hidden, config.query_width),
            mlp_norm=self._norm(hidden),
            gate_up=self._linear(2 * inner, hidden),
            down=self._linear(hidden, inner),
            query_norm=self._norm(head) if family.qk_norm else None,
            key_norm=self._norm(head) if family.qk_norm else None,
            post_attention_norm=self._norm(hidden) if family.post_norms else None,
            post_mlp_norm=self._norm(hidden) if family.post_norms else None,
        )

    def _matrix(self, rows: int, columns: int, gain: float = 1.5) -> Tensor:
        values: Tensor = torch.randn(rows, columns, generator=self._generator) * (gain * columns**-0.5)
        return values.to(self._dtype)

    def _linear(self, rows: int, columns: int, gain: float = 1.5, *, bias: bool = False) -> Linear:
        weight = self._matrix(rows, columns, gain)
        return dense(weight, self._matrix(1, rows, gain=rows**0.5)[0] if bias else None)

    def _norm(self, width: int) -> Tensor:
        values: Tensor = 1 + 0.1 * torch.randn(width, generator=self._generator)
        return values
