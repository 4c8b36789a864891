"""Ports for listeners that come and go during a run.

They are below the kernel's range for outgoing connections: else a node that is down for a while
could find its port taken by a connection, and a process that dials an unused port of that range may
be connected with itself. And they are of a block that this process has to itself: else another run
on this machine could take the port of a listener that is down for a while.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from pathlib import Path

HOST = "127.0.0.1"
LOWEST = 10_000
BLOCK = 512
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_claims: list[socket.socket] = []


def quiet_ports(count: int) -> list[int]:
    """Choose different loopback ports without a listener; no other process is given them.

    Errors: `OSError` when the process's block of ports has fewer than that free.
    """
    looked_at = islice(_ports_of_this_process(), BLOCK)
    free = list(islice(filter(_is_free, looked_at), count))
    if len(free) < count:
        raise OSError(f"{count} ports are wanted, and {len(free)} of {BLOCK} are free")
    return free


@cache
def _ports_of_this_process() -> Iterator[int]:
    # In turn, so that a port rests as long as it can before it is given again.
    low, _ = map(int, _RANGE.read_text(encoding="ascii").split())
    top = low if low >= LOWEST + BLOCK else 65_536
    blocks = list(range(min(LOWEST, top - BLOCK), top - BLOCK + 1, BLOCK))
    random.shuffle(blocks)
    # With every block claimed, one is shared: `_is_free` is all that is left then.
    first = next(filter(_claim, blocks), blocks[0])
    return cycle(range(first, first + BLOCK))


def _claim(first: int) -> bool:
    # An abstract name belongs to the network namespace, as ports do, and goes with its process.
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0tidelog-ports-{first}")
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Connections in TIME_WAIT do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
