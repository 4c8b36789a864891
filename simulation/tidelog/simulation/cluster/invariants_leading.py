"""Invariants of leaders, and of replicas that may lead next.

I3 and I4 (every eligible replica holds all that is committed), I5 (a leader waits for all the
controllers count on), I11 (who is counted for a high watermark holds it), I12 (enough are in sync
when it rises).
"""

from __future__ import annotations

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.isr import IsrState
from tidelog.broker.replica.leader import Leader
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.replicas import (
    Broken,
    Offsets,
    incomplete_candidate,
    rise_without_enough,
    uncovered_isr,
    watermark_beyond_counted_end,
)
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
            if log is None:
                continue
            by = f"ISR {state.isr} or ELR {state.elr}"
            name, end = f"{page.name} on node {member}", log.log_end_offset
            self._report_all(incomplete_candidate(name, end=end, committed=page.end, by=by))

    def check_isr(self, hosted: Partition, leader: Leader, name: str) -> None:
        """I5, unless this leader knows of a newer ISR, or another one leads."""
        state = self._sound.newest_state(hosted)
        if state is None or state.leader_epoch != leader.leader_epoch:
            return
        is_known = state.partition_epoch >= leader.isr.partition_epoch
        if is_known:
            self._report_all(uncovered_isr(name, isr=state.isr, maximal=leader.isr.maximal))

    def check_rise(
        self,
        machine: Machine,
        hosted: Partition,
        leader: Leader,
        name: str,
        before: Offsets,
        *,
        is_exact: bool,
    ) -> None:
        """I11, I12: its high watermark rose since `before`."""
        log = log_of(hosted)
        if log is None:
            return
        now = Offsets(log.log_end_offset, log.high_watermark)
        if is_exact:
            least = min(log.config.min_insync_replicas, len(followers_of(leader)) + 1)
            in_sync = fewest_in_sync(leader.isr)
            self._report_all(rise_without_enough(name, before, now, in_sync=in_sync, least=least))
        for member in leader.isr.maximal:
            if member != machine.node_id:
                self._check_member(hosted, leader, member, now.high_watermark, name)

    def _check_member(
        self, hosted: Partition, leader: Leader, member: int, high_watermark: int, name: str
    ) -> None:
        """In the very process that the leader heard of: another one has to catch up.

        Not one that a newer epoch left out of ISR and ELR, or that follows an unclean leader since:
        what it cut since is no loss.
        """
        known = followers_of(leader).get(member)
        state = self._sound.newest_state(hosted)
        has_left = (
            state is not None
            and state.leader_epoch > leader.leader_epoch
            and (
                member not in (*state.isr, *state.elr)
                or self._book.known(hosted.topic_id, hosted.partition) is None
            )
        )
        if known is None or has_left:
            return
        other = self._sound.sound_replica(
            member, hosted.topic_id, hosted.partition, broker_epoch=known.broker_epoch
        )
        log = None if other is None else log_of(other)
        if log is not None:
            end, member_name = log.log_end_offset, f"node {member} of {leader.isr}"
            self._report_all(
                watermark_beyond_counted_end(
                    member_name, end=end, high_watermark=high_watermark, by=name
                )
            )

    def _report_all(self, broken: Broken) -> None:
        for one in broken:
            self._report(*one)


def fewest_in_sync(isr: IsrState) -> int:
    """Size of the ISR, whatever becomes of a proposal."""
    proposed = isr.committed if isr.proposed is None else isr.proposed
    return min(len(isr.committed), len(proposed))
