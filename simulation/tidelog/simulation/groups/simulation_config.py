"""Simulation of one seed of groups: cluster, topics, members, times, all drawn.

Most seeds have short sessions, so that whatever the product waits for happens in twenty seconds;
every tenth has Kafka's defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.log.cleaner import CleanerConfig
from tidelog.raft.config import RaftConfig
from tidelog.simulation.cluster.simulation_config import (
    REPLICATION_FACTOR,
    ClusterSimulationConfig,
    at_worst,
    draw_any_size,
    offsets_min_insync,
)

GROUP, TOOL_GROUP, CLASSIC_GROUP = "harbour", "tools", "quay"
"""The group of the members; one that a tool commits for, without members; one of the classic
protocol."""
CLASSIC_PROBABILITY = 0.35
"""Share of the seeds that have a group of the classic protocol, too."""
FIRST, SECOND, RENEWED = "tides", "charts", "weather"
"""Topics; the last one is deleted and made again."""
UNUSUAL_SIZE_PROBABILITY = WORST_PROBABILITY = 0.2
"""Shares of the seeds with a cluster of any size, and with configurations at their worst."""
PARTITIONS_MAX = 5
"""Partitions of a topic, however often it has grown."""
NODE_IDS = (1, 2, 3)
DEFAULT_TIMES_EVERY = 10
"""Share of the seeds: one of so many has the product's default times."""
STYLES = ("polls", "polls", "iterates", "batches", "commits", "commits_soon")
ASSIGNORS = ("uniform", "uniform", "uniform", "range", "roundrobin")
STATIC_PROBABILITY = 0.3
SNAPSHOT_BYTES = 65_536
OFFSETS_SEGMENT_BYTES = 30_000
"""A few seconds of a storm: the internal topic is compacted while it is used."""


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """A member of the group: a place that one process after another takes."""

    name: str
    style: str
    """The application's way: polls, iterates, batches (auto commit); commits, commits_soon."""
    instance_id: str | None
    auto_commit_interval_ms: int
    max_poll_interval_ms: int
    request_timeout_ms: int
    api_timeout_ms: int
    max_poll_records: int
    work_s_max: float
    """Longest work on what one call returned."""

    @property
    def has_auto_commit(self) -> bool:
        """True if the client commits by itself."""
        return not self.style.startswith("commits")


@dataclass(frozen=True, slots=True)
class ClassicTimes:
    """Times and number of the members of the classic group."""

    members: int
    session_timeout_ms: int
    rebalance_timeout_ms: int


@dataclass(frozen=True, slots=True)
class GroupsConfig:
    """Configuration of a seed."""

    cluster: ClusterSimulationConfig
    members: tuple[MemberPlan, ...]
    members_at_start: int
    assignor: str
    topics: tuple[TopicPlan, ...]
    """Topics that members subscribe to."""
    produce_pause_s_max: float
    are_times_default: bool
    classic: ClassicTimes | None
    """None: the seed has no group of the classic protocol."""

    @property
    def groups(self) -> GroupConfig:
        """Settings of coordinators."""
        return self.cluster.groups

    @property
    def session_s(self) -> float:
        """Session of members."""
        return self.groups.group_consumer_session_timeout_ms / 1000

    @property
    def heartbeat_s(self) -> float:
        """Interval of members' heartbeats."""
        return self.groups.group_consumer_heartbeat_interval_ms / 1000

    @property
    def max_poll_s(self) -> float:
        """Longest max_poll_interval_ms, and rebalance timeout, of a member."""
        return max(one.max_poll_interval_ms for one in self.members) / 1000


def draw_config(seed: int, random: SeededRandom, *, is_storm: bool = False) -> GroupsConfig:
    """Draw everything that a seed decides before it begins.

    `is_storm`: some clusters have any size, and some have configurations at their worst.
    """
    are_times_default = seed % DEFAULT_TIMES_EVERY == DEFAULT_TIMES_EVERY - 1
    topics = _draw_topics(random)
    offsets = _plan(random, OFFSETS_TOPIC, partitions=1)
    groups = _default_groups(random) if are_times_default else _short_groups(random)
    session_timeout_ms = random.randrange(800, 2500)
    if are_times_default:
        session_timeout_ms = 9_000
    config = GroupsConfig(
        cluster=ClusterSimulationConfig(
            controller_ids=NODE_IDS,
            broker_ids=NODE_IDS,
            topics=(*topics, offsets),
            producers=(),
            replica=_draw_replica(random, is_slow=are_times_default),
            raft=_draw_raft(random, is_slow=are_times_default),
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=session_timeout_ms // random.randrange(3, 6),
            sync_latency_s_max=random.uniform(0.0005, 0.005),
            storm_s=100.0 if are_times_default else random.uniform(12, 22),
            groups=groups,
        ),
        members=_draw_members(random, are_times_default=are_times_default),
        members_at_start=random.randrange(2, 4),
        assignor=one_of(random, ASSIGNORS),
        topics=topics,
        produce_pause_s_max=2.0 if are_times_default else random.uniform(0.2, 0.6),
        are_times_default=are_times_default,
        classic=_draw_classic(random.fork("classic"), are_times_default=are_times_default),
    )
    return _in_any_cluster(random, config) if is_storm else config


