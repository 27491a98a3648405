"""Pick the upstream that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstreams.base import Upstream


def create_upstream(settings: Settings, on_progress: Callable[[str], None] | None) -> Upstream:
    """The foreign server where one is named, else the built-in engine.

    The import of what is not used is spared: a gateway in front of another server loads no engine.
    ``on_progress`` gets a line before each long step of loading.
    """
    if settings.upstream is not None:
        from promptcache_gateway.upstreams.openai_http import OpenAIUpstream  # noqa: PLC0415

        return OpenAIUpstream(settings.upstream)
    from promptcache_gateway.upstreams.local import LocalUpstream  # noqa: PLC0415

    return LocalUpstream(settings.engine, on_progress=on_progress)
