"""Port: strangers who reach the ports of a cluster of processes, and what they do there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tidelog.chaos.workloads.forged_raft import Random
from tidelog.chaos.workloads.tally import Tally


@dataclass(frozen=True, slots=True)
class Vitals:
    """Memory and connections of one process."""

    pid: int
    rss_bytes: int
    peak_rss_bytes: int
    connections: int
    """Open sockets: files are segments, too, which grow in number with the load."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A broker's handling of callers that read nothing."""

    connections: int
    closed: int
    """By the broker, in time."""
    held_bytes: int
    """The most bytes of responses that nobody had taken, by the broker's own count."""
    peak_bytes: int
    """Peak memory of its process, above the memory it had before."""
    left_bytes: int
    """The same when all was over."""


class KafkaStrangers(Protocol):
    """Untrusted clients of listeners of Kafka's protocol, past every proxy."""

    async def send_malformed(self, *, seed: int, first: int, frames: int) -> tuple[Tally, int]:
        """Connections from place `first` on until so many frames were sent; the next place, too."""

    async def ask_too_much(self) -> Tally:
        """Frames that are too long, or ask for too much, or never end, to every broker."""

    async def ask_widely(self, *, seconds: float) -> Tally:
        """Wide requests to every broker for so long, on a few connections to each."""

    async def connect_and_wait(self, *, connections: int) -> Tally:
        """Half of them say nothing, half a part of a frame; returns when all were hung up on."""

    async def hold(self, *, connections: int, for_s: float) -> Tally:
        """Slow, unread, parked and half-open ones for so long; others are to be answered beside."""


class Strangers(Protocol):
    """Untrusted clients; they go straight to the nodes, past every proxy."""

    async def send_malformed(self, *, seed: int, first: int, requests: int) -> tuple[Tally, int]:
        """Calls from place `first` on until so many requests were sent; the next place, too."""

    async def make_noise(self, *, seed: int, first: int, connections: int) -> Tally:
        """Connections to every port on which bytes of no client are said."""

    async def ask_too_much(self) -> Tally:
        """Each of `oversized` of every broker."""

    async def ask_widely(self, *, seconds: float) -> Tally:
        """Wide calls of every broker for so long, on a few connections to each."""

    async def start_foreign(self, node_id: int) -> None:
        """Start a node of another cluster in the place of one that is down.

        It has the same id and address, and a metadata log that is alike by chance, and ahead.
        """

    async def stop_foreign(self, node_id: int) -> bool:
        """Kill it; False: it had ended by itself."""

    async def forge_raft(self, *, random: Random, messages: int, leaps: int) -> int:
        """Raft messages in a voter's name, each on a stream of its own; how many were taken.

        The first `leaps` are terms and incarnations from nowhere.
        """

    async def connect_and_wait(self, *, connections: int) -> Tally:
        """Half of them say nothing, half a greeting; returns when all were hung up on."""

    async def leave_unread(self, *, calls: int, within_s: float) -> Unread:
        """Fetches of 8 MiB each of one broker, of none of which a byte is read."""

    @property
    def at_kafka(self) -> KafkaStrangers:
        """Strangers at listeners of Kafka's protocol."""

    def vitals(self, node_id: int) -> Vitals:
        """Vitals of the node's process. Errors: `LookupError` when it is down."""


@runtime_checkable
class HasStrangers(Protocol):
    """A cluster with ports to reach."""

    @property
    def strangers(self) -> Strangers:
        """Untrusted clients that can reach the nodes."""
