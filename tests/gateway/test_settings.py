"""What the gateway is told: the command line wins over the file, secrets come from the environment."""

import os
from pathlib import Path

import pytest

from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.bounds import Bounds
from promptcache_gateway.cli import main
from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.settings import Settings, UpstreamSettings, is_loopback

KEY = "0123456789abcdef"


def settings(*argv: str, **environ: str) -> Settings:
    return make_settings(parse_arguments(argv), {"XDG_DATA_HOME": os.environ["XDG_DATA_HOME"], **environ})


def test_the_defaults() -> None:
    made = settings(XDG_DATA_HOME="/data")
    assert (made.host, made.port, made.upstream) == ("127.0.0.1", 8400, None)
    assert made.engine.model == "smollm2-135m-instruct"
    assert made.engine.enable_prefix_caching
    assert made.max_body_bytes == 32 * 1024 * 1024
    assert made.data_dir == Path("/data/promptcache")


@pytest.mark.parametrize(
    ("given", "file"),
    [
        ("x.db", "x.db"),
        ("sqlite:///x.db", "x.db"),
        ("sqlite:////tmp/x.db", "/tmp/x.db"),
        (None, "/d/promptcache.db"),
    ],
)
def test_the_database_is_a_file(given: str | None, file: str) -> None:
    argv = [] if given is None else ["--database", given]
    assert settings("--data-dir", "/d", *argv).database_address == Path(file)


@pytest.mark.parametrize("argv", [["--database-url", "postgresql://u:pw@host/db"], []])
def test_the_database_is_a_server(argv: list[str]) -> None:
    made = make_settings(
        parse_arguments(argv), {"PROMPTCACHE_DATABASE_URL": "" if argv else "postgresql://u:pw@host/db"}
    )
    assert made.database_address == "postgresql://u:pw@host/db"
    assert "pw" not in repr(made)


def test_other_databases_are_refused() -> None:
    with pytest.raises(SettingsError, match="no address of a database"):
        settings("--database", "mysql://host/db")


def test_how_much_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text("[storage]\nkeep_requests = 5\nkeep_days = 2\nmax_mib = 64\n")
    assert settings("--config", str(file)).bounds == Bounds(requests=5, days=2.0, mib=64)
    for wrong in ("keep_requests = 0", "keep_days = 0", "max_mib = 1"):
        file.write_text(f"[storage]\n{wrong}\n")
        with pytest.raises(SettingsError, match=wrong.split()[0]):
            settings("--config", str(file))


@pytest.mark.parametrize("spelling", ["--page-size", "--block-size", "--kv-cache-page-size"])
def test_every_spelling_of_the_page_size(spelling: str) -> None:
    assert settings(spelling, "32").engine.page_size == 32


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("--max-num-batched-tokens", "max_batch_tokens"),
        ("--max-batch-tokens", "max_batch_tokens"),
        ("--max-num-seqs", "max_running"),
        ("--max-waiting", "max_waiting"),
        ("--max-model-len", "max_context"),
        ("--threads", "threads"),
        ("--max-restarts", "max_restarts"),
    ],
)
def test_what_bounds_the_engine_can_be_set(option: str, field: str) -> None:
    assert getattr(settings(option, "24").engine, field) == 24


def test_what_a_preempted_sequence_leaves_can_be_set(tmp_path: Path) -> None:
    assert settings("--preemption", "recompute").engine.preemption == "recompute"
    file = tmp_path / "promptcache.toml"
    file.write_text('[engine]\npreemption = "recompute"\nmax_restarts = 0\n', encoding="utf-8")
    engine = settings("--config", str(file)).engine
    assert (engine.preemption, engine.max_restarts) == ("recompute", 0)


@pytest.mark.parametrize("spelling", ["--no-enable-prefix-caching", "--disable-radix-cache"])
def test_every_spelling_of_no_reuse(spelling: str) -> None:
    assert not settings(spelling).engine.enable_prefix_caching


@pytest.mark.parametrize(
    ("options", "graphs"),
    [
        ([], "auto"),
        (["--cuda-graphs", "on"], "on"),
        (["--no-cuda-graphs"], "off"),
        (["--enforce-eager"], "off"),
    ],
)
def test_whether_decode_steps_are_recorded(options: list[str], graphs: str) -> None:
    assert settings(*options).engine.cuda_graphs == graphs


