"""Ports for listeners that come and go during a run.

Below the range that the kernel gives to outgoing connections: a node that is down for a while would
else find its port taken by a connection, and who dials a port of that range where nobody listens
may be connected with itself.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
LOWEST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def quiet_ports(count: int) -> list[int]:
    """Different loopback ports that nothing listens on now. Somebody may take one until used."""
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
        # Connections that are only waiting to be forgotten do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
