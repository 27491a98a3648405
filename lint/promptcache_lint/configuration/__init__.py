"""Configuration: ``[tool.promptcache.lint]`` in pyproject.toml and ``[lint]`` in promptcache.toml."""

from __future__ import annotations

from promptcache_lint.configuration.tree import SettingsTree

__all__ = ["SettingsTree"]
