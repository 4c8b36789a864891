"""Where the proxy server comes from, and what is said when it does not come."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tidelog.chaos.sockets import toxiproxy
from tidelog.chaos.sockets.toxiproxy import ProxyError, Toxiproxy
from tidelog.net.quiet_ports import quiet_ports

pytestmark = pytest.mark.chaos
NOTHING = Path("/nonexistent")


def program(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that has no server, nor a way to build it, yet."""
    monkeypatch.setattr(toxiproxy, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("PATH", f"{NOTHING}:{os.defpath}")
    return tmp_path


async def test_without_checkout_or_server_it_is_said_where_to_get_one(checkout: Path) -> None:
    with pytest.raises(ProxyError, match=r"github\.com/Shopify/toxiproxy"):
        await Toxiproxy.start(checkout, {})


async def test_a_checkout_builds_its_server(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = checkout / ".tools/bin/toxiproxy-server"
    program(checkout / "tools/toxiproxy.sh", f"mkdir -p {server.parent}", f"touch {server}")
    assert await toxiproxy._program(checkout, {}) == server
    assert "building toxiproxy-server" in capsys.readouterr().err
    assert await toxiproxy._program(checkout, {}) == server
    assert capsys.readouterr().err == ""


async def test_a_build_that_fails_is_told_with_its_last_words(checkout: Path) -> None:
    program(checkout / "tools/toxiproxy.sh", "echo no compiler >&2", "exit 1")
    with pytest.raises(ProxyError, match="no compiler"):
        await Toxiproxy.start(checkout, {})


async def test_a_server_that_ends_at_once_is_told_with_its_last_words(checkout: Path) -> None:
    program(checkout / ".tools/bin/toxiproxy-server", "echo port taken", "exit 1")
    with pytest.raises(ProxyError, match="port taken"):
        await Toxiproxy.start(checkout, {})


def test_ports_lie_below_those_of_outgoing_connections() -> None:
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = quiet_ports(100)
    assert len(set(ports)) == len(ports)
    assert max(ports) < low
