"""Simulation of one seed: nodes, topics, clients, sizes and rates, all drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.chaos.workloads.plans import (
    CHURNED,
    COMPACTED,
    EXPIRING,
    LOSSY,
    SECOND,
    STEADY,
    WIDE,
    GroupPlan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
)
from tidelog.core.chance import SeededRandom, one_of, shuffled
from tidelog.core.config_types import DAY_MS
from tidelog.history.history import Keeping
from tidelog.log.cleaner import CleanerConfig
from tidelog.node.config import NodeConfig
from tidelog.raft.config import RaftConfig
from tidelog.records.compression import Codec
from tidelog.simulation.cluster.worst_configs import (
    WORST_PROBABILITY,
    draw_defaults,
    stated,
    with_worst_keys,
)

SEPARATE_PROBABILITY = 0.2
"""Probability of controllers that hold no partitions."""
REPLICATION_FACTOR = 3
UNUSUAL_SIZE_PROBABILITY = 0.3
"""Probability of any size; other clusters have three controllers and three to five brokers."""
BREADTHS = ((0.0003, (2_000, 9_500)), (0.003, (300, 2_000)), (0.04, (40, 300)))
"""Shares of the storms that have a topic of many partitions, this one or a smaller share; how many.

A storm takes four seconds more for each hundred partitions. A cluster has 10,000 at most.
"""
BROAD_RACKS_PROBABILITY = 0.6
BATCH_BYTES, BATCH_BYTES_OF_PARTITION = 5_000, 150
"""Room of a batch of metadata: a topic's configs, and what is said of each partition."""
OPENED_S = 3.0
"""About how long the replicas of such a topic take to open, unless a fault slows the disks down."""
RACKS_PROBABILITY, RACKED_BROKERS_MIN = 0.3, 3
APPEND_TIME_PROBABILITY = 0.3
LOSING_PROBABILITY = 0.35
CLOCK_SKEW_MS_MAX = 30_000
"""Time by which a broker's wall clock may be wrong, with its drift during a run."""
RETENTION_MS = 2 * CLOCK_SKEW_MS_MAX, 3_000_000
"""More than clocks differ, less than some records are late."""


