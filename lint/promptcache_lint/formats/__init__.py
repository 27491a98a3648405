"""How findings are written: one module a format, each with ``write(report, *, colour) -> str``."""

from __future__ import annotations

from promptcache_lint.formats.choice import FORMATS, write_report

__all__ = ["FORMATS", "write_report"]
