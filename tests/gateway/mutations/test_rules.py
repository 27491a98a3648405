"""``[mutations]`` in promptcache.toml: what may be said, for whom, and how a fault is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.mutations import MutationRules, MutationSettings

if TYPE_CHECKING:
    from pathlib import Path

UPSTREAMS = '[upstreams.claude]\nkind = "anthropic"\nurl = "https://api.anthropic.com"\n'


def read(folder: Path, text: str) -> MutationSettings:
    file = folder / "promptcache.toml"
    file.write_text(text + "\n" + UPSTREAMS)
    return make_settings(parse_arguments(["--config", str(file)]), {"XDG_DATA_HOME": str(folder)}).mutations


def test_nothing_is_on_by_itself(tmp_path: Path) -> None:
    found = read(tmp_path, "")
    assert found == MutationSettings()
    assert not found.anything
    assert not found.rules.needs_sight


def test_a_template_wins_over_an_upstream_and_that_over_all(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
[mutations]
drop_billing_header = true
session_header = "X-Session-Affinity"
[mutations.upstreams.claude]
breakpoints = true
breakpoint_ttl = "1h"
[mutations.templates.support]
breakpoint_ttl = "5m"
session = "template"
""",
    )
    assert found.anything
    assert found.for_call("other", "x") == MutationRules(
        drop_billing_header=True, session_header="x-session-affinity"
    )
    own = found.for_call("claude", "support")
    assert (own.breakpoints, own.breakpoint_ttl, own.session) == (True, "5m", "template")
    assert found.for_call("claude", "x").breakpoint_ttl == "1h"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[mutations]\nbreakpoint = true",
            "mutations.breakpoint: there is no such setting. Did you mean breakpoints?",
        ),
        ("[mutations]\nbreakpoints = 1", "mutations.breakpoints: must be true or false"),
        (
            "[mutations]\ncache_salt = 'user'",
            "mutations.cache_salt: 'user' is no choice. Known: off, template",
        ),
        (
            "[mutations]\nbreakpoint_ttl = '30m'",
            "mutations.breakpoint_ttl: '30m' is no lifetime. Known: 5m, 1h",
        ),
        ("[mutations]\nsession_header = 'a b'", "mutations.session_header: 'a b' is no header"),
        ("[mutations]\nsession_header = 'Authorization'", "is no header that can be added"),
        (
            "[mutations.upstreams.cloude]\nbreakpoints = true",
            "mutations.upstreams.cloude: there is no such upstream. Known: claude",
        ),
        ("[mutations.upstreams]\nclaude = true", "mutations.upstreams.claude: must be a table"),
        (
            "[mutations]\ntemplates = 5",
            "mutations.templates: must be a table. Write [mutations.templates.NAME]",
        ),
        ("[mutations.templates.t]\ndrop_billing_header = true", "there is no such setting"),
        ("mutations = 5", "mutations: must be a table"),
    ],
)
def test_a_fault_is_told_with_its_place_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)


_NOT_OURS = """Transfer-Encoding content-encoding accept-encoding expect upgrade connection te host
content-length trailer authorization x-api-key cookie x-promptcache-a"""


@pytest.mark.parametrize("name", _NOT_OURS.split())
def test_a_header_that_is_never_sent_or_says_something_else_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="is no header that can be added"):
        read(tmp_path, f"[mutations]\nsession_header = '{name}'")
