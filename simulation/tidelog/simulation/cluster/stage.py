"""Port: what a scenario may do to a cluster, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.core.env import Clock, Random
from tidelog.net.transport import Transport


class ClientPorts(Protocol):
    """What `Producer`, `Consumer`, `Admin` and direct calls take."""

    @property
    def transport(self) -> Transport:
        """Calls to brokers."""

    @property
    def clock(self) -> Clock:
        """The clients' clock."""

    @property
    def random(self) -> Random:
        """The clients' randomness."""


class Stage(Protocol):
    """A cluster of nodes, each broker and controller. All methods belong to the scenario's loop."""

    @property
    def node_ids(self) -> Sequence[int]:
        """All nodes, up or down."""

    @property
    def client(self) -> ClientPorts:
        """The clients' way to the cluster."""

    def address(self, node_id: int) -> str:
        """Where a node listens."""

    def start(self, node_id: int) -> None:
        """Start a node that is down; returns before it is ready."""

    def crash(self, node_id: int) -> None:
        """Kill a node that is up (kill -9; where the stage can, a power cut: silent, and lossy)."""

    def drift(self, node_id: int, *, rate: float) -> None:
        """Let a node's clock run at `rate` seconds per second."""
