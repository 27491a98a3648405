"""Which upstreams take a model, in which order: aliases, names, patterns, and who takes the rest.

It is made once from the settings and asked once a request. Sending, retrying and moving on to the next
upstream is the data plane's (`plane.dispatch`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from promptcache_gateway.errors import SettingsError, unknown_model
from promptcache_gateway.upstreams.circuit import OPENS_AFTER, Circuit, RetryBudget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptcache_gateway.upstream_settings import ModelSettings, Target, UpstreamSettings
    from promptcache_gateway.upstreams.base import Upstream


@dataclass(frozen=True, slots=True)
class Line:
    """An upstream, what was configured for it, and how it has been lately."""

    upstream: Upstream
    settings: UpstreamSettings
    circuit: Circuit
    budget: RetryBudget

    def count_on(self, earlier: Line) -> None:
        """Have what was counted under earlier settings go on: counters do not fall."""
        self.budget.taken = earlier.budget.taken
        self.circuit.opened = earlier.circuit.opened


@dataclass(frozen=True, slots=True)
class Hop:
    """A place a call may be sent to; ``model`` is the model's name there, None: as the caller wrote it."""

    line: Line
    model: str | None = None


class Switchboard:
    """Routes from models to upstreams.

    Args:
        upstreams: with the settings they were made from, or lines of an earlier switchboard.
        models: aliases and fallbacks.

    Raises:
        SettingsError: a model names an upstream that is not there.
    """

    def __init__(
        self,
        upstreams: Sequence[tuple[Upstream, UpstreamSettings] | Line],
        models: Sequence[ModelSettings] = (),
    ) -> None:
        self.lines = tuple(one if isinstance(one, Line) else _line(*one) for one in upstreams)
        by_name = {line.upstream.name: line for line in self.lines}
        if len(by_name) < len(self.lines):
            raise SettingsError("upstreams", "two upstreams have the same name.", remedy="Name them apart.")
        self.aliases = {
            model.name: tuple(_hop(model.name, target, by_name) for target in model.targets)
            for model in models
        }
        self._only = (Hop(self.lines[0]),) if len(self.lines) == 1 and not self._is_picky() else None

    @property
    def passes_models_through(self) -> bool:
        """Whether one upstream takes whatever comes, so that its own list of models is the list."""
        return self._only is not None and not self.aliases

    def route(self, model: str) -> tuple[Hop, ...]:
        """The places for a model, best first; raises `ApiError` 404 where nobody takes it."""
        route = self.aliases.get(model) or self._only or self._matching(model)
        if route is None:
            raise unknown_model(model, self.names())
        return route

    def names(self) -> list[str]:
        """The models that are configured by name."""
        named = [name for line in self.lines for name in line.settings.models if not _is_pattern(name)]
        return list(dict.fromkeys([*self.aliases, *named]))

    def _is_picky(self) -> bool:
        return bool(self.lines[0].settings.models)

    def _matching(self, model: str) -> tuple[Hop, ...] | None:
        for line in self.lines:
            if model in line.settings.models:
                return (Hop(line),)
        for line in self.lines:
            if any(fnmatchcase(model, pattern) for pattern in line.settings.models):
                return (Hop(line),)
        takes_all = [line for line in self.lines if not line.settings.models]
        return (Hop(takes_all[0]),) if takes_all else None


def _line(upstream: Upstream, settings: UpstreamSettings) -> Line:
    """One replica's failures, or a request's, must not close a whole fleet to everybody."""
    circuit = Circuit(opens_after=OPENS_AFTER if settings.fleet is None else None)
    return Line(upstream, settings, circuit, RetryBudget())


def _hop(model: str, target: Target, lines: dict[str, Line]) -> Hop:
    line = lines.get(target.upstream)
    if line is None:
        raise SettingsError(
            f"models.{model}",
            f"there is no upstream {target.upstream!r}.",
            remedy=f"Known: {', '.join(lines)}.",
        )
    return Hop(line, target.model or model)


def _is_pattern(name: str) -> bool:
    return any(char in name for char in "*?[")
