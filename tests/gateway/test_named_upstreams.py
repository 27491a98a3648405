"""Several upstreams and models by configuration: what the file says, and what is wrong in it."""

from pathlib import Path

import pytest

from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.settings import ModelSettings, Settings
from promptcache_gateway.upstream_settings import Target
from promptcache_gateway.upstreams.choose import create_switchboard
from promptcache_gateway.upstreams.switchboard import Switchboard

FILE = """
[upstreams.openai]
url = "https://api.openai.com/v1"
api_key_env = "OPENAI_API_KEY"
models = ["gpt-*"]
retries = 3

[upstreams.claude]
kind = "anthropic"
url = "https://api.anthropic.com"
models = ["claude-*", "opus"]

[upstreams.near]
kind = "engine"

[models]
fast = "claude/claude-haiku"
smart = ["openai/gpt-6", "claude/claude-opus", "near"]
"""


def read(tmp_path: Path, text: str, **environ: str) -> Settings:
    file = tmp_path / "promptcache.toml"
    file.write_text(text)
    return make_settings(parse_arguments(["--config", str(file)]), environ)


def test_the_file_names_upstreams_and_models(tmp_path: Path) -> None:
    made = read(tmp_path, FILE, OPENAI_API_KEY=" sk-1 ")
    openai, claude, near = made.upstreams
    assert (openai.name, openai.kind, openai.api_key, openai.retries) == ("openai", "openai", "sk-1", 3)
    assert (claude.kind, claude.api_key, claude.models) == ("anthropic", None, ("claude-*", "opus"))
    assert (near.kind, near.url) == ("engine", "")
    assert made.models[1] == ModelSettings(
        "smart", (Target("openai", "gpt-6"), Target("claude", "claude-opus"), Target("near"))
    )
    assert "sk-1" not in repr(made)


@pytest.mark.parametrize(
    ("model", "goes_to"),
    [
        ("fast", [("claude", "claude-haiku")]),
        ("smart", [("openai", "gpt-6"), ("claude", "claude-opus"), ("near", "smart")]),
        ("gpt-5", [("openai", None)]),
        ("opus", [("claude", None)]),
        ("claude-x", [("claude", None)]),
        ("smollm2-135m-instruct", [("near", None)]),
    ],
)
def test_a_model_leads_to_its_upstreams(tmp_path: Path, model: str, goes_to: list[object]) -> None:
    board = create_switchboard(read(tmp_path, FILE, OPENAI_API_KEY="sk-1"))
    assert [(hop.line.upstream.name, hop.model) for hop in board.route(model)] == goes_to


def test_a_key_s_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-secret\n", encoding="utf-8-sig")
    (upstream,) = read(tmp_path, f'[upstreams.a]\nurl = "http://a"\napi_key_file = "{key}"\n').upstreams
    assert upstream.api_key == "sk-secret"


def test_a_key_may_stand_in_a_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-2\n")
    made = read(tmp_path, f'[upstreams.a]\nurl = "http://a"\napi_key_file = "{key}"\n')
    assert made.upstreams[0].api_key == "sk-2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[upstreams.a]\nkind = "openai"\n', r"upstreams\.a\.url: is missing"),
        ('[upstreams.a]\nkind = "litellm"\n', r"upstreams\.a\.provider: is missing"),
        ('[upstreams.a]\nkind = "litellm"\nprovider = "a/b"\n', r"upstreams\.a\.provider: 'a/b' is no"),
        ('[upstreams.a]\nkind = "litellm"\nprovider = "b"\napis = ["messages"]\n', r"upstreams\.a\.apis"),
        ('[upstreams.a]\nkind = "litellm"\nprovider = "b"\ntenant_salt = true\n', r"a\.tenant_salt"),
        ('[upstreams.a]\nkind = "litellm"\nprovider = "b"\nreplicas = ["http://a"]\n', r"a\.replicas"),
        ('[upstreams.a]\nurl = "http://a"\nprovider = "b"\n', r"upstreams\.a\.provider: is for kind"),
        ('[upstreams.a]\nkind = "bedrock"\nurl = "http://a"\n', r"upstreams\.a\.kind.*Known: openai"),
        ('[upstreams.a]\nurl = "http://a"\napis = ["chats"]\n', r"upstreams\.a\.apis: 'chats' is no API"),
        ('[upstreams.a]\nurl = "http://a"\nmodel = "m"\n', r"upstreams\.a\.model.*Did you mean models\?"),
        ('[upstreams.a]\nkind = "engine"\nurl = "http://a"\n', r"a\.url: the built-in engine has no address"),
        ('[upstream]\nkind = "engine"\n', r"upstream\.kind: .* needs no .upstream.\. Leave"),
        ('[upstreams.a]\nurl = "ftp://a"\n', r"upstreams\.a\.url: 'ftp://a' is not"),
        ('[upstreams.a]\nurl = "http://a"\nretries = 99\n', r"upstreams\.a\.retries: must be from 0 to 10"),
        ('[upstreams.a]\nurl = "http://a"\nretry_wait_s = 99\n', r"upstreams\.a\.retry_wait_s"),
        ('[upstreams.a]\nurl = "http://a"\napi_key_env = "NO_SUCH"\n', "NO_SUCH is not set"),
        (
            '[upstreams.a]\nurl = "http://a"\napi_key_env = "sk-secret"\n',
            "api_key_env: is no variable's name",
        ),
        ('[upstreams.a]\nurl = "http://a"\napi_key_file = "/none"\n', "cannot read /none"),
        ('[upstreams."a/b"]\nurl = "http://a"\n', "is no name"),
        ("[upstreams]\na = 3\n", r"upstreams\.a: must be a table"),
        ("upstreams = 3\n", r"Write \[upstreams.NAME\]"),
        ('[upstream]\nurl = "http://a"\n[upstreams.a]\nurl = "http://b"\n', "there are .upstreams.NAME. too"),
        ('[models]\nm = "a/b"\n', r"models: there are no upstreams"),
        ('[upstreams.a]\nurl = "http://a"\n[models]\nm = 3\n', r"models\.m: must be 'UPSTREAM/MODEL'"),
        ('[upstreams.a]\nurl = "http://a"\n[models]\nm = []\n', r"models\.m: must be"),
        ('[upstreams.a]\nurl = "http://a"\n[models]\nm = "/x"\n', r"models\.m: '/x' is not"),
        ('[upstreams.a]\nurl = "http://127.0.0.1:8400"\n', "is this gateway itself"),
    ],
)
def test_a_wrong_file_says_key_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(StartupError, match=said) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'promptcache.toml'}: ")
    assert "secret" not in str(caught.value)


def test_an_alias_needs_an_upstream_that_is_there(tmp_path: Path) -> None:
    said = r"models\.m: there is no upstream 'b'. Known: a"
    with pytest.raises(SettingsError, match=said):
        read(tmp_path, '[upstreams.a]\nurl = "http://a"\n[models]\nm = "b/x"\n')
    upstream = create_switchboard(read(tmp_path, '[upstreams.a]\nurl = "http://a"\n')).lines[0]
    with pytest.raises(SettingsError, match=said):
        Switchboard([(upstream.upstream, upstream.settings)], [ModelSettings("m", (Target("b", "x"),))])
