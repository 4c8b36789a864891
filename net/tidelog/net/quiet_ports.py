"""Ports for listeners that come and go during a run.

They are below the kernel's range for outgoing connections: else a node that is down for a while
could find its port taken by a connection, and a process that dials an unused port of that range may
be connected with itself.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
LOWEST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def quiet_ports(count: int) -> list[int]:
    """Choose different loopback ports without a listener; another process may still take one."""
    low, _ = map(int, _RANGE.read_text(encoding="ascii").split())
    candidates = list(range(LOWEST, low)) if low > LOWEST + count else list(range(low, 65_536))
    random.shuffle(candidates)
    free: list[int] = []
    while len(free) < count:
        port = candidates.pop()
        if _is_free(port):
            free.append(port)
    return free


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Connections in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
