"""GGUF model files: what they say and the values of their tensors. Needs numpy, not torch."""

from promptcache_engine.gguf.dequantize import SUPPORTED, dequantize
from promptcache_engine.gguf.layout import TensorInfo, TensorType
from promptcache_engine.gguf.metadata import Metadata
from promptcache_engine.gguf.reader import GGUFFile

__all__ = ["SUPPORTED", "GGUFFile", "Metadata", "TensorInfo", "TensorType", "dequantize"]
