"""Record of a chaos run for its report: everything drawn, as plain data. Pure.

One JSON file a run (`record.json`); `tidelog.chaos.report` makes the HTML file out of nothing else.
Times are seconds since the load began; a run's preparation has negative ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["ok", "violation", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Band:
    """A fault while it lasts."""

    kind: str
    """For example `kill`, `pause`, `cut`, `latency`."""
    what: str
    """For people: who or which links."""
    nodes: tuple[int, ...]
    """Nodes it strikes; empty: links only, or clients."""
    began_s: float
    ended_s: float | None
    """None: it was never taken back."""


@dataclass(frozen=True, slots=True)
class ReplicaPoint:
    """A replica of the story's partition when it was sampled."""

    at_s: float
    node_id: int
    is_up: bool
    role: str
    """leader, follower or none."""
    leader_epoch: int
    high_watermark: int
    """-1 while its log is not open; so is the next."""
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class PartitionPoint:
    """The story's partition as the newest committed metadata has it; noted when it changes."""

    at_s: float
    leader_id: int | None
    leader_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    controller_id: int | None
    term: int


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """Outcomes of sends within one interval that began at `at_s`."""

    at_s: float
    acknowledged: int
    failed: int
    unknown: int
    p99_ms: float | None
    """Latency of acknowledged sends; None: none was acknowledged."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that must not be, or a fault that was not seen."""

    kind: str
    """A check's name (docs/HISTORY.md), an invariant (I1…), or `unobserved`."""
    what: str
    at_s: float | None
    operations: tuple[str, ...] = ()
    """JSON lines of the calls that prove it, as in the history."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the run's diary."""

    at_s: float
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run of one scenario."""

    scenario: str
    claim: str
    seed: int
    verdict: Verdict
    began_at: str
    """ISO 8601, UTC."""
    commit: str
    version: str
    machine: str
    """CPU, cores, memory, kernel: on one line."""
    command: str
    """The command that runs it again."""
    broker_ids: tuple[int, ...]
    controller_ids: tuple[int, ...]
    partition: str
    """The story's, as `topic-0`."""
    settings: dict[str, str]
    """Configuration of nodes, topic and clients, as far as it differs from the defaults."""
    load_s: float
    interval_s: float
    """Length of an interval of `load`."""
    counts: dict[str, int]
    """`tidelog.history.checks.delivery.counts`."""
    unavailable_s: float
    """The longest time without an acknowledgement of acks=all while producers tried."""
    bands: list[Band] = field(default_factory=list)
    replicas: list[ReplicaPoint] = field(default_factory=list)
    partitions: list[PartitionPoint] = field(default_factory=list)
    load: list[LoadPoint] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    """Measurements of the story, for people."""