def test_the_linter_s_table_in_the_same_file_is_none_of_the_gateway_s(tmp_path: Path) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text('[lint]\nselect = ["PC1"]\n[serve]\nport = 9002\n', encoding="utf-8")
    assert settings("--config", str(file)).port == 9002


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """As some editors on Windows write it; what is wrong in it is still told with its place."""
    file = tmp_path / "promptcache.toml"
    file.write_text('[serve]\nport = 9002\r\nhost = "127.0.0.1"\n', encoding="utf-8-sig")
    assert settings("--config", str(file)).port == 9002
    file.write_text("[serve]\nport = 90_002\n", encoding="utf-8-sig")
    with pytest.raises(SettingsError) as caught:
        settings("--config", str(file))
    assert f"{file}: serve.port" in str(caught.value)


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages }}")
    file = tmp_path / "promptcache.toml"
    file.write_text(
        f"""
        [serve]
        port = 9000
        shutdown_grace_s = 5
        [upstream]
        url = "http://gpu:8000/v1"
        include_usage = false
        [engine]
        page_size = 64
        chat_template = "{template}"
        [storage]
        data_dir = "{tmp_path}"
        """
    )
    made = settings("--config", str(file), "--port", "9001", "--page-size", "128")
    assert (made.port, made.shutdown_grace_s) == (9001, 5.0)
    assert made.upstream == UpstreamSettings(url="http://gpu:8000/v1", include_usage=False)
    assert (made.engine.page_size, made.engine.chat_template) == (128, template)
    assert made.data_dir == tmp_path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[serv]\n", r"\[serv\].*Did you mean serve\?"),
        ("[engine]\npage_sise = 3\n", r"engine\.page_sise.*Did you mean page_size\?"),
        ("[serve]\nallowed_hosts = [1]\n", r"serve\.allowed_hosts: must be a list of strings"),
        ('[serve]\nport = "8400"\n', r"serve\.port: must be a whole number"),
        ("[serve]\nport = true\n", r"serve\.port: must be a whole number"),
        ("[engine]\ndeterministic = 1\n", r"engine\.deterministic: must be true or false"),
        ("serve = 3\n", "must be a table"),
        ("[serve\n", "not valid TOML.*line 1"),
        ("[upstream]\ninclude_usage = true\n", r"upstream\.url: is missing"),
        ("[serve]\nport = 99999\n", r"serve\.port: 99999 is not a port\. Use 1"),
        ("[serve]\nmax_body_bytes = 1\n", r"serve\.max_body_bytes: must be at least 1024"),
        ("[serve]\nkeep_alive_s = -1\n", r"serve\.keep_alive_s: must be from 0"),
        ("[serve]\nanswers_mib = 0\n", r"serve\.answers_mib: must be from 1"),
        ("[serve]\nworkers = 0\n", r"serve\.workers: must be from 1"),
        ("[serve]\nworkers = 2\n", r"serve\.workers: the built-in engine.*Leave it at 1"),
        ('[serve]\nhost = "0.0.0.0"\n', r"serve\.host: .*promptcache keys create"),
        ('[serve]\nlog_level = "loud"\n', r"serve\.log_level: 'loud' is none of debug"),
        ('[serve]\nallowed_hosts = ["a:80"]\n', r"serve\.allowed_hosts: .*without scheme"),
        ('[serve]\ncors_origins = ["*"]\n', r"serve\.cors_origins: .*Name the origins"),
        ('[upstream]\nurl = "http://127.0.0.1:8400"\n', r"upstream\.url: .*this gateway itself\. Name"),
        ('[upstream]\nurl = "http://me:secret@[x"\n', r"upstream\.url: the address is none\. Write"),
        ('[models]\nm = "a/b"\n', r"models: there are no upstreams.*Name them"),
        ('[engine]\nchat_template = "/none"\n', r"engine\.chat_template: there is no file /none"),
        ("[storage]\nkeep_days = 0\n", r"storage\.keep_days: must be more than 0"),
        ('[storage]\ndatabase = "mysql://x"\n', r"storage\.database: .*Give a file's path"),
        ('[shared]\nurl = "http://x"\n', r"shared\.url: .*Write redis"),
        ('[responses]\nkeep = "disk"\n', r"responses\.keep: .*Known: memory"),
        ("[tenants.a]\nrequests_per_minute = 0\n", r"tenants\.a\.requests_per_minute: must be at"),
        ('[tenants.a]\nbudget_period = "year"\n', r"tenants\.a\.budget_period: .*Known: day"),
        ('[templates.a]\nsource = "none.j2"\n', r"templates\.a\.source: there is no file"),
        ('[prices]\nfile = "none"\n', r"prices\.file: .*Write it anew"),
        ("[prices.models.m]\ninput = 1\n", r'prices\.models\."m"\.output: is missing\. Give'),
        ('[alerts]\nkinds = ["x"]\n', r"alerts\.kinds: 'x' is no kind\. Known"),
        ('[alerts]\nwebhook_env = "NONE"\n', r"alerts\.webhook_env: NONE is not set\. Set"),
        ('[otel]\nendpoint = "x"\n', r"otel\.endpoint: is no http"),
        ('[mutations]\nsession = "x"\n', r"mutations\.session: .*Known: off"),
    ],
)
def test_a_wrong_file_says_file_key_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text(text)
    with pytest.raises(StartupError, match=said) as caught:
        settings("--config", str(file))
    assert str(caught.value).startswith(f"{file}")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("argv", "environ", "place"),
    [
        (["--port", "99999"], {}, "--port"),
        (["--block-size", "16", "--chat-template", "/none"], {}, "--chat-template"),
        (["--upstream", "http://localhost:8400"], {}, "--upstream"),
        (["--database-url", "mysql://x"], {"PROMPTCACHE_DATABASE_URL": "mysql://x"}, "--database"),
        ([], {"PROMPTCACHE_DATABASE_URL": "mysql://x"}, "PROMPTCACHE_DATABASE_URL"),
        ([], {"PROMPTCACHE_SHARED_URL": "mysql://x"}, "PROMPTCACHE_SHARED_URL"),
        (["--upstream-kind", "openai"], {}, "upstream.url"),
    ],
)
def test_errors_name_the_option_or_the_variable(
    tmp_path: Path, argv: list[str], environ: dict[str, str], place: str
) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text('[serve]\nport = 8400\n[storage]\nkeep_days = 1\n[shared]\nname = "x"\n')
    with pytest.raises(SettingsError) as caught:
        settings("--config", str(file), *argv, **environ)
    assert str(caught.value).startswith(f"{place}: ")


