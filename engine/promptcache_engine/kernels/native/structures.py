"""The structures of ``decode.c`` as ctypes has them, field by field in its order."""

import ctypes
from ctypes import POINTER, Structure, c_float, c_int32, c_void_p


class CProduct(Structure):
    """One packed matrix with its bias."""

    _fields_ = (
        ("format", c_int32),
        ("rows", c_int32),
        ("columns", c_int32),
        ("unused", c_int32),
        ("data", c_void_p),
        ("bias", c_void_p),
    )


class CLayer(Structure):
    """One layer's weights, and where its keys and values lie."""

    _fields_ = (
        ("qkv", CProduct),
        ("output", CProduct),
        ("gate_up", CProduct),
        ("down", CProduct),
        ("attention_norm", c_void_p),
        ("mlp_norm", c_void_p),
        ("query_norm", c_void_p),
        ("key_norm", c_void_p),
        ("post_attention_norm", c_void_p),
        ("post_mlp_norm", c_void_p),
        ("keys", c_void_p),
        ("values", c_void_p),
        ("window", c_int32),
        ("group", c_int32),
        ("angles", c_int32),
        ("unused", c_int32),
    )


class CModel(Structure):
    """A model's numbers and weights."""

    _fields_ = (
        ("layers", c_int32),
        ("hidden", c_int32),
        ("heads", c_int32),
        ("kv_heads", c_int32),
        ("head_dim", c_int32),
        ("inner", c_int32),
        ("vocabulary", c_int32),
        ("kv_type", c_int32),
        ("gelu", c_int32),
        ("isa", c_int32),
        ("eps", c_float),
        ("scale", c_float),
        ("softcap", c_float),
        ("layer", POINTER(CLayer)),
        ("final_norm", c_void_p),
        ("head", CProduct),
    )


class CStep(Structure):
    """One step's rows."""

    _fields_ = (
        ("rows", c_int32),
        ("threads", c_int32),
        ("hidden", c_void_p),
        ("cosines", POINTER(c_void_p)),
        ("sines", POINTER(c_void_p)),
        ("slots", POINTER(c_void_p)),
        ("lengths", c_void_p),
        ("logits", c_void_p),
    )


def pointers(addresses: list[int]) -> "ctypes.Array[c_void_p]":
    """Return a C array of addresses."""
    return (c_void_p * len(addresses))(*addresses)
