"""A fleet in promptcache.toml: what it may say, and one clear sentence for what it may not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.cli import main
from promptcache_gateway.errors import SettingsError
from promptcache_gateway.fleet.reading import _KNOBS, _TYPES, OWN
from promptcache_gateway.fleet.settings import ReplicaSettings
from promptcache_gateway.settings import Settings, UpstreamSettings
from promptcache_gateway.upstreams.choose import create_switchboard

FILE = """
[upstreams.near]
replicas = [
  "http://10.0.0.1:8000",
  {url = "http://10.0.0.2:8000", name = "big", weight = 2, max_concurrency = 64},
]
routing = "session"
models = ["qwen-*"]

[upstreams.near.fleet]
hold_s = 2
health_interval_s = 1.5
kv_events = "tcp://{host}:5557"

[upstreams.hosted]
url = "https://api.openai.com/v1"
replicas = [
  {name = "eu", account = "a", region = "eu", api_key_env = "KEY_EU"},
  {name = "us", account = "a", region = "us", api_key_env = "KEY_US"},
]

[upstreams.named]
replicas_dns = "http://vllm.internal:8000"
replicas_file = "~/replicas.toml"
"""
KEYS = {"KEY_EU": "sk-eu", "KEY_US": "sk-us"}


def read(tmp_path: Path, text: str, **environ: str) -> Settings:
    file = tmp_path / "promptcache.toml"
    file.write_text(text)
    return make_settings(parse_arguments(["--config", str(file)]), environ)


def test_the_file_names_fleets(tmp_path: Path) -> None:
    made = read(tmp_path, FILE, **KEYS)
    near, hosted, named = (line.fleet for line in made.upstreams)
    assert near is not None
    assert hosted is not None
    assert named is not None
    assert [one.label for one in near.replicas] == ["10.0.0.1:8000", "big"]
    assert (near.replicas[1].weight, near.replicas[1].max_concurrency) == (2, 64)
    assert (near.routing, near.hold_s, near.health_interval_s) == ("session", 2, 1.5)
    assert [(one.url, one.api_key, one.cache) for one in hosted.replicas] == [
        ("https://api.openai.com/v1", "sk-eu", "cache a/eu"),
        ("https://api.openai.com/v1", "sk-us", "cache a/us"),
    ]
    assert made.upstreams[1].diagnoses
    assert not made.upstreams[0].diagnoses
    assert (named.dns, named.file, named.routing) == (
        "http://vllm.internal:8000",
        Path("~/replicas.toml").expanduser(),
        "prefix",
    )
    assert "sk-eu" not in repr(made)
    assert [line.upstream.name for line in create_switchboard(made).lines] == ["near", "hosted", "named"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("replicas = []", "replicas: there are none"),
        ('replicas = "http://a"', "must be a list of addresses or tables"),
        ("replicas = [7]", "replicas[0]: must be an address or a table"),
        ('replicas = ["ftp://a"]', "is not an http:// or https:// address"),
        ("replicas = [{weight = 2}]", "replicas[0].url: is missing"),
        ('replicas = [{url = "http://a", weigth = 2}]', "replicas[0].weigth: there is no such setting"),
        ('replicas = [{url = "http://a", weight = "2"}]', "[0].weight: must be a number, not '2'"),
        ('replicas = [{url = "http://a", weight = 0}]', "must be above 0"),
        ('replicas = [{url = "http://a", max_concurrency = true}]', "must be a whole number"),
        ('replicas = [{url = "http://a", api_key_env = "NO_SUCH"}]', "NO_SUCH is not set"),
        ('replicas = ["http://a", "http://a"]', "two have the same name"),
        ('replicas = ["http://a"]\nrouting = "fastest"', "'fastest' is no policy"),
        ('replicas = ["http://a"]\nfleet = {hold = 1}', "fleet.hold: there is no such setting"),
        ('replicas = ["http://a"]\nfleet = {hold_s = 61}', "must be from 0 to 60"),
        ('replicas = ["http://a"]\nfleet = {health_path = "health"}', "must begin with '/'"),
        ('replicas = ["http://a"]\nfleet = {kv_events = "a:1"}', "is no tcp:// or ipc:// address"),
        ('replicas = ["http://a"]\nfleet = {kv_events = "tcp://{hots}:5557"}', "a name in braces"),
        ('replicas = ["http://a"]\nfleet = {kv_events = "tcp://{host}"}', "names no host and port"),
        (
            'replicas = ["http://a"]\nfleet = {kv_replay = "tcp://*:5558"}',
            "fleet.kv_replay: 'tcp://*:5558' is",
        ),
        (
            'replicas = ["http://a"]\nfleet = {kv_replay = "tcp://*:5558"}',
            "Write tcp://{host}:PORT or ipc://",
        ),
        ('replicas = [{url = "http://a", kv_events = "tcp://a:0"}]', "kv_events: 'tcp://a:0' names no host"),
        ('replicas = [{url = "http://a", kv_events = "tcp://{host}:1"}]', "a name in braces"),
        ('replicas = [{url = "http://a", kv_replay = "tcp://::1:5"}]', "without brackets"),
        ('replicas = [{url = "http://a", kv_replay = "tcp://a b:5"}]', "holds a space"),
        ('replicas = [{url = "http://a", kv_replay = "ipc://"}]', "is no tcp:// or ipc:// address"),
        ('replicas_dns = "https://a"', "must be http://"),
        ('replicas_dns = "http://a"', "replicas_dns: names no port. Write http://NAME:PORT"),
        ('replicas_dns = "http://a:99999"', "is no address"),
        ('replicas = ["http://a:99999"]', "is no address"),
        ('replicas = ["http://a"]\nkind = "engine"', "the built-in engine has none"),
        ('url = "http://a"\nrouting = "prefix"', "there are no replicas"),
        ('replicas = ["http://127.0.0.1:8400"]', "is this gateway itself"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, f"[upstreams.f]\n{table}\n")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_replicas_that_cannot_be_used_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, file = tmp_path / "promptcache.toml", tmp_path / "replicas.toml"
    config.write_text(f'[upstreams.f]\nreplicas_file = "{file}"\n')
    check = ["--check", "--config", str(config)]
    assert main(check) == 2
    said = capsys.readouterr().err
    assert "upstreams.f.replicas_file" in said
    assert str(file) in said
    file.write_text("replicas = 7\n")
    assert main(check) == 2
    assert "has no list of replicas" in capsys.readouterr().err
    file.write_text('replicas = ["http://a:8000"]\n')
    assert main(check) == 0
    file.write_text('replicas = ["http://a:8000"]\n', encoding="utf-8-sig")
    assert main(check) == 0, "with a byte order mark"


def test_a_replica_gets_what_its_upstream_says_and_its_own_address() -> None:
    line = UpstreamSettings(
        name="f", url="http://all", api_key="sk-all", tenant_salt=True, fleet=None, read_timeout_s=7.0
    )
    one = line.of(ReplicaSettings(url="http://one"))
    assert (one.url, one.api_key, one.tenant_salt, one.read_timeout_s) == ("http://one", "sk-all", True, 7.0)
    assert line.of(ReplicaSettings(url="http://one", api_key="sk-one")).api_key == "sk-one"


def test_what_the_page_shows_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "fleet.md").read_text()
    blocks = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    keys = dict.fromkeys(re.findall(r'api_key_env = "(\w+)"', page), "sk-1")
    assert len(blocks) >= 3
    for block in blocks:
        text = block if "replicas = " in block else f'[upstreams.qwen]\nreplicas = ["http://a"]\n{block}'
        assert read(tmp_path, text, **keys).upstreams[0].fleet is not None
    for name in (*_KNOBS, *_TYPES, *OWN):
        assert f"`{name}`" in page or name == "fleet", name


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.1:5557", "tcp://[::1]:5557", "tcp://10.0.0.9:0;vllm:5557", "ipc:///run/kv", ""]
)
def test_addresses_that_can_be_connected_to_are_taken(address: str) -> None:
    assert ReplicaSettings(url="http://a", kv_events=address).kv_events == address