def test_a_missing_or_binary_file(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="no such file"):
        settings("--config", str(tmp_path / "none.toml"))
    (tmp_path / "deep.toml").write_text(f"a = {'[' * 3000}{']' * 3000}\n")
    with pytest.raises(StartupError, match=r"deep\.toml is not valid TOML"):
        settings("--config", str(tmp_path / "deep.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\x00")
    with pytest.raises(StartupError, match="not valid TOML"):
        settings("--config", str(tmp_path / "binary.toml"))


@pytest.mark.parametrize("argv", [["--port", "x"], ["--nonsense"], ["--page-size"], ["--por", "8000"]])
def test_wrong_arguments_exit_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_arguments(argv)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("promptcache serve: ")
    assert said.endswith("See promptcache serve --help.\n")
    assert said.count("\n") == 1


def test_help_names_values_as_people_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_arguments(["--help"])
    assert caught.value.code == 0
    said = capsys.readouterr().out
    for option in ("--host HOST", "--port PORT", "--dtype DTYPE", "--shutdown-grace SECONDS"):
        assert option in said
    assert "SERVE." not in said
    assert "ENGINE." not in said


def test_allowed_hosts_come_from_both(tmp_path: Path) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text('[serve]\nallowed_hosts = ["a.example"]\n')
    assert settings().allowed_hosts == ()
    assert settings("--config", str(file)).allowed_hosts == ("a.example",)
    given = ("--allowed-host", "b.example", "--allowed-host", "c.example")
    assert settings("--config", str(file), *given).allowed_hosts == ("b.example", "c.example")
    for wrong in ("http://a.example", "a.example:80", ""):
        with pytest.raises(SettingsError, match="--allowed-host"):
            settings("--allowed-host", wrong)


def test_the_grace_is_ten_seconds_and_can_be_set() -> None:
    assert settings().shutdown_grace_s == 10
    assert settings("--shutdown-grace", "0.5").shutdown_grace_s == 0.5
    for wrong in ("-1", "nan", "inf"):
        with pytest.raises(SettingsError, match="--shutdown-grace"):
            settings("--shutdown-grace", wrong)


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "x:8000", "http://", "http://user:pass@host", "http://host/v1?key=1", ""],
)
def test_an_upstream_that_is_no_base_url(url: str) -> None:
    with pytest.raises(SettingsError):
        UpstreamSettings(url=url)


@pytest.mark.parametrize("url", ["http://localhost:8400", "http://127.0.0.1:8400/v1", "http://[::1]:8400"])
def test_a_gateway_does_not_forward_to_itself(url: str) -> None:
    with pytest.raises(SettingsError, match="itself"):
        settings("--upstream", url)
    assert settings("--upstream", url, "--port", "8401").upstream is not None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "gpu.example"])
def test_other_hosts_need_a_key(host: str) -> None:
    with pytest.raises(SettingsError, match=r"no API key is configured.*PROMPTCACHE_API_KEYS"):
        settings("--host", host)
    assert settings("--host", host, PROMPTCACHE_API_KEYS=f" {KEY} ,").api_keys == (KEY,)


def test_short_keys_are_refused_and_secrets_are_not_shown() -> None:
    with pytest.raises(SettingsError, match="fewer than 16"):
        settings(PROMPTCACHE_API_KEYS="short")
    made = settings(
        "--upstream", "http://gpu:8000", PROMPTCACHE_API_KEYS=KEY, PROMPTCACHE_UPSTREAM_API_KEY="sk-secret"
    )
    assert made.upstream is not None
    assert made.upstream.api_key == "sk-secret"
    assert "sk-secret" not in repr(made)
    assert KEY not in repr(made)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_only_this_machine_reaches_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.com", "localhost.example.com", ""])
