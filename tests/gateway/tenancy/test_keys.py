"""Keys by command: shown once, hashed on disk, revoked at once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from promptcache_gateway.arguments import make_settings, parse_arguments
from promptcache_gateway.errors import SettingsError, StartupError
from promptcache_gateway.tenancy.caller import Caller
from promptcache_gateway.tenancy.cli import main
from promptcache_gateway.tenancy.key_file import KeyFile
from promptcache_gateway.tenancy.key_ring import KeyRing


def create(folder: Path, capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["create", *argv, "--data-dir", str(folder)]) == 0
    return capsys.readouterr().out.strip()


def test_a_key_is_shown_once_and_kept_as_a_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = create(tmp_path, capsys, "shop")
    assert secret.startswith("pck_")
    assert len(secret) > 40
    assert "\n" not in secret, "a script can keep what is on stdout"
    file = tmp_path / "keys.json"
    assert secret not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert main(["list", "--data-dir", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert "shop" in listed
    assert secret not in listed
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


def test_what_the_list_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--data-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "There are no keys.\n"
    create(tmp_path, capsys, "a", "--tenant", "t1")
    create(tmp_path, capsys, "boss", "--admin")
    assert main(["revoke", "a", "--data-dir", str(tmp_path)]) == 0
    capsys.readouterr()
    main(["list", "--data-dir", str(tmp_path)])
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "NAME", "TENANT", "KIND", "CREATED", "STATE"]
    assert first.split()[1:4] == ["a", "t1", "caller"]
    assert "revoked" in first
    assert second.split()[1:4] == ["boss", "default", "admin"]
    assert second.endswith("opens")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["create", " x"], "is no name"),
        (["create", "a" * 65], "is no name"),
        (["create", "x", "--tenant", "a\nb"], "is no name"),
        (["revoke", "nobody"], "no key that opens"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    assert main([*argv, "--data-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_two_open_keys_have_two_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(tmp_path, capsys, "a")
    assert main(["create", "a", "--data-dir", str(tmp_path)]) == 2
    assert main(["revoke", "a", "--data-dir", str(tmp_path)]) == 0
    assert main(["revoke", "a", "--data-dir", str(tmp_path)]) == 2
    create(tmp_path, capsys, "a")


def test_a_broken_file_is_an_error_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keys.json"
    file.write_text("{")
    assert main(["create", "a", "--data-dir", str(tmp_path)]) == 2
    assert "is not a file of keys" in capsys.readouterr().err
    assert file.read_text() == "{"
    with pytest.raises(StartupError, match="is not a file of keys"):
        make_settings(parse_arguments(["--data-dir", str(tmp_path)]), {})


def test_the_configuration_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "promptcache.toml"
    config.write_text(f'[storage]\ndata_dir = "{tmp_path / "d"}"\n')
    assert main(["create", "a", "--config", str(config)]) == 0
    assert (tmp_path / "d" / "keys.json").is_file()
    made = make_settings(parse_arguments(["--config", str(config), "--host", "0.0.0.0"]), {})
    assert made.stored_keys


def test_listening_elsewhere_needs_a_key(tmp_path: Path) -> None:
    argv = ["--data-dir", str(tmp_path), "--host", "0.0.0.0"]
    with pytest.raises(SettingsError, match="promptcache keys create"):
        make_settings(parse_arguments(argv), {})
    assert (
        make_settings(parse_arguments(argv), {"PROMPTCACHE_API_KEYS": "0123456789abcdef"}).host == "0.0.0.0"
    )


def test_a_ring_follows_its_file(tmp_path: Path) -> None:
    now = [0.0]
    file = KeyFile(tmp_path / "keys.json")
    ring = KeyRing(file, clock=lambda: now[0])
    assert ring.empty
    secret, key = file.create("a", tenant="t")
    assert ring.caller(secret.encode()) is None, "it looks once a second"
    now[0] += 1
    assert ring.caller(secret.encode()) == Caller("t", key_id=key.id)
    assert ring.by_id(key.id) == Caller("t", key_id=key.id)
    assert ring.by_id(None) is None
    assert ring.caller(secret.encode() + b"x") is None
    assert not ring.empty
    file.revoke(key.id)
    now[0] += 1
    assert ring.caller(secret.encode()) is None
    assert not ring.empty, "once there was a key, the gateway does not open again"


def test_a_ring_keeps_what_it_read_last(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    file = KeyFile(tmp_path / "keys.json")
    secret, key = file.create("a")
    ring = KeyRing(file, clock=lambda: now[0])
    file.path.write_text("{")
    now[0] += 1
    assert ring.caller(secret.encode()) == Caller("a", key_id=key.id)
    assert "file of keys" in caplog.text
    assert secret not in caplog.text


def test_the_command_is_there(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "promptcache_gateway.tenancy", "list", "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "There are no keys.\n")
    assert "keys = " in (Path(__file__).parents[3] / "pyproject.toml").read_text()
