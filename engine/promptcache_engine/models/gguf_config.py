"""Reads a Llama's numbers from GGUF metadata, and refuses what the forward pass does not compute.

A key that changes the computation and is not handled must stop the load: a model run with a part missing
answers plausible nonsense.
"""

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.errors import ModelFileError, UnsupportedModelError
from promptcache_engine.tokenizer.gguf_vocabulary import Vocabulary

_NEUTRAL: dict[str, tuple[object, ...]] = {
    "expert_count": (0,),
    "attention.sliding_window": (0,),
    "attention.clamp_kqv": (0.0,),
    "attention.logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.causal": (True,),
    "attention.scale": (0.0,),
    "use_parallel_residual": (False,),
    "embedding_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "logit_scale": (0.0, 1.0),
}
"""Keys of computations this model does not have, with the values that mean they are absent."""


def read_config(file: GGUFFile, vocabulary: Vocabulary) -> ModelConfig:
    """Return the numbers of a Llama-architecture ``file``.

    Raises:
        ModelFileError: a key is missing, ill-typed or contradicts another.
        UnsupportedModelError: another architecture, or an option the forward pass does not compute.
    """
    metadata = file.metadata
    architecture = metadata.text("general.architecture")
    if architecture != "llama":
        problem = f"architecture {architecture!r} is not supported; 'llama' is"
        raise UnsupportedModelError(file.path, problem, where="key general.architecture")
    _refuse_split_files(file)
    _refuse_foreign_options(file)
    hidden_size = metadata.integer("llama.embedding_length")
    num_heads = metadata.integer("llama.attention.head_count")
    head_dim = _head_dim(file, hidden_size, num_heads)
    try:
        return ModelConfig(
            architecture=architecture,
            num_layers=metadata.integer("llama.block_count"),
            hidden_size=hidden_size,
            num_heads=num_heads,
            num_kv_heads=metadata.integer("llama.attention.head_count_kv", num_heads),
            head_dim=head_dim,
            intermediate_size=metadata.integer("llama.feed_forward_length"),
            vocab_size=len(vocabulary.tokens),
            context_length=metadata.integer("llama.context_length"),
            rope_theta=metadata.number("llama.rope.freq_base", 10_000.0),
            rope_scale=_rope_scale(file),
            rms_eps=metadata.number("llama.attention.layer_norm_rms_epsilon"),
            eos_token_ids=vocabulary.eos_token_ids,
            bos_token_id=vocabulary.bos_token_id,
            tied_embeddings="output.weight" not in file.tensors,
            name=metadata.text("general.name", "model"),
        )
    except ValueError as error:
        raise ModelFileError(file.path, f"the model's sizes contradict each other: {error}") from error


def _head_dim(file: GGUFFile, hidden_size: int, num_heads: int) -> int:
    if num_heads < 1:
        raise ModelFileError(file.path, f"{num_heads} heads", where="key llama.attention.head_count")
    head_dim = file.metadata.integer("llama.attention.key_length", hidden_size // num_heads)
    for key in ("llama.attention.value_length", "llama.rope.dimension_count"):
        if (other := file.metadata.integer(key, head_dim)) != head_dim:
            problem = f"{other} differs from the {head_dim} values of a head"
            raise UnsupportedModelError(file.path, problem, where=f"key {key}")
    return head_dim


def _rope_scale(file: GGUFFile) -> float:
    metadata = file.metadata
    kind = metadata.text("llama.rope.scaling.type", "none")
    if kind == "none":
        return metadata.number("llama.rope.scale_linear", 1.0)
    if kind == "linear":
        return metadata.number("llama.rope.scaling.factor")
    problem = f"rotary scaling {kind!r} is not supported; 'linear' is"
    raise UnsupportedModelError(file.path, problem, where="key llama.rope.scaling.type")


def _refuse_split_files(file: GGUFFile) -> None:
    count = file.metadata.integer("split.count", 1)
    if count > 1:
        raise UnsupportedModelError(
            file.path,
            f"the model is split over {count} files",
            where="key split.count",
            remedy="Join the parts with llama.cpp's gguf-split --merge",
        )


def _refuse_foreign_options(file: GGUFFile) -> None:
    for suffix, neutral in _NEUTRAL.items():
        key = f"llama.{suffix}"
        if (value := file.metadata.get(key, neutral[0])) not in neutral:
            raise UnsupportedModelError(
                file.path, f"the value {value!r} is not supported", where=f"key {key}"
            )
