"""`--check-config` prints what a node would run with, or all that is wrong, and starts nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tidelog.node import __main__
from tidelog.node.config import NODE_KEYS

TEXT = """
node.id = 2
cluster.id = "abc"
listeners = "127.0.0.1:9193"
log.dirs = "{folder}"
[controller.quorum.voters]
2 = "127.0.0.1:9193"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "node.toml"
    path.write_text(TEXT.format(folder=tmp_path / "data"))
    return path


def check(monkeypatch: pytest.MonkeyPatch, *arguments: str, **environ: str) -> int:
    for key in NODE_KEYS.values():
        monkeypatch.delenv(key.variable, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["tidelog.node", "--check-config", *arguments])
    return __main__.main()


def test_every_key_is_printed_with_its_source(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(monkeypatch, "--config", str(config), TIDELOG_HTTP_PORT="0") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("=")[0] for line in lines] == list(NODE_KEYS)
    assert "node.id=2  (file)" in lines
    assert "http.port=0  (TIDELOG_HTTP_PORT)" in lines
    assert "process.roles=broker,controller  (default)" in lines
    assert not (config.parent / "data").exists()


def test_all_errors_are_printed_and_the_exit_code_is_one(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--config", str(config))
    assert check(monkeypatch, *arguments, TIDELOG_HTTP_PORT="x", TIDELOG_NODE_ID="0") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "TIDELOG_HTTP_PORT='x'" in printed.err
    assert "TIDELOG_NODE_ID='0'" in printed.err


def test_a_file_that_cannot_be_read_is_named(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(config.with_name("nosuch.toml"))
    assert check(monkeypatch, "--config", missing) == 1
    assert missing in capsys.readouterr().err
    config.write_bytes(b"\xff")
    assert check(monkeypatch, "--config", str(config)) == 1
    assert f"{config} is not UTF-8" in capsys.readouterr().err
