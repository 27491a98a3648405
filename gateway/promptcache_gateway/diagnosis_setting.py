"""``[serve] diagnosis``: whether requests are looked at, and which other settings cannot do without.

Off, the gateway forwards, counts, limits, charges and records as always. What is then said of a request is
`observe.bookkeeper`'s business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptcache_gateway.errors import SettingsError
from promptcache_gateway.setting_places import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from promptcache_gateway.alert_settings import AlertSettings
    from promptcache_gateway.mutations.rules import MutationSettings
    from promptcache_gateway.upstream_settings import UpstreamSettings

SETTING = "serve.diagnosis"
_WORDS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def read_diagnosis(table: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Whether requests are looked at: what ``[serve]`` says, else the environment, else yes.

    Raises:
        SettingsError: the variable says neither.
    """
    if (told := table.get("diagnosis")) is not None:
        return bool(told)
    word = environ.get(VARIABLES[SETTING], "").strip().lower()
    if word and word not in _WORDS:
        raise SettingsError(SETTING, f"{word[:20]!r} is neither true nor false.", remedy="Write one of them.")
    return _WORDS.get(word, True)


def check_undiagnosed(
    mutations: MutationSettings, alerts: AlertSettings, upstreams: Iterable[UpstreamSettings]
) -> None:
    """Judge the settings of a gateway that looks at no request.

    Raises:
        SettingsError: one asks for what only a look at the prompt tells.
    """
    asking = [f"{upstream.where}.diagnostics" for upstream in upstreams if upstream.diagnostics == "ask"]
    if alerts.lost_usd_per_hour is not None:
        asking.append("alerts.lost_usd_per_hour")
    if "budget" not in alerts.kinds:
        asking.append("alerts.kinds")
    if (changed := mutations.needs_look()) is not None:
        asking.append(changed)
    if asking:
        raise SettingsError(
            asking[0],
            f"needs a look at each request, and {SETTING} is false (--no-diagnosis, {VARIABLES[SETTING]}).",
            remedy="Turn diagnosis on, or leave this setting out.",
        )
