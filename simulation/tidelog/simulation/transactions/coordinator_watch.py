"""Transactions at their coordinators, after each step (I23): only legal edges; and what is open.

The table of edges is this one's own: Kafka's (KIP-98, KIP-890), as observers see them, for whom the
fence of an epoch and the abort it decides are one step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.broker.coordinator.runtime import Hosted, Status
from tidelog.broker.transactions.transaction import State, Transaction
from tidelog.broker.transactions.transaction_coordinator import TransactionCoordinator
from tidelog.broker.transactions.transaction_shard import TransactionShard
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.node_inside import broker_of
from tidelog.simulation.cluster.cluster import Machine, SimCluster

IDLE = frozenset({State.Empty, State.CompleteCommit, State.CompleteAbort})
PREPARED = frozenset({State.PrepareCommit, State.PrepareAbort})
SEEN_AFTER: Mapping[State, frozenset[State]] = {
    **dict.fromkeys(IDLE, frozenset({State.Empty, State.Ongoing, State.PrepareAbort})),
    State.Ongoing: frozenset({State.Ongoing, *PREPARED}),
    State.PrepareCommit: frozenset({State.CompleteCommit}),
    State.PrepareAbort: frozenset({State.CompleteAbort}),
}


@dataclass
class _Watched:
    hosted: Hosted[TransactionShard]
    seen: dict[str, Transaction] = field(default_factory=dict)


class CoordinatorWatch:
    """Looks at a node after each of its steps."""

    def __init__(self, cluster: SimCluster, report: Report, count: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._report = report
        self._count = count
        self._watched: dict[tuple[int, int, int], _Watched] = {}
        self._timed_out: dict[tuple[int, int], int] = {}
        self._producer_ids: dict[str, int] = {}

    def after_step(self) -> None:
        """Look at the node that was stepped."""
        loop = asyncio._get_running_loop()  # noqa: SLF001
        for machine in self._cluster.machines.values():
            if machine.host is not None and machine.host.loop is loop:
                self._look(machine)

    def unfinished(self) -> Iterator[str]:
        """Yield transactions that are open, or prepared and lack markers, at any coordinator."""
        for machine in self._cluster.machines.values():
            for hosted in _active(machine):
                for name, one in hosted.shard.transactions.items():
                    if one.state not in IDLE:
                        yield f"{name} is {one.state.name} on {machine.name}"

    def _look(self, machine: Machine) -> None:
        coordinator = coordinator_of(machine)
        if coordinator is None:
            return
        life = machine.node_id, machine.starts
        for _ in range(self._timed_out.get(life, 0), coordinator.timed_out):
            self._count("aborted_by_timeout")
        self._timed_out[life] = coordinator.timed_out
        for hosted in _active(machine):
            key = *life, hosted.partition
            watched = self._watched.get(key)
            if watched is None or watched.hosted is not hosted:
                self._watched[key] = self._begin(hosted)
            else:
                self._compare(machine, watched)

    def _begin(self, hosted: Hosted[TransactionShard]) -> _Watched:
        transactions = hosted.shard.transactions
        for one in transactions.values():
            if one.state is State.Ongoing:
                self._count("moved_while_open")
            elif one.state in PREPARED:
                self._count("moved_while_prepared")
        return _Watched(hosted, dict(transactions))

    def _compare(self, machine: Machine, watched: _Watched) -> None:
        now, seen = watched.hosted.shard.transactions, watched.seen
        for name, one in now.items():
            before = seen.get(name)
            if one is before:
                continue
            seen[name] = one
            if before is not None:
                self._check(machine, before, one)
            if self._producer_ids.setdefault(name, one.producer.id) != one.producer.id:
                self._producer_ids[name] = one.producer.id
                self._count("new_producer_ids")

    def _check(self, machine: Machine, before: Transaction, now: Transaction) -> None:
        name = f"{now.transactional_id} on {machine.name}"
        if now.state not in SEEN_AFTER[before.state]:
            self._report("I23", f"{name}: {now.state.name} after {before.state.name}")
        is_same = now.producer.id == before.producer.id
        if is_same and now.producer.epoch < before.producer.epoch:
            self._report("I21", f"{name}: {now.producer} after {before.producer}")
        is_decided = now.state in PREPARED and before.state is not now.state
        if is_decided and is_same and now.producer.epoch <= before.producer.epoch:
            self._report("I21", f"{name}: decided in epoch {now.producer.epoch}, not raised")


def coordinator_of(machine: Machine) -> TransactionCoordinator | None:
    """The transaction coordinator of a running broker."""
    broker = None if machine.node is None else broker_of(machine.node)
    return None if broker is None else broker.transactions.coordinator


def _active(machine: Machine) -> Iterator[Hosted[TransactionShard]]:
    coordinator = coordinator_of(machine)
    if coordinator is not None:
        for hosted in coordinator.runtime._hosted.values():  # noqa: SLF001
            if hosted.status is Status.ACTIVE:
                yield hosted
