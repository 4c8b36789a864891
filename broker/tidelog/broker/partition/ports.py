"""Ports of a broker's replicas: the world outside of it. Decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.env import Clock, Disk, Random
from tidelog.core.workers import Workers
from tidelog.net.peers import Peers


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaPorts:
    """Disk, time, randomness, other brokers and worker threads: real ones or simulated."""

    disk: Disk
    clock: Clock
    random: Random
    peers: Peers
    workers: Workers
