"""Ports for listeners that come and go: of this process alone, and each rests before it is reused.

CI, November 2026: a scenario had disabled its proxies, another run took one of their ports, and the
proxies could not be enabled again.
"""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tidelog.net.quiet_ports import BLOCK, HOST, quiet_ports

PROGRAM = "from tidelog.net.quiet_ports import *; print(*quiet_ports(400)); input()"


def test_no_other_process_is_given_a_port_of_this_one() -> None:
    given = set(quiet_ports(400))
    others = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for other in others:
            assert other.stdout is not None
            theirs = set(map(int, other.stdout.readline().split()))
            assert len(theirs) == 400
            assert not theirs & given
            given |= theirs
    finally:
        for other in others:
            other.communicate("\n", timeout=60)


def test_a_port_rests_until_all_others_were_given() -> None:
    first, second = quiet_ports(BLOCK // 2), quiet_ports(BLOCK // 4)
    assert not set(first) & set(second)


def test_a_port_with_a_listener_is_not_given() -> None:
    (port,) = quiet_ports(1)
    with socket.socket() as listener:
        listener.bind((HOST, port))
        listener.listen()
        assert port not in quiet_ports(BLOCK - 50)
        assert port not in quiet_ports(BLOCK - 50)


def test_more_ports_than_a_process_has_are_refused() -> None:
    with pytest.raises(OSError, match=f"{BLOCK + 1} ports are wanted, and"):
        quiet_ports(BLOCK + 1)
