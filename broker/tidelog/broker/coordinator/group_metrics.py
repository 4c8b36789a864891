"""Metrics of groups, with labels: members, state, rebalances; committed offsets and lag.

Names follow kafka_exporter's, `consumergroup`, `topic` and `partition` being its labels. At most
`SERIES_MAX` series: groups come first, then partitions; the others are counted. Members, states and
rebalances are those of now, offsets and lag those of the last round of `GroupLag`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from tidelog.broker.coordinator.consumer_group import FIRST_EPOCH
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.group_lag import GroupLag
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.group_states import CLASSIC, EMPTY
from tidelog.broker.coordinator.lag_plan import LagRow
from tidelog.broker.coordinator.runtime import CoordinatorRuntime
from tidelog.core.metric_family import MetricFamily, Sample

SERIES_MAX = 10_000
"""Series of all metrics of groups together."""
GROUPS_SHOWN_MAX = 1_000
"""Groups with series of their own."""
SERIES_PER_GROUP = 3
SERIES_PER_PARTITION = 2
_GROUP = ("consumergroup",)
_PARTITION = ("consumergroup", "topic", "partition")


class _Shown(NamedTuple):
    """A group that has series."""

    shard: GroupShard
    group_id: str


class GroupMetrics:
    """Metrics of the groups of one broker."""

    def __init__(self, runtime: CoordinatorRuntime[GroupShard], lag: GroupLag) -> None:
        self._runtime = runtime
        self._lag = lag

    def stats(self) -> Mapping[str, float]:
        """Metrics without labels, about these metrics."""
        return {
            "group_series_left_out": self._left_out(),
            "group_lag_unknown_partitions": self._lag.unknown,
            "group_lag_refresh_seconds": self._lag.round_ms / 1000,
        }

    def families(self) -> list[MetricFamily]:
        """Metrics with labels; their values are made when they are read."""
        groups = list(self._groups())
        rows = self._rows(len(groups))
        return [
            MetricFamily("consumergroup_members", "members of the group", _GROUP, _members(groups)),
            MetricFamily(
                "consumergroup_state",
                "1 for the protocol and the state that the group is in",
                (*_GROUP, "type", "state"),
                _states(groups),
            ),
            MetricFamily(
                "consumergroup_rebalances",
                "rebalances since the group was created",
                _GROUP,
                _rebalances(groups),
            ),
            MetricFamily(
                "consumergroup_current_offset",
                "committed offset of the group",
                _PARTITION,
                (Sample(_labels(row), row.committed) for row in rows),
            ),
            MetricFamily(
                "consumergroup_lag",
                "records between the committed offset and the high watermark; absent: not known",
                _PARTITION,
                (Sample(_labels(row), row.lag) for row in rows if row.lag is not None),
            ),
        ]

    def _groups(self) -> Iterator[_Shown]:
        shards = (hosted.shard for hosted in self._runtime.active())
        return islice(
            (_Shown(shard, name) for shard in shards for name in _names(shard)), GROUPS_SHOWN_MAX
        )

    def _rows(self, groups: int) -> Sequence[LagRow]:
        room = SERIES_MAX - SERIES_PER_GROUP * groups
        return self._lag.rows()[: room // SERIES_PER_PARTITION]

    def _left_out(self) -> int:
        groups = sum(_count(hosted.shard) for hosted in self._runtime.active())
        shown = min(groups, GROUPS_SHOWN_MAX)
        rows = len(self._lag.rows())
        partitions = rows - len(self._rows(shown)) + self._lag.left_out
        return SERIES_PER_GROUP * (groups - shown) + SERIES_PER_PARTITION * partitions


def _names(shard: GroupShard) -> Iterator[str]:
    """Iterate over groups with members, or that had some, then over those with offsets alone."""
    return chain(
        list(shard.groups),
        (one for one in list(shard.classic.by_id) if one not in shard.groups),
        (one for one in shard.offsets.names if shard.group(one) is None),
    )


def _count(shard: GroupShard) -> int:
    return shard.group_count + sum(shard.group(one) is None for one in shard.offsets.names)


def _labels(row: LagRow) -> tuple[str, ...]:
    return row.group_id, row.topic, str(row.partition)


def _members(groups: Sequence[_Shown]) -> Iterator[Sample]:
    for shard, group_id in groups:
        live = shard.group(group_id)
        yield Sample((group_id,), 0 if live is None else live.member_count)


def _states(groups: Sequence[_Shown]) -> Iterator[Sample]:
    for shard, group_id in groups:
        live = shard.group(group_id)
        protocol, state = (CLASSIC, EMPTY) if live is None else (live.protocol, live.state_name)
        yield Sample((group_id, protocol, state), 1)


def _rebalances(groups: Sequence[_Shown]) -> Iterator[Sample]:
    for shard, group_id in groups:
        live = shard.group(group_id)
        before = FIRST_EPOCH if isinstance(live, LiveGroup) else 0
        yield Sample((group_id,), 0 if live is None else live.epoch - before)
