"""A model's shape and constants, as read from its file: numbers only, no tensor, no file access."""

import math
from dataclasses import dataclass, field

from promptcache_engine.models.rope_settings import RopeSettings

ACTIVATIONS = ("silu", "gelu_tanh")
"""What may stand between the two products of a feed-forward block."""

MOST_LAYERS = 4096
"""Models in use have some hundred at most; what a file claims beyond this is not believed."""


@dataclass(frozen=True)
class ModelConfig:
    """The numbers that define a decoder.

    ``num_heads`` query heads share ``num_kv_heads`` key/value heads of ``head_dim`` values each. ``rope``
    says how positions turn queries and keys; layers with a sliding window may have ``window_rope`` of their
    own. ``context_length`` is in tokens. ``name`` is what the file calls the model.

    Queries are multiplied by ``attention_scale`` (None: ``head_dim ** -0.5``), embeddings by
    ``embedding_scale``. ``attention_softcap`` and ``final_softcap`` press scores and logits into their
    bounds; None: they are left alone. ``activation`` is ``silu`` or ``gelu_tanh``.

    ``layer_windows`` has an entry a layer, or none at all where every layer attends to the whole context:
    with a window of w, a token attends to itself and the w - 1 tokens before it.
    """

    architecture: str
    num_layers: int
    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    context_length: int
    rope: RopeSettings = field(default_factory=RopeSettings)
    window_rope: RopeSettings | None = None
    rms_eps: float = 1e-5
    eos_token_ids: tuple[int, ...] = ()
    bos_token_id: int | None = None
    tied_embeddings: bool = False
    name: str = "model"
    layer_windows: tuple[int | None, ...] = ()
    activation: str = "silu"
    attention_scale: float | None = None
    attention_softcap: float | None = None
    final_softcap: float | None = None
    embedding_scale: float = 1.0

    def __post_init__(self) -> None:
        sizes = (self.num_layers, self.hidden_size, self.num_heads, self.num_kv_heads, self.head_dim)
        if min(*sizes, self.intermediate_size, self.vocab_size, self.context_length) < 1:
            raise ValueError("every size of a model is at least 1")
        for name in ("rms_eps", "attention_scale", "attention_softcap", "final_softcap", "embedding_scale"):
            if (value := getattr(self, name)) is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} is {value}, not a positive number")
        if self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"{self.num_heads} query heads cannot share {self.num_kv_heads} key/value heads evenly"
            )
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation {self.activation!r} is none of {', '.join(ACTIVATIONS)}")
        if self.head_dim % 2:
            raise ValueError(f"rotary embedding needs an even head size, not {self.head_dim}")
        if self.layer_windows and len(self.layer_windows) != self.num_layers:
            raise ValueError(f"{len(self.layer_windows)} windows for {self.num_layers} layers")
        if min(self.windows, default=1) < 1:
            raise ValueError("a sliding window holds a token at least")

    @property
    def windows(self) -> tuple[int, ...]:
        """The sliding windows of the layers, in tokens, ascending and each once."""
        return tuple(sorted({window for window in self.layer_windows if window is not None}))

    @property
    def layer_groups(self) -> tuple[int | None, ...]:
        """For each layer where its window stands in ``windows``; None where it has none."""
        windows = self.layer_windows or (None,) * self.num_layers
        return tuple(None if window is None else self.windows.index(window) for window in windows)

    @property
    def query_scale(self) -> float:
        """What queries are multiplied by before they meet keys."""
        return self.head_dim**-0.5 if self.attention_scale is None else self.attention_scale

    @property
    def group_size(self) -> int:
        """How many query heads share one key/value head."""
        return self.num_heads // self.num_kv_heads

    @property
    def query_width(self) -> int:
        """Values of all query heads of one token."""
        return self.num_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Values of all key (or value) heads of one token: the width of a slot of the KV pool."""
        return self.num_kv_heads * self.head_dim
