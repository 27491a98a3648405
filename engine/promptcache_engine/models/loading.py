"""From a model's file or folder to a model that can compute, with its tokenizer and chat template.

What reads files is imported when one is read: a model that is in memory needs none of those libraries.
"""

from pathlib import Path
from typing import NamedTuple

import torch

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.kernels.native import Library
from promptcache_engine.models.assemble import assemble
from promptcache_engine.models.chat_template import ChatTemplate
from promptcache_engine.models.config import ModelConfig
from promptcache_engine.models.decoder import DecoderModel
from promptcache_engine.models.gguf_config import read_config
from promptcache_engine.models.gguf_tensors import GGUFTensors
from promptcache_engine.models.hf_config import family_of, read_hf_config
from promptcache_engine.models.loaded import LoadedModel
from promptcache_engine.models.operations import Operations
from promptcache_engine.models.weights import DecoderWeights


def load_model(
    path: Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    deterministic: bool = False,
    library: Library | None = None,
    operations: Operations | None = None,
) -> LoadedModel:
    """Load a GGUF file or a Hugging Face folder; weights are unpacked or converted to ``dtype``.

    ``deterministic`` makes a token's logits independent of batch, chunking and cache hits, bit for bit; see
    ``DecoderModel``. With ``library`` the weights are also kept packed for the native decode step, which
    ``native_check.add_native_decode`` adds. ``operations`` is the backend; None: torch's.

    Raises:
        ModelFileError: a file is missing, unreadable, truncated or inconsistent; the key or tensor is named.
        UnsupportedModelError: the model asks for something this engine does not compute.
        ChatTemplateError: the model's chat template does not compile.
    """
    load = _load_folder if path.is_dir() else _load_gguf
    return load(path, dtype, torch.device(device), _Options(library, deterministic, operations))


class _Options(NamedTuple):
    """What a model is made with besides its weights."""

    library: Library | None
    deterministic: bool
    operations: Operations | None

    def model(self, config: ModelConfig, weights: DecoderWeights) -> DecoderModel:
        """Make it."""
        return DecoderModel(config, weights, deterministic=self.deterministic, operations=self.operations)


def _load_gguf(path: Path, dtype: torch.dtype, device: torch.device, options: _Options) -> LoadedModel:
    from promptcache_engine.tokenizer.from_gguf import tokenizer_from_gguf  # noqa: PLC0415

    file = GGUFFile(path)
    tokenizer, vocabulary = tokenizer_from_gguf(file)
    config, family = read_config(file, vocabulary)
    weights = assemble(
        GGUFTensors(file, config, family), config, family, dtype, device, library=options.library
    )
    tokens = vocabulary.special_tokens()
    template = None
    if "tokenizer.chat_template" in file.metadata:
        template = ChatTemplate(file.metadata.text("tokenizer.chat_template"), tokens=tokens)
    model = options.model(config, weights)
    return LoadedModel(model, tokenizer, template, config, tokens)


def _load_folder(path: Path, dtype: torch.dtype, device: torch.device, options: _Options) -> LoadedModel:
    from promptcache_engine.models.hf_folder import HFFolder  # noqa: PLC0415
    from promptcache_engine.models.hf_tensors import HFTensors  # noqa: PLC0415

    folder = HFFolder(path)
    family = family_of(folder.config_path, folder.config)
    config = read_hf_config(folder.config_path, folder.config, folder.eos_token_ids())
    tokenizer = folder.tokenizer(config.vocab_size)
    weights = assemble(HFTensors(path, family), config, family, dtype, device, library=options.library)
    tokens, source = folder.special_tokens(), folder.chat_template()
    template = None if source is None else ChatTemplate(source, tokens=tokens)
    model = options.model(config, weights)
    return LoadedModel(model, tokenizer, template, config, tokens)
