"""The data plane: OpenAI's routes on raw ASGI, from a request's bytes to an answer's."""

from promptcache_gateway.plane.room import Room
from promptcache_gateway.plane.routes import DataPlane

__all__ = ["DataPlane", "Room"]