@dataclass(frozen=True, slots=True)
class ClusterSimulationConfig:
    """Configuration of a simulation, drawn by the seed before it begins."""

    controller_ids: tuple[int, ...]
    broker_ids: tuple[int, ...]
    topics: tuple[TopicPlan, ...]
    producers: tuple[ProducerPlan, ...]
    replica: ReplicaConfig
    raft: RaftConfig
    session_timeout_ms: int
    heartbeat_interval_ms: int
    sync_latency_s_max: float
    storm_s: float
    groups: GroupConfig = field(default_factory=GroupConfig)
    group: GroupPlan | None = None
    """The story's consumer group."""
    coordinators: TransactionConfig = field(default_factory=TransactionConfig)
    """Configuration of coordinators of transactions."""
    transactions: TransactionPlan | None = None
    """The story's transactions."""
    cluster_defaults: Mapping[str, str] = field(default_factory=dict)
    """Defaults of topics that the cluster is given first."""
    kafka: KafkaConfig = field(default_factory=KafkaConfig)
    """Rooms of the listeners of Kafka's protocol."""
    creates_topics: bool = False
    """True: a client that asks for a topic may have it created, as some of this seed do."""
    racks: Mapping[int, str] = field(default_factory=dict)
    """By broker; empty: the cluster has none."""
    batch_partitions_max: int = 1
    """Partitions of a batch of metadata: a topic of two is a plan of two batches by default."""
    batch_bytes_max: int = 1_000_000
    """Bytes of such a batch, enough for those of its partitions."""
    internal_topics: tuple[TopicPlan, ...] = ()
    """Topics that the product creates by itself, or the clients of a story's transactions."""

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Every node."""
        return tuple(sorted({*self.controller_ids, *self.broker_ids}))

    @property
    def lossy_topics(self) -> set[str]:
        """Topics that unclean elections may take records from."""
        return {one.name for one in (*self.topics, *self.internal_topics) if one.is_lossy}

    @property
    def keeping(self) -> dict[str, Keeping]:
        """By topic: rules by which its records may go."""
        return {one.name: one.keeping for one in self.topics if one.keeping is not None}

    @property
    def is_broad(self) -> bool:
        """True with a topic of many partitions."""
        return any(one.name == WIDE for one in self.topics)

    def plan(self, topic: str) -> TopicPlan:
        """Plan of the topic of this name."""
        return next(one for one in (*self.topics, *self.internal_topics) if one.name == topic)

    def configure(self, config: NodeConfig) -> NodeConfig:
        """A node's settings. Topics are created by who means to, never by a producer's retry."""
        return replace(
            config,
            rack=self.racks.get(config.node_id, ""),
            replica=self.replica,
            kafka=self.kafka,
            raft=self.raft,
            groups=self.groups,
            transactions=self.coordinators,
            broker_heartbeat_interval_ms=self.heartbeat_interval_ms,
            auto_create_topics_enable=self.creates_topics,
            controller=replace(
                config.controller,
                session_timeout_ms=self.session_timeout_ms,
                leader_imbalance_check_interval_seconds=5,
                partitions_per_batch_max=self.batch_partitions_max,
                batch_bytes_max=self.batch_bytes_max,
            ),
        )


def draw_config(
    random: SeededRandom, *, is_separate: bool = False, is_storm: bool = False
) -> ClusterSimulationConfig:
    """Short sessions, small segments: everything happens in twenty seconds.

    `is_separate`: controllers hold no partitions, whatever is drawn. `is_storm`: some clusters
    have one or two brokers, one controller or five, and some configurations are at their worst.
    """
    controller_ids, broker_ids = _draw_nodes(random, is_separate=is_separate)
    sizes = random.fork("sizes")
    if is_storm and sizes.random() < UNUSUAL_SIZE_PROBABILITY:
        controller_ids, broker_ids = draw_any_size(sizes)
    topics = _draw_topics(random)
    session_timeout_ms = random.randrange(800, 3000)
    config = ClusterSimulationConfig(
        controller_ids=controller_ids,
        broker_ids=broker_ids,
        topics=topics,
        producers=_draw_producers(random, topics),
        replica=_draw_replica(random),
        raft=_draw_raft(random),
        session_timeout_ms=session_timeout_ms,
        heartbeat_interval_ms=session_timeout_ms // random.randrange(3, 7),
        sync_latency_s_max=random.uniform(0.0005, 0.01),
        storm_s=random.uniform(10, 18),
    )
    if is_storm:
        config = replace(
            config, racks=_draw_racks(random.fork("racks"), broker_ids, RACKS_PROBABILITY)
        )
    worst = random.fork("worst")
    is_worst = is_storm and worst.random() < WORST_PROBABILITY
    return at_worst(worst, config) if is_worst else config


def at_worst(random: SeededRandom, config: ClusterSimulationConfig) -> ClusterSimulationConfig:
    """Defaults that nobody may rely on, and any value of keys that promise nothing."""
    topics = tuple(replace(one, stated=stated(random.fork(one.name))) for one in config.topics)
    return replace(
        config,
        topics=topics,
        cluster_defaults=draw_defaults(random.fork("defaults")),
        replica=with_worst_keys(random.fork("node"), config.replica),
    )


def _draw_nodes(
    random: SeededRandom, *, is_separate: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    controller_ids = (1, 2, 3)
    if random.random() < SEPARATE_PROBABILITY or is_separate:
        return controller_ids, tuple(range(4, 7 + random.randrange(0, 2)))
    count = (3, 3, 3, 4, 5)[random.randrange(0, 5)]
    return controller_ids, tuple(range(1, count + 1))


def draw_any_size(random: SeededRandom) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw one to five brokers, and one, three or five controllers, apart or on the same nodes.

    A controller that is no broker has the next free id.
    """
    brokers = 1 + random.randrange(0, 5)
    controllers = (1, 1, 3, 5)[random.randrange(0, 4)]
    is_apart = random.random() < 0.3
    first = 1 if is_apart else max(1, controllers - brokers + 1)
    broker_ids = range(controllers + 1, controllers + brokers + 1)
    if not is_apart:
        broker_ids = range(first, first + brokers)
    return tuple(range(1, controllers + 1)), tuple(broker_ids)


def _draw_racks(
    random: SeededRandom, broker_ids: Sequence[int], probability: float
) -> Mapping[int, str]:
    """Draw racks of one or two brokers and more; most clusters have none."""
    if len(broker_ids) < RACKED_BROKERS_MIN or random.random() >= probability:
        return {}
    count = random.randrange(2, len(broker_ids))
    return {one: f"rack-{at % count}" for at, one in enumerate(shuffled(random, broker_ids))}


def offsets_min_insync(replication_factor: int) -> int:
    """Compute the `min.insync.replicas` of the product's topic of offsets."""
    return 2 if replication_factor > 2 else 1


