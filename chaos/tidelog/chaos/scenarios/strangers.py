"""Port: strangers who reach the ports of a cluster of processes, and what they do there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tidelog.chaos.workloads.tally import Tally


@dataclass(frozen=True, slots=True)
class Vitals:
    """Of one process."""

    pid: int
    rss_bytes: int
    peak_rss_bytes: int
    connections: int
    """Open sockets: files are segments, too, which grow in number with the load."""


class Strangers(Protocol):
    """All of them go straight to the nodes, past every proxy."""

    async def send_malformed(self, *, seed: int, first: int, requests: int) -> tuple[Tally, int]:
        """Calls from place `first` on until so many requests were sent; the next place, too."""

    async def make_noise(self, *, seed: int, first: int, connections: int) -> Tally:
        """Connections to every port on which bytes of no client are said."""

    async def ask_too_much(self) -> Tally:
        """Each of `oversized` of every broker."""

    async def connect_and_wait(self, *, connections: int) -> Tally:
        """Half of them say nothing, half a greeting; returns when all were hung up on."""

    def vitals(self, node_id: int) -> Vitals:
        """Of the node's process. Errors: `LookupError` when it is down."""


@runtime_checkable
class HasStrangers(Protocol):
    """A ground with ports to reach."""

    @property
    def strangers(self) -> Strangers:
        """Whoever can reach them."""
