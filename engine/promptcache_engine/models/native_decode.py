"""A model's weights packed for the native decode step, and the step itself over a pool of KV.

Rows are the newest tokens of their sequences; prompts and everything else are the torch path's. Whether the
results agree with it is tried in ``native_check``.
"""

import ctypes
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from promptcache_engine.kernels.native import RUN, Library, NativeUnavailableError, PackedMatrix
from promptcache_engine.kernels.native.structures import CLayer, CModel, CProduct, CStep, pointers
from promptcache_engine.models.batch import ForwardBatch
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.kv_pool import KVPool
from promptcache_engine.models.operations import Angles
from promptcache_engine.models.products import Dense, WideHead
from promptcache_engine.models.weights import DecoderWeights, LayerWeights, Linear

_KV_TYPES = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
_HEAD_MULTIPLE = 16


class NativeDecoder:
    """The decode step of one model; many pools and threads may use it at once.

    Args:
        config: the model's numbers.
        weights: its weights; those without packed bits of their own are rounded to 8 bits.
        library: what computes.

    Raises:
        NativeUnavailableError: the model has a shape or a device the library does not serve.
    """

    def __init__(self, config: ModelConfig, weights: DecoderWeights, library: Library) -> None:
        _require_served(config, weights)
        self._config = config
        self._library = library
        self._kept: list[Any] = []  # what C structures point to
        self._layers = [self._layer(layer) for layer in weights.layers]
        self._final_norm = self._vector(weights.final_norm)
        self._head = self._product(weights.head)
        own = config.window_rope or config.rope
        by_layer = [config.rope if group is None else own for group in config.layer_groups]
        tables = list(dict.fromkeys(by_layer))
        for index, (layer, group) in enumerate(zip(self._layers, config.layer_groups, strict=True)):
            layer.angles = tables.index(by_layer[index])
            layer.group = 0 if group is None else group + 1
            layer.window = (config.layer_windows[index] or 0) if config.layer_windows else 0
        self._models: WeakKeyDictionary[KVPool, CModel] = WeakKeyDictionary()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of packed weights."""
        return sum(each.data.nbytes for each in self._kept if isinstance(each, PackedMatrix))

    @property
    def isa_name(self) -> str:
        """The processor's instructions in use."""
        return self._library.isa_name

    def decode(self, hidden: Tensor, angles: Sequence[Angles], batch: ForwardBatch, pool: KVPool) -> Tensor:
        """Compute one token of each sequence and write its key and value.

        Args:
            hidden: float32 embeddings [T, hidden_size], overwritten.
            angles: of each of the model's rotary tables.
            batch: T sequences of one row each.
            pool: where their contexts lie.

        Returns:
            Float32 logits [T, vocab_size], without the final soft cap.
        """
        rows, config = hidden.shape[0], self._config
        groups = (None, *range(len(config.windows)))
        slots = [part[2].contiguous() for group in groups for part in batch.slices(group)]
        lengths = torch.tensor([part.context_slots.shape[0] for part in batch.sequences])
        logits = torch.empty(rows, config.vocab_size)
        step = CStep(
            rows,
            torch.get_num_threads(),
            hidden.data_ptr(),
            pointers([cosines.data_ptr() for cosines, _ in angles]),
            pointers([sines.data_ptr() for _, sines in angles]),
            pointers([each.data_ptr() for each in slots]),
            lengths.data_ptr(),
            logits.data_ptr(),
        )
        self._library.decode(self._model(pool), step)
        return logits

    def _model(self, pool: KVPool) -> CModel:
        with self._lock:
            if pool not in self._models:
                self._models[pool] = self._over(pool)
            return self._models[pool]

    def _over(self, pool: KVPool) -> CModel:
        """The model's structure with the addresses of a pool."""
        config = self._config
        layers = (CLayer * config.num_layers)()
        for index, layer in enumerate(self._layers):
            keys, values = pool.layer(index)
            ctypes.memmove(ctypes.byref(layers[index]), ctypes.byref(layer), ctypes.sizeof(CLayer))
            layers[index].keys, layers[index].values = keys.data_ptr(), values.data_ptr()
        return CModel(
            config.num_layers,
            config.hidden_size,
            config.num_heads,
            config.num_kv_heads,
            config.head_dim,
            config.intermediate_size,
            config.vocab_size,
            _KV_TYPES[pool.k.dtype],
            int(config.activation == "gelu_tanh"),
            self._library.isa,
            config.rms_eps,
            config.query_scale,
            config.attention_softcap or 0.0,
            layers,
            self._final_norm,
            self._head,
        )

    def _layer(self, layer: LayerWeights) -> CLayer:
        return CLayer(
            qkv=self._product(layer.qkv),
            output=self._product(layer.output),
            gate_up=self._product(layer.gate_up),
            down=self._product(layer.down),
            attention_norm=self._vector(layer.attention_norm),
            mlp_norm=self._vector(layer.mlp_norm),
            query_norm=self._vector(layer.query_norm),
            key_norm=self._vector(layer.key_norm),
            post_attention_norm=self._vector(layer.post_attention_norm),
            post_mlp_norm=self._vector(layer.post_mlp_norm),
        )

    def _product(self, product: Linear) -> CProduct:
        if not isinstance(product, Dense | WideHead):
            raise NativeUnavailableError("the model's weights are of a kind that is not packed")
        matrix = product.packed or self._library.pack_floats(product.weight)
        bias = (
            product.bias.float().contiguous()
            if isinstance(product, Dense) and product.bias is not None
            else None
        )
        self._kept += [matrix, bias]
        return matrix.product(bias)

    def _vector(self, values: Tensor | None) -> int | None:
        """The address of float32 values, which are kept."""
        if values is None:
            return None
        whole = values.float().contiguous()
        self._kept.append(whole)
        return whole.data_ptr()


def _require_served(config: ModelConfig, weights: DecoderWeights) -> None:
    if weights.embedding.device.type != "cpu":
        raise NativeUnavailableError("the model is not on the CPU")
    widths = {
        "hidden size": config.hidden_size,
        "width of queries": config.query_width,
        "inner size": config.intermediate_size,
    }
    for name, width in widths.items():
        if width % RUN:
            raise NativeUnavailableError(f"the model's {name}, {width}, is no multiple of {RUN}")
    if config.head_dim % _HEAD_MULTIPLE:
        raise NativeUnavailableError(
            f"the model's head size, {config.head_dim}, is no multiple of {_HEAD_MULTIPLE}"
        )