def with_broad_topic(
    random: SeededRandom, config: ClusterSimulationConfig
) -> ClusterSimulationConfig:
    """In few storms, the same with a topic of many partitions, which get few records or none."""
    draw = random.random()
    breadth = next((span for share, span in BREADTHS if draw < share), None)
    if breadth is None:
        return config
    partitions = random.randrange(*breadth)
    racks = _draw_racks(random.fork("racks"), config.broker_ids, BROAD_RACKS_PROBABILITY)
    like, sender = config.topics[0], config.producers[0]
    topic = replace(like, name=WIDE, partitions=partitions, is_flushed=False)
    producer = replace(sender, name="producer-wide", topic=WIDE)
    batch_partitions = random.randrange(partitions // 20, partitions)
    return replace(
        config,
        racks=config.racks or racks,
        sync_latency_s_max=min(config.sync_latency_s_max, OPENED_S / partitions),
        topics=(*config.topics, topic),
        producers=(*config.producers, producer),
        batch_partitions_max=batch_partitions,
        batch_bytes_max=BATCH_BYTES + BATCH_BYTES_OF_PARTITION * batch_partitions,
    )


def _draw_topics(random: SeededRandom) -> tuple[TopicPlan, ...]:
    def plan(name: str, *, least: int, is_flushed: bool, is_lossy: bool = False) -> TopicPlan:
        return TopicPlan(
            name=name,
            partitions=random.randrange(1, 3),
            min_insync_replicas=least,
            is_flushed=is_flushed,
            is_lossy=is_lossy,
            segment_bytes=random.randrange(600, 20_000),
            index_interval_bytes=random.randrange(0, 2000),
        )

    topics = [plan(STEADY, least=2, is_flushed=random.random() < 0.2)]
    if random.random() < 0.7:
        is_flushed = random.random() < 0.7
        least = 2 if random.random() < 0.5 else 1
        second = plan(SECOND, least=least, is_flushed=is_flushed)
        is_append_time = random.fork("append-time").random() < APPEND_TIME_PROBABILITY
        topics.append(replace(second, is_append_time=is_append_time))
    if random.random() < 0.5:
        topics.append(plan(LOSSY, least=1, is_flushed=random.random() < 0.2, is_lossy=True))
    if random.random() < 0.5:
        topics.append(plan(CHURNED, least=2, is_flushed=random.random() < 0.3))
    topics += _draw_losing(random.fork("losing"), topics[0])
    return tuple(topics)


def _draw_losing(random: SeededRandom, like: TopicPlan) -> Iterator[TopicPlan]:
    """Topics whose records go: by retention and DeleteRecords, by compaction."""
    plan = replace(like, is_flushed=False, segment_bytes=random.randrange(600, 4_000))
    if random.random() < LOSING_PROBABILITY:
        keeping = Keeping(
            retention_ms=random.randrange(*RETENTION_MS) if random.random() < 0.7 else None,
            retention_bytes=random.randrange(2_000, 60_000) if random.random() < 0.5 else None,
            skew_ms=CLOCK_SKEW_MS_MAX,
        )
        yield replace(plan, name=EXPIRING, keeping=keeping)
    if random.random() < LOSING_PROBABILITY:
        compacted = Keeping(is_compacted=True)
        yield replace(
            plan,
            name=COMPACTED,
            keeping=compacted,
            delete_retention_ms=(0, 1_000, DAY_MS)[random.randrange(0, 3)],
        )


def _draw_producers(
    random: SeededRandom, topics: tuple[TopicPlan, ...]
) -> tuple[ProducerPlan, ...]:
    wanted = [(topic.name, -1) for topic in topics]
    wanted += [(STEADY, -1), (topics[random.randrange(0, len(topics))].name, 1)]
    return tuple(
        ProducerPlan(
            name=f"producer-{number}",
            topic=topic,
            acks=acks,
            pause_s_max=random.uniform(0.1, 0.6),
            burst_max=random.randrange(2, 8),
            request_timeout_ms=random.randrange(500, 4000),
            delivery_timeout_ms=random.randrange(5_000, 20_000),
            value_bytes=random.randrange(0, 300),
            compression=one_of(random.fork(f"codec-{number}"), tuple(Codec)).name.lower(),
        )
        for number, (topic, acks) in enumerate(wanted, start=1)
    )


def _draw_replica(random: SeededRandom) -> ReplicaConfig:
    return ReplicaConfig(
        replica_lag_time_max_ms=random.randrange(500, 3000),
        replica_fetch_wait_max_ms=random.randrange(100, 500),
        replica_fetch_max_bytes=random.randrange(500, 20_000),
        replica_fetch_timeout_ms=random.randrange(500, 2500),
        high_watermark_checkpoint_interval_ms=random.randrange(500, 5000),
        log_scrub_interval_ms=random.randrange(1000, 4000),
        log_deleted_check_interval_ms=2000,
        log_retention_check_interval_ms=random.fork("retention").randrange(200, 4_000),
        cleaner=CleanerConfig(backoff_ms=random.fork("cleaner").randrange(200, 3_000)),
        changes_per_slice_max=1,
    )


def _draw_raft(random: SeededRandom) -> RaftConfig:
    interval_bytes = random.randrange(16_384, 131_072)
    return RaftConfig(
        snapshot_interval_bytes=interval_bytes,
        wal_reserve_bytes=2 * interval_bytes + 32_768,
        snapshot_chunk_bytes=random.randrange(2_000, 20_000),
        retained_entries=random.randrange(5, 200),
    )
