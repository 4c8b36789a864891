"""Session of the benchmark: every group in turn, alternating ours and the peer's.

A failure is an error of its group's rows only; the other groups still run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from tidelog.benchmarks import nodes
from tidelog.benchmarks.efforts import EFFORTS, Effort, shorten
from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.own_cluster import OwnCluster
from tidelog.benchmarks.peer import Peer, run_program
from tidelog.benchmarks.plan import Group, Job, Kind, groups
from tidelog.benchmarks.plan_wire import OURS, wire_groups
from tidelog.benchmarks.report import VERDICTS, number
from tidelog.benchmarks.rows import Result, Spread, result_of
from tidelog.core.errors import TidelogError

WORKER_TIMEOUT_S = 600.0
SETTLE_S, IDLE_S = 6.0, 4.0
"""The peer's wait between a start and the measurement of idle nodes, and its duration."""
Measures = dict[str, float]
Measured = TypeVar("Measured")


class Cluster(Protocol):
    """The part of `OwnCluster` that a session uses."""

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes, comma-separated."""

    @property
    def kafka_bootstrap(self) -> str:
        """The same, where they speak Kafka's protocol."""

    @property
    def pids(self) -> list[int]:
        """The process ids of the brokers."""


@dataclass(slots=True)
class BenchSession:
    """The values measured so far, and the errors of groups that did not run."""

    effort: Effort
    groups: Sequence[Group]
    peer: Peer | None
    report: Callable[[str], None] = lambda _text: None
    """The function that prints progress."""
    ours: dict[str, list[float]] = field(default_factory=dict)
    kafka: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.began_s = self.clock()

    def results(self) -> list[Result]:
        """The results of all rows, measured or not."""
        return [result for group in self.groups for result in self.results_of(group)]

    def results_of(self, group: Group) -> list[Result]:
        """The results of the rows of a group."""
        errors = self.errors.get(group.name, [])
        return [result_of(row, self.ours, self.kafka, errors) for row in group.rows]

    def measure_starts(self) -> None:
        """Measure the groups that start clusters of their own."""
        for group in self.groups:
            if group.kind is Kind.START:
                self._alternate(group, measure_start)

    def measure_loads(self, cluster: Cluster, warming: Group) -> None:
        """Measure the other groups on a running cluster, after `warming`, which does not count."""
        self.report(warming.name)
        self._turn(warming, "ours", lambda: run_worker(cluster, warming.job))
        self._peer_turn(warming)
        for index in range(len(self.groups)):
            self._keep_pace(index)
            group = self.groups[index]
            if group.kind is Kind.LOAD:
                self._alternate(group, partial(self._load, cluster, group.job))
            elif group.kind is Kind.WIRE:
                self._alternate(group, partial(self._wire, cluster, group))
            elif group.kind is Kind.MEMORY:
                self._show(group)

    def no_peer(self, why: str) -> None:
        """Record that the peer did not start: skip its runs, with an error in every row of it."""
        self.peer = None
        for group in self.groups:
            if group.kind is not Kind.START and any(row.kafka for row in group.rows):
                self.errors.setdefault(group.name, []).append(f"peer: {why}")

    def no_cluster(self, why: str) -> None:
        """Record that our cluster did not start, with an error in every row that needs it."""
        for group in self.groups:
            if group.is_on_the_cluster:
                self.errors.setdefault(group.name, []).append(f"ours: {why}")
        self.report(f"the benchmark's cluster did not start: {why}")

    def _keep_pace(self, index: int) -> None:
        """Shorten the remaining groups if the session would exceed its limit.

        The minimum is a quarter: in a shorter run the peer's code would hardly be compiled.
        """
        limit_s, shortest = self.effort.limit_s, EFFORTS[self.effort.name].scale / 4
        left_s = sum(group.expected_s for group in self.groups[index:])
        if limit_s is None or self.clock() - self.began_s + left_s <= limit_s:
            return
        if self.effort.scale > shortest:
            self.effort = shorten(self.effort)
            names = {group.name for group in self.groups}
            every = [*groups(self.effort), *wire_groups(self.effort)]
            self.groups = [group for group in every if group.name in names]
            self.report("behind schedule: the remaining runs are shortened")

    def _load(self, cluster: Cluster, job: Job) -> Measures:
        measures = run_worker(cluster, job)
        return {**measures, "loaded.mb": nodes.rss_mb(cluster.pids)}

    def _wire(self, cluster: Cluster, group: Group) -> Measures:
        """Have the peer's program measure our brokers, by their listeners of Kafka's protocol."""
        if self.peer is None:
            raise RunFailedError("the clients are the peer's, and it did not start")
        pids = ",".join(map(str, cluster.pids))
        said = self.peer.run(
            *group.peer, "--bootstrap", cluster.kafka_bootstrap, "--broker-pids", pids
        )
        return {f"{OURS}{name}": values[-1] for name, values in said.items() if values}

    def _alternate(self, group: Group, measure: Callable[[], Measures]) -> None:
        for _ in range(self.effort.runs):
            self.report(group.name)
            for name, value in (self._turn(group, "ours", measure) or {}).items():
                self.ours.setdefault(name, []).append(value)
            for name, values in self._peer_turn(group).items():
                self.kafka.setdefault(name, []).extend(values)
        self._show(group)

    def _peer_turn(self, group: Group) -> dict[str, list[float]]:
        peer = self.peer
        if peer is None or not group.peer:
            return {}
        said = self._turn(group, "peer", lambda: peer.run(*group.peer)) or {}
        # A call may report figures of other groups, such as the write rate before a read.
        asked = [group, *(other for other in self.groups if other.kind is Kind.MEMORY)]
        wanted = {row.kafka for one in asked for row in one.rows}
        return {name: values for name, values in said.items() if name in wanted}

    def _turn(self, group: Group, whose: str, measure: Callable[[], Measured]) -> Measured | None:
        """Measure one side; None on failure, with the error in the group's rows."""
        try:
            return measure()
        except (RunFailedError, TidelogError, OSError) as error:
            self.errors.setdefault(group.name, []).append(f"{whose}: {error}")
            self.report(f"  {whose} failed: {error}")
            return None

    def _show(self, group: Group) -> None:
        for result in self.results_of(group):
            self.report(f"  {line_of(result)}")


