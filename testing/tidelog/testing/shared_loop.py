# pyright: strict
"""The loop of all clusters in this process, on a thread that lives as long as one of them.

One for all, since gRPC has one queue of events for a process, and each event wakes every loop that
uses gRPC (decision 0068).
"""

from __future__ import annotations

import threading
from contextlib import suppress

from tidelog.client.errors import ClientClosedError
from tidelog.client.sync import LoopThread
from tidelog.testing.cluster_nodes import ClusterNodes, remove_folder


class SharedLoop:
    """A loop for several users: from the first `take` to the last `give_back`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._users = 0

    def take(self) -> LoopThread:
        """Return the loop that others use, or start one; after a fork, which has no thread, too."""
        with self._lock:
            if self._loop is None or not self._loop.is_usable:
                self._loop, self._users = LoopThread(), 0
                self._loop.start()
            self._users += 1
            return self._loop

    def give_back(self, loop: LoopThread) -> None:
        """End the loop and its thread if nobody else uses it."""
        with self._lock:
            if loop is not self._loop:
                return  # from before a fork
            self._users -= 1
            if self._users:
                return
            self._loop = None
        loop.close()


CLUSTERS_LOOP = SharedLoop()
_start = threading.Thread.start
"""Python's own: garbage is collected amid a seed, too, which refuses threads to the test's code."""


def end_given_up(loop: LoopThread, nodes: ClusterNodes) -> None:
    """End the nodes of a cluster that nobody refers to any more, and its use of the loop.

    On a thread of its own: garbage is collected on any thread, that of the loop too.
    """
    _start(threading.Thread(target=_end, args=(loop, nodes), name="tidelog-end", daemon=True))


def _end(loop: LoopThread, nodes: ClusterNodes) -> None:
    if not loop.is_usable:
        return
    try:
        with suppress(ClientClosedError):
            loop.run(nodes.close())
    finally:
        remove_folder(nodes.settings)  # again: its nodes were still writing when it was given up
        CLUSTERS_LOOP.give_back(loop)
