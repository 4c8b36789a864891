"""Turns what was seen of a run into the points its report draws. Pure.

Owns which of the samples are kept: a replica's point when it changed, and every second; the
partition's when its metadata changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tidelog.chaos.report.record import (
    LoadPoint,
    Note,
    PartitionPoint,
    ReplicaPoint,
    RunRecord,
)
from tidelog.chaos.story.samples import NodeSample
from tidelog.history.checks.availability import quantile
from tidelog.history.history import ACKS_ALL, Send
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage

KEPT_EVERY_S = 1.0
INTERVAL_S = 0.25
"""Interval of the load's points; longer for long runs, so that there are `POINTS_MAX` at most."""
POINTS_MAX = 2400


P = TypeVar("P", ReplicaPoint, PartitionPoint, LoadPoint, Note)


@dataclass(slots=True)
class Recorder:
    """Recorder of one partition. Times are the samples' own."""

    topic: str
    partition: int
    broker_ids: tuple[int, ...]
    replicas: list[ReplicaPoint] = field(default_factory=list)
    partitions: list[PartitionPoint] = field(default_factory=list)
    _last: dict[int, ReplicaPoint] = field(default_factory=dict)
    _image: MetadataImage = EMPTY_IMAGE

    def look(self, samples: Mapping[int, NodeSample | None], now_s: float) -> None:
        """Record a round of samples."""
        for node_id in self.broker_ids:
            self._note_replica(self._point(node_id, samples.get(node_id), now_s))
        self._note_partition([one for one in samples.values() if one is not None], now_s)

    def _point(self, node_id: int, sample: NodeSample | None, now_s: float) -> ReplicaPoint:
        replica = None if sample is None else sample.replica(self.topic, self.partition)
        if sample is None or replica is None:
            return ReplicaPoint(now_s, node_id, sample is not None, "none", -1, -1, -1)
        return ReplicaPoint(
            at_s=sample.at_s,
            node_id=node_id,
            is_up=True,
            role=replica.role,
            leader_epoch=replica.leader_epoch,
            high_watermark=replica.high_watermark,
            log_end_offset=replica.log_end_offset,
        )

    def _note_replica(self, point: ReplicaPoint) -> None:
        last = self._last.get(point.node_id)
        is_recent = last is not None and point.at_s - last.at_s < KEPT_EVERY_S
        if last is not None and is_recent and replace(point, at_s=last.at_s) == last:
            return
        self._last[point.node_id] = point
        self.replicas.append(point)

    def _note_partition(self, samples: list[NodeSample], now_s: float) -> None:
        self._image = max((one.image for one in samples), key=_offset, default=self._image)
        state = self._image.partition(self.topic, self.partition)
        if state is None:
            return
        active = [(one.term, one.node_id) for one in samples if one.is_active_controller]
        term, controller_id = max(active, default=(-1, None))
        point = PartitionPoint(
            at_s=now_s,
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            isr=tuple(sorted(state.isr)),
            elr=tuple(sorted(state.elr)),
            controller_id=controller_id,
            term=term,
        )
        if (
            not self.partitions
            or replace(point, at_s=self.partitions[-1].at_s) != (self.partitions[-1])
        ):
            self.partitions.append(point)


def _offset(image: MetadataImage) -> int:
    return image.offset


def load_points(
    sends: Iterable[Send], *, began_s: float, ended_s: float
) -> tuple[float, list[LoadPoint]]:
    """Outcomes of sends in each interval, and the interval's length. Only acks=all."""
    interval_s = max(INTERVAL_S, (ended_s - began_s) / POINTS_MAX)
    by_interval: defaultdict[int, list[Send]] = defaultdict(list)
    for send in sends:
        if send.acks == ACKS_ALL and send.ended_s is not None:
            by_interval[int((send.ended_s - began_s) // interval_s)].append(send)
    count = int((ended_s - began_s) // interval_s) + 1
    return interval_s, [_load_point(n, interval_s, began_s, by_interval[n]) for n in range(count)]


def _load_point(number: int, interval_s: float, began_s: float, sends: list[Send]) -> LoadPoint:
    latencies_ms = [
        (send.ended_s - send.invoked_s) * 1000
        for send in sends
        if send.outcome == "ok" and send.ended_s is not None
    ]
    return LoadPoint(
        at_s=began_s + number * interval_s,
        acknowledged=len(latencies_ms),
        failed=sum(send.outcome == "fail" for send in sends),
        unknown=sum(send.outcome == "unknown" for send in sends),
        p99_ms=quantile(latencies_ms, 0.99),
    )


def since(record: RunRecord, began_s: float) -> RunRecord:
    """The record with all its times counted from this moment, rounded to milliseconds."""

    def shift(at_s: float) -> float:
        return round(at_s - began_s, 3)

    def at(points: list[P]) -> list[P]:
        return [replace(one, at_s=shift(one.at_s)) for one in points]

    bands = [
        replace(
            band,
            began_s=shift(band.began_s),
            ended_s=None if band.ended_s is None else shift(band.ended_s),
        )
        for band in record.bands
    ]
    return replace(
        record,
        bands=bands,
        replicas=at(record.replicas),
        partitions=at(record.partitions),
        load=at(record.load),
        anomalies=[
            one if one.at_s is None else replace(one, at_s=shift(one.at_s))
            for one in record.anomalies
        ],
        notes=at(record.notes),
    )
