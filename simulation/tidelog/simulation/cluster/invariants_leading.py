"""Invariants of leaders, and of replicas that may lead next.

I3 and I4 (every eligible replica holds all that is committed), I5 (a leader waits for all the
controllers count on), I11 (who is counted for a high watermark holds it), I12 (enough are in sync
when it rises).
"""

from __future__ import annotations

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.leader import Leader
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.replicas import uncovered_isr
from tidelog.chaos.node_inside import followers_of, log_of
from tidelog.metadata.image import PartitionImage
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.invariants_book import Book
from tidelog.simulation.cluster.sound_replicas import SoundReplicas


class LeaderChecks:
    """Checks of every leader and candidate."""

    def __init__(self, *, book: Book, sound: SoundReplicas, report: Report) -> None:
        self._book = book
        self._sound = sound
        self._report = report

    def check_candidates(self, topic_id: bytes, state: PartitionImage) -> None:
        """I3, I4: every running member of ISR and ELR holds all that is committed."""
        page = self._book.known(topic_id, state.partition)
        if page is None:
            return
        for member in (*state.isr, *state.elr):
            hosted = self._sound.sound_replica(member, topic_id, state.partition)
            log = None if hosted is None else log_of(hosted)
            if log is not None and log.log_end_offset < page.end:
                self._report(
                    "I3",
                    f"{page.name} is committed up to {page.end}, node {member} of ISR"
                    f" {state.isr}, ELR {state.elr} ends at {log.log_end_offset}",
                )

    def check_isr(self, hosted: Partition, leader: Leader, name: str) -> None:
        """I5, unless this leader knows of a newer ISR, or another one leads."""
        state = self._sound.newest_state(hosted)
        if state is None or state.leader_epoch != leader.leader_epoch:
            return
        is_known = state.partition_epoch >= leader.isr.partition_epoch
        for broken in uncovered_isr(name, isr=state.isr, maximal=leader.isr.maximal):
            if is_known:
                self._report(*broken)

    def check_rise(
        self,
        machine: Machine,
        hosted: Partition,
        leader: Leader,
        name: str,
        *,
        is_exact: bool,
    ) -> None:
        """I11, I12: its high watermark rose."""
        log = log_of(hosted)
        if log is None:
            return
        told = f"{name}: high watermark {log.high_watermark}"
        if is_exact and not is_enough(hosted, leader):
            self._report("I12", f"{told} with {leader.isr}")
        for member in leader.isr.maximal:
            if member != machine.node_id:
                self._check_member(hosted, leader, member, log.high_watermark, told)

    def _check_member(
        self, hosted: Partition, leader: Leader, member: int, high_watermark: int, told: str
    ) -> None:
        """In the very process that the leader heard of: another one has to catch up.

        Not one that a newer epoch left out of ISR and ELR: what it cut since is no loss.
        """
        known = followers_of(leader).get(member)
        state = self._sound.newest_state(hosted)
        has_left = (
            state is not None
            and state.leader_epoch > leader.leader_epoch
            and member not in (*state.isr, *state.elr)
        )
        if known is None or has_left:
            return
        other = self._sound.sound_replica(
            member, hosted.topic_id, hosted.partition, broker_epoch=known.broker_epoch
        )
        log = None if other is None else log_of(other)
        if log is not None and log.log_end_offset < high_watermark:
            end = log.log_end_offset
            self._report("I11", f"{told}, node {member} of {leader.isr} ends at {end}")


def is_enough(hosted: Partition, leader: Leader) -> bool:
    """True if the ISR has min.insync.replicas, whatever becomes of a proposal."""
    log = log_of(hosted)
    least = 1 if log is None else log.config.min_insync_replicas
    proposed = leader.isr.committed if leader.isr.proposed is None else leader.isr.proposed
    in_sync = min(len(leader.isr.committed), len(proposed))
    return in_sync >= min(least, len(followers_of(leader)) + 1)
