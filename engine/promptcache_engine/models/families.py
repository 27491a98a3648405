"""The families of decoders that are served: what each has, and where its files differ from a plain Llama.

A family is a row of facts; there is no code of its own for one. Whatever a file states itself (sizes,
windows, soft caps, scalings) is read from the file; what files leave to the reader is written down here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        name: what it is called here.
        gguf: its architecture in GGUF files.
        hugging_face: its ``model_type`` in Hugging Face configurations.
        interleaved: GGUF files hold query and key rows in the order in which llama.cpp turns neighbours.
        qkv_bias: projections to queries, keys and values have a bias in every model of the family.
        qk_norm: queries and keys are normed, head by head.
        post_norms: what attention and feed-forward add is normed too.
        activation: see ``ModelConfig``.
        scaled_embeddings: embeddings are multiplied by the root of the hidden size.
        norms_offset_by_one: Hugging Face files hold w where the norm multiplies by 1 + w.
        tied: embeddings are tied where a Hugging Face configuration does not say.
        window_period: every so-maniest layer attends to everything, the others to a window; 0: all layers
            have the window, where there is one.
        window_theta: the rotary base of layers with a window, where a file does not say; None: the others'.
        heads_scale_layers: a model with as many layers scales queries by the hidden size over its heads.
        softcaps: (attention, final) soft caps where a GGUF file does not say.
    """

    name: str
    gguf: str
    hugging_face: tuple[str, ...]
    interleaved: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    activation: str = "silu"
    scaled_embeddings: bool = False
    norms_offset_by_one: bool = False
    tied: bool = False
    window_period: int = 0
    window_theta: float | None = None
    heads_scale_layers: int = 0
    softcaps: tuple[float | None, float | None] = (None, None)
    tensors: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


_GEMMA_TENSORS = MappingProxyType(
    {
        "ffn_norm": "pre_feedforward_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    }
)
"""Hugging Face's names where Gemma's norms stand elsewhere; see ``hf_tensors``."""

FAMILIES = (
    Family("llama", "llama", ("llama", "mistral"), interleaved=True),
    Family("qwen2", "qwen2", ("qwen2",), qkv_bias=True),
    Family("qwen3", "qwen3", ("qwen3",), qk_norm=True),
    Family(
        "gemma2",
        "gemma2",
        ("gemma2",),
        post_norms=True,
        activation="gelu_tanh",
        scaled_embeddings=True,
        norms_offset_by_one=True,
        tied=True,
        window_period=2,
        heads_scale_layers=46,
        softcaps=(50.0, 30.0),
        tensors=_GEMMA_TENSORS,
    ),
    Family(
        "gemma3",
        "gemma3",
        ("gemma3_text", "gemma3"),
        qk_norm=True,
        post_norms=True,
        activation="gelu_tanh",
        scaled_embeddings=True,
        norms_offset_by_one=True,
        tied=True,
        window_period=6,
        window_theta=10_000.0,
        heads_scale_layers=62,
        tensors=_GEMMA_TENSORS,
    ),
)

BY_GGUF: Mapping[str, Family] = MappingProxyType({family.gguf: family for family in FAMILIES})
BY_MODEL_TYPE: Mapping[str, Family] = MappingProxyType(
    {name: family for family in FAMILIES for name in family.hugging_face}
)


def layer_windows(family: Family, layers: int, window: int | None) -> tuple[int | None, ...]:
    """Return each layer's window by the family's own pattern, () where there is none."""
    if window is None:
        return ()
    period = family.window_period
    full = [bool(period) and index % period == period - 1 for index in range(layers)]
    return tuple(None if whole else window for whole in full)
