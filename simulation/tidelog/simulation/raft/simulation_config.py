"""Simulation of one seed: its voters, network and sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelog.core.chance import SeededRandom
from tidelog.raft.config import RaftConfig
from tidelog.simulation.raft.network import NetworkKind

FEW_ENTRIES = 8
"""Entries of one append message."""
QUICK_PROBABILITY = 0.8
QUICK_MS = 300, 600
"""Election time-outs shorter than the product's: more elections in as many seconds."""
NARROW_PROBABILITY = 0.3
"""Probability of time-outs so much alike that voters often stand in the same term."""
CLUSTER_ID = "own"


@dataclass(frozen=True, slots=True)
class RaftSimulationConfig:
    """Configuration of a simulation, drawn by the seed before it begins."""

    voter_ids: tuple[int, ...]
    raft: RaftConfig
    network: NetworkKind
    sync_latency_s_max: float
    is_calm: bool = False
    """Nothing is ever lost."""


def draw_config(random: SeededRandom, *, engine: str, is_calm: bool) -> RaftSimulationConfig:
    """Small logs and small pieces, so that everything happens in twenty seconds.

    Calm is a network that keeps the order of messages.
    """
    interval_bytes = random.randrange(2048, 8192)
    usual = RaftConfig()
    timeout_min_ms, timeout_max_ms = QUICK_MS
    if random.random() >= QUICK_PROBABILITY:
        timeout_min_ms, timeout_max_ms = (
            usual.election_timeout_min_ms,
            usual.election_timeout_max_ms,
        )
    if random.random() < NARROW_PROBABILITY:
        timeout_max_ms = timeout_min_ms + random.randrange(5, 60)
    return RaftSimulationConfig(
        voter_ids=(1, 2, 3) if random.random() < 0.6 else (1, 2, 3, 4, 5),
        raft=replace(
            usual,
            cluster_id=CLUSTER_ID,
            engine=engine,
            election_timeout_min_ms=timeout_min_ms,
            election_timeout_max_ms=timeout_max_ms,
            snapshot_interval_bytes=interval_bytes,
            retained_entries=random.randrange(1, 30),
            # the least there may be, or more
            wal_reserve_bytes=2 * interval_bytes + random.randrange(0, 2) * 32768,
            snapshot_chunk_bytes=random.randrange(300, 4096),
            max_inflight_appends=random.randrange(1, 16),
            append_batch_bytes=random.randrange(2048, 65536),
            append_batch_entries=(1, 1, 1, 2, 8, 4096)[random.randrange(0, 6)],
        ),
        network=NetworkKind(
            is_lawless=random.random() < 0.6 and not is_calm,
            has_stragglers=random.random() < 0.5 and not is_calm,
        ),
        sync_latency_s_max=random.uniform(0.0005, 0.02),
        is_calm=is_calm,
    )


def for_short_moments(config: RaftSimulationConfig) -> RaftSimulationConfig:
    """The same where messages may come late and twice, elections are quick and appends small.

    Short moments take several elections each, and some lie between two appends.
    """
    raft, (timeout_min_ms, timeout_max_ms) = config.raft, QUICK_MS
    return replace(
        config,
        raft=replace(
            raft,
            election_timeout_min_ms=timeout_min_ms,
            election_timeout_max_ms=timeout_max_ms,
            append_batch_entries=min(raft.append_batch_entries, FEW_ENTRIES),
        ),
        network=NetworkKind(is_lawless=True, has_stragglers=False),
    )