def measure_start() -> Measures:
    """Measure the time to the first acknowledgement, empty and again, and what idle nodes use."""
    with OwnCluster() as cluster:
        fresh_s = cluster.start()
        time.sleep(SETTLE_S)
        before_s, began_s = nodes.cpu_s(cluster.pids), time.monotonic()
        time.sleep(IDLE_S)
        spent_s, passed_s = nodes.cpu_s(cluster.pids) - before_s, time.monotonic() - began_s
        idle_mb = nodes.rss_mb(cluster.pids)
        cluster.stop()
        again_s = cluster.start()
    return {
        "start.fresh": fresh_s,
        "start.again": again_s,
        "idle.mb": idle_mb,
        "idle.cpu": 100 * spent_s / passed_s,
    }


def run_worker(cluster: Cluster, job: Job) -> Measures:
    """Run a load in a process of its own; return its figures. Errors: `RunFailedError`."""
    argument = json.dumps({**job, "bootstrap": cluster.bootstrap, "pids": cluster.pids})
    command = [sys.executable, "-m", "tidelog.benchmarks.worker", argument]
    output = run_program(command, timeout_s=WORKER_TIMEOUT_S)
    try:
        figures: Measures = json.loads(output)
    except ValueError as error:
        raise RunFailedError(f"the load printed {output[:80]!r} instead of its figures") from error
    return figures


def line_of(result: Result) -> str:
    """A row as a line of progress."""
    said = result.as_json()
    parts = [f"{said['figure']}: {_number(result.ours)} {said['unit']}"]
    if result.kafka is not None:
        parts.append(f"Kafka {_number(result.kafka)}")
    if said["ratio"] is not None:
        parts.append(f"{said['ratio']:.2f}x")
    if said["aim"] is not None:
        parts.append(f"aim {said['aim']}: {VERDICTS[result.is_met] or 'not judged'}")
    return ", ".join([*parts, *result.errors])


def _number(spread: Spread | None) -> str:
    return "-" if spread is None else number(spread.value)