def test_others_reach_everything_else(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("argv", "on"),
    [
        ([], True),
        (["--enable-prefix-caching"], True),
        (["--no-enable-prefix-caching"], False),
        (["--disable-radix-cache"], False),
        (["--enable-prefix-caching", "--disable-radix-cache"], False),
        (["--no-enable-prefix-caching", "--enable-prefix-caching"], True),
    ],
)
def test_prefix_caching_in_the_words_of_other_servers(argv: list[str], on: bool) -> None:
    assert settings(*argv).engine.enable_prefix_caching is on


@pytest.mark.parametrize("name", ["--page-size", "--block-size", "--kv-cache-page-size"])
def test_the_page_size_in_the_words_of_other_servers(name: str) -> None:
    assert settings(name, "32").engine.page_size == 32


@pytest.mark.parametrize(
    ("argv", "file", "variable", "looks"),
    [
        ([], None, None, True),
        (["--no-diagnosis"], None, None, False),
        ([], "false", None, False),
        ([], "false", "true", False),
        (["--no-diagnosis"], "true", "true", False),
        ([], None, "False", False),
        ([], None, "off", False),
        ([], None, "0", False),
        ([], None, "on", True),
        ([], None, "", True),
    ],
)
def test_whether_requests_are_looked_at(
    tmp_path: Path, argv: list[str], file: str | None, variable: str | None, looks: bool
) -> None:
    if file is not None:
        (tmp_path / "promptcache.toml").write_text(f"[serve]\ndiagnosis = {file}\n")
        argv = [*argv, "--config", str(tmp_path / "promptcache.toml")]
    environ = {} if variable is None else {"PROMPTCACHE_DIAGNOSIS": variable}
    assert settings(*argv, **environ).diagnosis is looks


def test_a_variable_that_says_neither_is_named() -> None:
    with pytest.raises(SettingsError, match="'maybe' is neither true nor false") as caught:
        settings(PROMPTCACHE_DIAGNOSIS="maybe")
    assert caught.value.setting == "PROMPTCACHE_DIAGNOSIS"


@pytest.mark.parametrize(
    ("tables", "named"),
    [
        ("[mutations]\nbreakpoints = true", "mutations.breakpoints"),
        ("[mutations.templates.t]\nbreakpoints = true", "mutations.templates.t.breakpoints"),
        ('[mutations]\nprompt_cache_key = "conversation"', "mutations.prompt_cache_key"),
        ('[mutations]\ncache_salt = "template"', "mutations.cache_salt"),
        ('[mutations]\nsession_header = "x-session"', "mutations.session"),
        (
            '[upstreams.u]\nurl = "http://h"\n[mutations.upstreams.u]\nprompt_cache_key = "template"',
            "mutations.upstreams.u.prompt_cache_key",
        ),
        ('[upstreams.u]\nurl = "http://h"\ndiagnostics = "ask"', "upstreams.u.diagnostics"),
        ("[alerts]\nlost_usd_per_hour = 2.0", "alerts.lost_usd_per_hour"),
        ('[alerts]\nkinds = ["regression"]', "alerts.kinds"),
    ],
)
def test_what_needs_a_look_is_refused_where_nobody_looks(tmp_path: Path, tables: str, named: str) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text(f"{tables}\n")
    settings("--config", str(file))
    with pytest.raises(SettingsError) as caught:
        settings("--config", str(file), "--no-diagnosis")
    assert caught.value.setting == f"{file}: {named}"
    for told in ("serve.diagnosis", "--no-diagnosis", "PROMPTCACHE_DIAGNOSIS"):
        assert told in str(caught.value)


@pytest.mark.parametrize(
    "tables",
    [
        '[mutations]\nprompt_cache_key = "tenant"\nsession_header = "x-session"\nsession = "tenant"',
        '[mutations.templates.t]\nprompt_cache_key = "template"',
        "[mutations]\ndrop_billing_header = true",
        '[alerts]\nkinds = ["budget", "regression"]',
    ],
)
def test_what_needs_no_look_is_taken(tmp_path: Path, tables: str) -> None:
    file = tmp_path / "promptcache.toml"
    file.write_text(f"{tables}\n")
    assert not settings("--config", str(file), "--no-diagnosis").diagnosis


def test_a_check_says_that_diagnosis_is_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--upstream", "http://127.0.0.1:9", "--check", "--no-diagnosis"]) == 0
    assert "Note: diagnosis is off" in capsys.readouterr().out
    assert main(["--upstream", "http://127.0.0.1:9", "--check"]) == 0
    assert "diagnosis" not in capsys.readouterr().out