def _in_any_cluster(random: SeededRandom, config: GroupsConfig) -> GroupsConfig:
    """The config, of some seeds with one to five brokers, of some with the worst defaults."""
    cluster, sizes, worst = config.cluster, random.fork("sizes"), random.fork("worst")
    if sizes.random() < UNUSUAL_SIZE_PROBABILITY:
        controller_ids, broker_ids = draw_any_size(sizes)
        factor = min(REPLICATION_FACTOR, len(broker_ids))
        *topics, offsets = cluster.topics
        cluster = replace(
            cluster,
            controller_ids=controller_ids,
            broker_ids=broker_ids,
            groups=replace(cluster.groups, offsets_topic_replication_factor=factor),
            topics=(*topics, replace(offsets, min_insync_replicas=offsets_min_insync(factor))),
        )
    if worst.random() >= WORST_PROBABILITY:
        return replace(config, cluster=cluster)
    cluster = at_worst(worst, cluster)
    names = {one.name for one in config.topics}
    stating = tuple(one for one in cluster.topics if one.name in names)
    return replace(config, cluster=cluster, topics=stating)


def _draw_classic(random: SeededRandom, *, are_times_default: bool) -> ClassicTimes | None:
    if random.random() >= CLASSIC_PROBABILITY or are_times_default:
        return None
    return ClassicTimes(
        members=random.randrange(2, 4),
        session_timeout_ms=random.randrange(1_500, 4_000),
        rebalance_timeout_ms=random.randrange(2_000, 6_000),
    )


def _draw_topics(random: SeededRandom) -> tuple[TopicPlan, ...]:
    topics = [_plan(random, FIRST, partitions=random.randrange(1, 5))]
    if random.random() < 0.5:
        topics.append(_plan(random, SECOND, partitions=random.randrange(1, 3)))
    if random.random() < 0.5:
        topics.append(_plan(random, RENEWED, partitions=random.randrange(1, 3)))
    return tuple(topics)


def _plan(random: SeededRandom, name: str, *, partitions: int) -> TopicPlan:
    return TopicPlan(
        name=name,
        partitions=partitions,
        min_insync_replicas=2,
        is_flushed=False,
        is_lossy=False,
        segment_bytes=random.randrange(4_000, 40_000),
        index_interval_bytes=1_000,
    )


def _short_groups(random: SeededRandom) -> GroupConfig:
    session_timeout_ms = random.randrange(2_000, 5_000)
    return GroupConfig(
        offsets_topic_num_partitions=random.randrange(1, 3),
        offsets_topic_segment_bytes=OFFSETS_SEGMENT_BYTES,
        offsets_retention_minutes=1,
        offsets_retention_check_interval_ms=random.randrange(500, 2_000),
        offsets_commit_timeout_ms=random.randrange(500, 4_000),
        group_consumer_session_timeout_ms=session_timeout_ms,
        group_consumer_heartbeat_interval_ms=session_timeout_ms // random.randrange(3, 8),
        group_consumer_disconnect_grace_ms=random.randrange(200, 1_000),
        group_min_session_timeout_ms=1_000,
        group_initial_rebalance_delay_ms=300,
    )


def _default_groups(random: SeededRandom) -> GroupConfig:
    return GroupConfig(
        offsets_topic_num_partitions=random.randrange(1, 3),
        offsets_retention_minutes=1,
        offsets_retention_check_interval_ms=10_000,
    )


def _draw_members(random: SeededRandom, *, are_times_default: bool) -> tuple[MemberPlan, ...]:
    def plan(number: int) -> MemberPlan:
        request_timeout_ms = random.randrange(1_000, 4_000)
        max_poll_interval_ms = random.randrange(2_500, 7_000)
        is_static = random.random() < STATIC_PROBABILITY
        return MemberPlan(
            name=f"member-{number}",
            style=one_of(random, STYLES),
            instance_id=f"berth-{number}" if is_static else None,
            auto_commit_interval_ms=random.randrange(100, 1_500),
            max_poll_interval_ms=60_000 if are_times_default else max_poll_interval_ms,
            request_timeout_ms=10_000 if are_times_default else request_timeout_ms,
            api_timeout_ms=30_000 if are_times_default else random.randrange(4_000, 10_000),
            max_poll_records=random.randrange(1, 8),
            work_s_max=random.uniform(0.02, 0.4),
        )

    return tuple(plan(number) for number in range(1, random.randrange(5, 7)))


def _draw_replica(random: SeededRandom, *, is_slow: bool) -> ReplicaConfig:
    config = ReplicaConfig(
        replica_lag_time_max_ms=random.randrange(800, 3000),
        replica_fetch_wait_max_ms=random.randrange(300, 500),
        replica_fetch_timeout_ms=random.randrange(500, 2500),
        log_deleted_check_interval_ms=2000,
        log_scrub_bytes_per_second=0,
        cleaner=CleanerConfig(backoff_ms=random.randrange(1_000, 4_000)),
    )
    if not is_slow:
        return config
    return replace(config, replica_lag_time_max_ms=30_000, replica_fetch_wait_max_ms=2_000)


def _draw_raft(random: SeededRandom, *, is_slow: bool) -> RaftConfig:
    config = RaftConfig(
        heartbeat_interval_ms=random.randrange(80, 200),
        # Small, as each seed has disks of its own.
        snapshot_interval_bytes=SNAPSHOT_BYTES,
        wal_reserve_bytes=2 * SNAPSHOT_BYTES + 32_768,
        snapshot_chunk_bytes=20_000,
        retained_entries=100,
    )
    if not is_slow:
        return config
    return replace(
        config,
        election_timeout_min_ms=4_000,
        election_timeout_max_ms=8_000,
        heartbeat_interval_ms=1_000,
    )
