"""Make the upstreams that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptcache_gateway.upstreams.engine_wording import cannot_start
from promptcache_gateway.upstreams.switchboard import Switchboard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptcache_gateway.settings import Settings
    from promptcache_gateway.upstream_settings import UpstreamSettings
    from promptcache_gateway.upstreams.base import Upstream
    from promptcache_gateway.upstreams.switchboard import Line


def create_switchboard(
    settings: Settings, on_progress: Callable[[str], None] | None = None, kept: Sequence[Line] = ()
) -> Switchboard:
    """All upstreams of the settings, with the models that lead to them; raises `SettingsError`.

    ``on_progress`` gets a line before each long step of loading a model. Of the lines ``kept`` those whose
    settings are the same go on as they are.
    """
    known = {line.settings: line for line in kept}
    made = [
        known.get(line) or (create_upstream(line, settings, on_progress), line) for line in settings.lines
    ]
    succeed(made, kept)
    switchboard = Switchboard(made, settings.models)
    before = {line.upstream.name: line for line in kept}
    for line in switchboard.lines:
        if line.upstream.name in before:
            line.count_on(before[line.upstream.name])
    return switchboard


def check_upstreams(settings: Settings) -> None:
    """Judge what can be judged of the upstreams without starting one; raises `StartupError`.

    Where the built-in engine is one of them, the engine's packages are loaded, no model; where LiteLLM is,
    it is looked for and not loaded. Files of replicas are read.
    """
    for line in settings.lines:
        if line.fleet is not None and line.fleet.file is not None:
            from promptcache_gateway.fleet.discovery import check_file  # noqa: PLC0415

            check_file(line.fleet.file, f"upstreams.{line.name}.replicas_file", line.fleet.replicas)
    if any(line.kind == "litellm" for line in settings.lines):
        from promptcache_gateway.upstreams.litellm import check as check_litellm  # noqa: PLC0415

        check_litellm()
    if not any(line.kind == "engine" for line in settings.lines):
        return
    try:
        from promptcache_gateway.upstreams.local import check  # noqa: PLC0415
    except ImportError as error:
        raise cannot_start(error) from error
    check(settings.engine)


def succeed(made: Sequence[tuple[Upstream, UpstreamSettings] | Line], kept: Sequence[Line]) -> None:
    """Let new fleets go on with what earlier ones of the same name know of their conversations."""
    earlier = {line.upstream.name: line.upstream for line in kept}
    for one in made:
        if isinstance(one, tuple) and hasattr(one[0], "learn_from") and one[0].name in earlier:
            one[0].learn_from(earlier[one[0].name])


def create_upstream(
    line: UpstreamSettings, settings: Settings, on_progress: Callable[[str], None] | None
) -> Upstream:
    """One upstream. The import of what is not used is spared: a mere proxy loads no engine."""
    if line.fleet is not None:
        from promptcache_gateway.fleet.upstream import FleetUpstream  # noqa: PLC0415

        return FleetUpstream(line, lambda one: create_upstream(line.of(one), settings, on_progress))
    if line.kind == "openai":
        from promptcache_gateway.upstreams.openai_http import OpenAIUpstream  # noqa: PLC0415

        return OpenAIUpstream(line)
    if line.kind == "anthropic":
        from promptcache_gateway.upstreams.anthropic_http import AnthropicUpstream  # noqa: PLC0415

        return AnthropicUpstream(line)
    if line.kind == "litellm":
        from promptcache_gateway.upstreams.litellm import LiteLLMUpstream  # noqa: PLC0415

        return LiteLLMUpstream(line)
    from promptcache_gateway.upstreams.local import LocalUpstream  # noqa: PLC0415

    engine = LocalUpstream(settings.engine, on_progress=on_progress)
    engine.name = line.name or engine.name
    return engine
