"""The formats of logs that are understood, each in a module of its own."""

from promptcache_gateway.diagnose.formats.reader import FORMATS, LogReader

__all__ = ["FORMATS", "LogReader"]
