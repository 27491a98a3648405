"""The command line: a front door that finds the commands of every room, and the SDK's own commands."""

from promptcache.cli.door import main

__all__ = ["main"]
