"""Checks of what brokers tell clients of leaders: by Metadata, and by hints in errors.

one leader      an epoch of a partition has one leader, in all that is told
no way back     on one connection the epochs that Metadata tells of a partition do not fall
stale id        what names a topic by an id that is gone is refused
bad answer      answers are frames, each in its turn
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.chaos.invariants.invariant import Report
from tidelog.kafka.messages.metadata_response import MetadataResponse
from tidelog.simulation.wire.cluster_map import NOBODY, ClusterMap, Leader

ONE_LEADER, NO_WAY_BACK = "one-leader", "metadata-epoch"
STALE_ID, BAD_ANSWER = "stale-id", "bad-answer"
Place = tuple[str, bytes, int]
"""Topic, its id, partition."""


class ClaimChecks:
    """Calls `report` for each violation, `count` for what a run is to meet."""

    def __init__(self, report: Report, count: Callable[[str], None]) -> None:
        self.count = count
        self.report = report
        self._leaders: dict[tuple[Place, int], int] = {}
        self._ids: dict[str, list[bytes]] = {}
        """Ids of each topic, in the order in which they were told."""

    def on_bad_answer(self, what: str) -> None:
        """A connection's bytes are no answers to its requests."""
        self.report(BAD_ANSWER, what)

    def gone_id(self, topic: str, present: bytes) -> bytes | None:
        """Id of an earlier incarnation of a topic, of which the present one is known."""
        return next((one for one in self._ids.get(topic, ()) if one != present), None)

    def on_gone_id(self, what: str, code: int) -> None:
        """A request by an id that is gone was answered; no error is a violation."""
        self.count("gone_ids_asked")
        if code == 0:
            self.report(STALE_ID, f"{what} by an id that is gone was taken")

    def on_metadata(self, seen: dict[Place, int], answer: MetadataResponse, where: str) -> None:
        """A connection was told this; `seen` are its newest epochs."""
        for topic in answer.topics:
            if topic.error_code or topic.name is None:
                continue
            ids = self._ids.setdefault(topic.name, [])
            if any(topic.topic_id) and topic.topic_id not in ids:
                ids.append(topic.topic_id)
            for one in topic.partitions:
                place = topic.name, topic.topic_id, one.partition_index
                before = seen.get(place, -1)
                if one.leader_epoch < before:
                    what = f"{topic.name}-{one.partition_index} is at epoch {one.leader_epoch}"
                    self.report(NO_WAY_BACK, f"{where} says {what} after {before}")
                seen[place] = one.leader_epoch
                self._on_leader(place, Leader(one.leader_id, one.leader_epoch), where)

    def on_hint(
        self, known: ClusterMap, topic: str, partition: int, leader: Leader, where: str
    ) -> None:
        """An answer's error names a leader."""
        self.count("hints_told")
        self._on_leader((topic, known.topic_id(topic), partition), leader, where)

    def _on_leader(self, place: Place, leader: Leader, where: str) -> None:
        if leader.node_id == NOBODY or leader.epoch < 0:
            return
        first = self._leaders.setdefault((place, leader.epoch), leader.node_id)
        if first != leader.node_id:
            what = f"{place[0]}-{place[2]} at epoch {leader.epoch}"
            self.report(ONE_LEADER, f"{where} says {leader.node_id} leads {what}, it was {first}")
