"""From a model's file or folder to a model that can compute, with its tokenizer and chat template."""

from pathlib import Path

import torch

from promptcache_engine.gguf import GGUFFile
from promptcache_engine.models.assemble import assemble
from promptcache_engine.models.chat_template import ChatTemplate
from promptcache_engine.models.decoder import DecoderModel
from promptcache_engine.models.gguf_config import read_config
from promptcache_engine.models.gguf_tensors import GGUFTensors
from promptcache_engine.models.loaded import LoadedModel
from promptcache_engine.tokenizer.from_gguf import tokenizer_from_gguf


def load_model(
    path: Path,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    deterministic: bool = False,
) -> LoadedModel:
    """Load a GGUF file; weights are unpacked to ``dtype``.

    ``deterministic`` makes a token's logits independent of batch, chunking and cache hits, bit for bit; see
    ``DecoderModel``.

    Raises:
        ModelFileError: a file is unreadable, truncated or inconsistent; the key or tensor is named.
        UnsupportedModelError: the model asks for something this engine does not compute.
        ChatTemplateError: the model's chat template does not compile.
    """
    file = GGUFFile(path)
    tokenizer, vocabulary = tokenizer_from_gguf(file)
    config, family = read_config(file, vocabulary)
    source = GGUFTensors(file, config, family)
    weights = assemble(source, config, family, dtype, torch.device(device))
    tokens = vocabulary.special_tokens()
    template = None
    if "tokenizer.chat_template" in file.metadata:
        template = ChatTemplate(file.metadata.text("tokenizer.chat_template"), tokens=tokens)
    return LoadedModel(
        model=DecoderModel(config, weights, deterministic=deterministic),
        tokenizer=tokenizer,
        chat_template=template,
        config=config,
        special_tokens=tokens,
    )
