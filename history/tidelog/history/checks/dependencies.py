"""Dependencies between committed transactions (Adya's ww and wr), from lists appended to. Pure.

A log does not isolate writes: transactions that are open together interleave in several partitions
as they like, so that cycles of ww alone (G0), and some of ww and wr, are allowed. What is not is a
cycle that no interleaving explains. So the graph has a node for each append, each poll and each
commit, not one for a transaction, and an edge only where one surely came before the other:

    append -> the next append of another transaction in its partition      (ww)
    commit -> a committed reader's poll that shows one of its records      (wr)
    append, poll -> the commit of their transaction
    append, poll -> what its transaction began after that had ended

A cycle then is G1c: something came before itself. Elle and Jepsen draw ww from the order of offsets
likewise, and allow all G1c that need them; here only those are allowed that can be explained.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.cycles import cycle_in, strong_components
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.transaction_evidence import TransactionEvidence
from tidelog.history.history import Poll, Send


def dependency_cycles(evidence: Evidence) -> Iterator[Complaint]:
    """No committed transaction depends on itself."""
    graph = _Graph(evidence)
    for component in strong_components(graph.edges):
        numbers = dict.fromkeys(graph.owners[node] for node in cycle_in(component, graph.edges))
        calls = tuple(evidence.transactions.by_number[number].call for number in numbers)
        names = ", ".join(f"{one.transactional_id}/{one.number}" for one in calls)
        what = f"each came before the next, and the last before the first: {names}"
        yield Complaint("G1c", what, calls)


def count_write_cycles(evidence: Evidence) -> int:
    """Count sets of transactions whose writes follow each other in a circle: no complaint."""
    edges: list[list[int]] = []
    nodes: dict[int, int] = {}
    for before, after in _write_orders(evidence):
        for send in (before, after):
            if nodes.setdefault(send.transaction or 0, len(edges)) == len(edges):
                edges.append([])
        edges[nodes[before.transaction or 0]].append(nodes[after.transaction or 0])
    return len(strong_components(edges))


def _write_orders(evidence: Evidence) -> Iterator[tuple[Send, Send]]:
    """Pairs of appends of two committed transactions that follow each other in a partition."""
    for partition in evidence.partitions.values():
        if partition.has_transactions and not partition.is_lossy:
            placed = [send for send in partition.placed if evidence.is_committed(send)]
            for before, after in pairwise(placed):
                if before.transaction != after.transaction:
                    yield before, after


class _Graph:
    def __init__(self, evidence: Evidence) -> None:
        self.edges: list[list[int]] = []
        """By node, those that came after it."""
        self.owners: list[int] = []
        """By node, its transaction."""
        self._commits: dict[int, int] = {}
        self._sends: dict[bytes, int] = {}
        committed = [one for one in evidence.transactions.by_number.values() if one.outcome == "ok"]
        for one in committed:
            self._commits[one.call.number] = self._new(one.call.number)
        for one in committed:
            self._add(evidence, one)
        for before, after in _write_orders(evidence):
            self._link(self._sends[before.value], self._sends[after.value])

    def _add(self, evidence: Evidence, one: TransactionEvidence) -> None:
        number = one.call.number
        moments: list[tuple[float, int, int]] = []
        for call in chain[Send | Poll](one.sends, one.polls):
            node = self._new(number)
            self._link(node, self._commits[number])
            moments.append((call.invoked_s, 0, node))
            if call.ended_s is not None:
                moments.append((call.ended_s, 1, node))
            if isinstance(call, Send):
                self._sends[call.value] = node
            elif call.is_committed:
                self._add_reading(evidence, call, node)
        self._add_order(number, sorted(moments))

    def _add_reading(self, evidence: Evidence, poll: Poll, node: int) -> None:
        partition = evidence.partitions[poll.topic, poll.incarnation, poll.partition]
        sends = (partition.writers.get(value) for _, value in poll.records)
        numbers = {send.transaction for send in sends if send is not None}
        for number in sorted(n for n in numbers if n is not None):
            if number in self._commits:
                self._link(self._commits[number], node)

    def _add_order(self, number: int, moments: list[tuple[float, int, int]]) -> None:
        """Link calls that had ended to those begun later, by way of one node for each end."""
        last: int | None = None
        for _, is_end, node in moments:
            if not is_end:
                if last is not None:
                    self._link(last, node)
                continue
            ended = self._new(number)
            self._link(node, ended)
            if last is not None:
                self._link(last, ended)
            last = ended

    def _new(self, number: int) -> int:
        self.edges.append([])
        self.owners.append(number)
        return len(self.owners) - 1

    def _link(self, before: int, after: int) -> None:
        self.edges[before].append(after)
