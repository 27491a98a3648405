"""Responses that are kept, so that a conversation can go on from the id of one of them."""

from promptcache_gateway.kept.response import Kept
from promptcache_gateway.kept.settings import KeptSettings
from promptcache_gateway.kept.shelf import Shelf

__all__ = ["Kept", "KeptSettings", "Shelf"]
