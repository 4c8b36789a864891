"""Arguments and results of the admin client: topics, partitions, configs, brokers, the cluster."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.v1 import admin_pb2, common_pb2
from tidelog.v1.data_pb2 import MetadataResponse


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. 0 partitions or replicas: the cluster's default.

    `assignments`, instead of the two counts: the brokers of each partition, preferred leader first.
    """

    name: str
    partitions: int = 0
    replication_factor: int = 0
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Sequence[Sequence[int]] = ()


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A topic that was created."""

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition; offsets are None while its leader cannot be asked."""

    partition: int
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    high_watermark: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    elr: tuple[int, ...] = ()
    """Eligible leader replicas: outside the ISR, with all committed records (KIP-966)."""
    last_known_leader: int | None = None
    """The last leader, while there is none."""
    damaged: tuple[int, ...] = ()
    """Replicas whose log was found damaged."""
    offline: tuple[int, ...] = ()
    """Replicas whose broker runs but whose disk failed."""
    size_bytes: int | None = None
    """Size of the leader's log, without indexes."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic; `configs` has only the configs set on it."""

    name: str
    topic_id: bytes
    configs: Mapping[str, str]
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class ConfigDescription:
    """A config with its value as text; `default` is its value when it is not set.

    `source` says where the value is set, by Kafka's names: DYNAMIC_TOPIC_CONFIG (on the topic),
    DYNAMIC_DEFAULT_BROKER_CONFIG (on the cluster), DEFAULT_CONFIG (nowhere). `type` is BOOLEAN,
    STRING, INT, LONG, DOUBLE or LIST.
    """

    name: str
    value: str
    source: str
    default: str
    type: str
    doc: str

    @property
    def is_default(self) -> bool:
        """True if the config is set neither on the topic nor on the cluster."""
        return self.source == "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True)
class BrokerDescription:
    """A registered broker."""

    broker_id: int
    address: str
    broker_epoch: int
    is_fenced: bool
    rack: str


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The cluster as one broker sees it; `controller_id` is None while no controller leads."""

    cluster_id: str
    controller_id: int | None
    controller_epoch: int
    brokers: tuple[BrokerDescription, ...]
    controllers: Mapping[int, str]
    metadata_offset: int
    obstacles: tuple[str, ...] = ()
    """Reasons for which groups or transactions wait at the broker that was asked."""


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """A node as it describes itself; `controller_id` is None while it knows no active controller.

    `is_ready`: a registered and unfenced broker, or a controller without that role that knows the
    active controller. `incarnation_id` is empty unless the node is a broker.
    """

    node_id: int
    pid: int
    cluster_id: str
    roles: tuple[str, ...]
    address: str
    is_ready: bool
    controller_id: int | None
    metadata_offset: int
    version: str
    incarnation_id: bytes


def topic_description(topic: admin_pb2.DescribeTopicsResponse.Topic) -> TopicDescription:
    """Decode a topic from its wire form."""
    partitions = sorted(topic.partitions, key=lambda p: p.partition)
    return TopicDescription(
        name=topic.name,
        topic_id=topic.topic_id,
        configs=dict(topic.configs),
        partitions=tuple(_partition(p) for p in partitions),
    )


def _partition(p: admin_pb2.DescribeTopicsResponse.Partition) -> PartitionDescription:
    return PartitionDescription(
        partition=p.partition,
        leader=p.leader_id if p.HasField("leader_id") else None,
        leader_epoch=p.leader_epoch,
        partition_epoch=p.partition_epoch,
        replicas=tuple(p.replicas),
        isr=tuple(p.isr),
        high_watermark=p.high_watermark if p.HasField("high_watermark") else None,
        log_start_offset=p.log_start_offset if p.HasField("log_start_offset") else None,
        log_end_offset=p.log_end_offset if p.HasField("log_end_offset") else None,
        elr=tuple(p.elr),
        last_known_leader=p.last_known_leader_id if p.HasField("last_known_leader_id") else None,
        damaged=tuple(p.damaged),
        offline=tuple(p.offline),
        size_bytes=p.size_bytes if p.HasField("size_bytes") else None,
    )


def config_description(config: admin_pb2.DescribeConfigsResponse.Config) -> ConfigDescription:
    """Decode a config from its wire form."""
    return ConfigDescription(
        name=config.name,
        value=config.value,
        source=admin_pb2.DescribeConfigsResponse.Source.Name(config.source),
        default=config.default_value,
        type=config.type,
        doc=config.doc,
    )


def cluster_description(answer: admin_pb2.DescribeClusterResponse) -> ClusterDescription:
    """Decode the cluster from a broker's answer."""
    return ClusterDescription(
        cluster_id=answer.cluster_id,
        controller_id=answer.controller_id if answer.HasField("controller_id") else None,
        controller_epoch=answer.controller_epoch,
        brokers=tuple(
            BrokerDescription(b.broker_id, b.address, b.broker_epoch, b.fenced, b.rack)
            for b in answer.brokers
        ),
        controllers={c.node_id: c.address for c in answer.controllers},
        metadata_offset=answer.metadata_offset,
        obstacles=tuple(answer.obstacles),
    )


def node_description(answer: admin_pb2.NodeStatusResponse) -> NodeDescription:
    """Decode a node from its own answer."""
    return NodeDescription(
        node_id=answer.node_id,
        pid=answer.pid,
        cluster_id=answer.cluster_id,
        roles=tuple(answer.roles),
        address=answer.address,
        is_ready=answer.ready,
        controller_id=answer.controller_id if answer.HasField("controller_id") else None,
        metadata_offset=answer.metadata_offset,
        version=answer.version,
        incarnation_id=answer.incarnation_id,
    )


def new_topic_to_wire(topic: NewTopic) -> admin_pb2.NewTopic:
    """Encode a topic to create."""
    return admin_pb2.NewTopic(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs=topic.configs,
        assignments=assignments_to_wire(topic.assignments, first=0),
    )


def assignments_to_wire(
    replicas: Sequence[Sequence[int]], *, first: int
) -> list[admin_pb2.ReplicaAssignment]:
    """Encode the replicas of each partition from number `first` on, as broker ids."""
    return [
        admin_pb2.ReplicaAssignment(partition=number, broker_ids=brokers)
        for number, brokers in enumerate(replicas, start=first)
    ]


def unusable_parts(answer: MetadataResponse, topic_ids: Mapping[str, bytes]) -> dict[str, str]:
    """Map a topic to itself if a broker does not know it, else to its first leaderless partition.

    A lagging broker may still name the leaders of an earlier topic of that name: if the id is known
    (not empty), only that incarnation is accepted.
    """
    found: dict[str, str] = {}
    for topic in answer.topics:
        is_known = topic.error.code == common_pb2.NONE and len(topic.partitions) > 0
        leaderless = [p.partition for p in topic.partitions if not p.HasField("leader_id")]
        if not is_known or topic_ids[topic.name] not in (b"", topic.topic_id):
            found[topic.name] = topic.name
        elif leaderless:
            found[topic.name] = f"{topic.name}-{leaderless[0]}"
    return found
